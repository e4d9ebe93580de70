// Listeners that dispatch when a call ends.
import { defineEvent, definePrompt, defineSlice, defineTool } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { journalRuns } from "@proviso/viewer";
import { stateAt } from "@proviso/viewer/runs";
import { expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

const noted = defineEvent("noted", z.object({ text: z.string() }));
const answered = defineEvent("answered", z.object({ text: z.string() }));
const order = defineSlice({
  name: "order",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on(noted, (draft, { text }) => void draft.push(text));
    on(answered, (draft, { text }) => void draft.push(text));
    on("tool.invoked", (draft, { callId, result }) => void draft.push(`${callId} ${result.success}`));
  },
});
const note = defineTool({
  name: "note",
  description: "Notes.",
  input: z.object({ text: z.string() }),
  execute({ text }, { session }) {
    session.dispatch(noted({ text }));
    session.dispatch(noted({ text: `${text} again` }));
  },
});
const sections = [{ key: "task", text: "Note.", tools: [note] }];
const prompt = definePrompt({ key: "notes", slices: [order], sections }).bind();

it("VIEW-7 where listeners dispatch when a call ends, the states are the session's own", async () => {
  const journal = memoryJournal();
  const session = createSession({ id: "s" });
  const live = new Map<number, string>();
  session.on("tool.invoked", ({ seq }) => void live.set(seq, JSON.stringify(session.get(order))));
  session.on("tool.invoked", ({ callId }) => void session.dispatch(answered({ text: `saw ${callId}` })));
  session.on(noted, ({ text }) => void session.dispatch(answered({ text: `heard of ${text}` })));
  const toolCalls = ["a", "b"].map((text) => ({ name: "note", arguments: { text } }));
  const model = scriptedModel([{ toolCalls }, { text: "Done." }]);
  await modelAdapter(model).evaluate(prompt, { session, run: journal.run("r") });
  const reader = journalRuns(journal, { slices: [order] });
  const records = await listed(reader.records("r"));
  const stateAfter = async (n: number): Promise<unknown> => (await stateAt(reader, "r", n))?.["order"];
  for (const record of records) {
    if (record.kind !== "event" || record.event.type !== "tool.invoked") continue;
    expect(JSON.stringify(await stateAfter(record.n + 1))).toBe(live.get(record.event.seq));
  }
  expect(await stateAfter(records.at(-1)?.n ?? 0)).toEqual(session.get(order));
});
