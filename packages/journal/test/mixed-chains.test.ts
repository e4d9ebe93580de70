// Runs of chains in which an evaluation goes on from a model to an agent, or from an agent to a model.
import { definePrompt, defineTool } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { agentAdapter, createSession, modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { heard, noted, notes } from "./runs-support.ts";

const note = defineTool({
  name: "note",
  description: "Notes.",
  input: z.object({ text: z.string() }),
  idempotent: true,
  execute({ text }, { session }) {
    session.dispatch(noted({ text }));
    return text.length;
  },
});
const prompt = definePrompt({
  key: "mixed",
  sections: [{ key: "task", text: "Note.", tools: [note], slices: [notes] }],
}).bind();

const down = { failure: "throttle", kind: "server_error", message: "It is down." } as const;
const calls = (text: string) => ({ toolCalls: [{ name: "note", arguments: { text } }] });
const model = (isDown: boolean) =>
  modelAdapter(scriptedModel([calls("of the model"), isDown ? down : { text: "By the model." }]), {
    throttle: { maxAttempts: 1 },
  });
const agent = (name: string, isDown: boolean) =>
  agentAdapter({
    name,
    model: name,
    async drive({ executeToolCall }) {
      await executeToolCall({ id: `c ${name}`, name: "note", arguments: `{"text":"of ${name}"}` });
      if (isDown) return down;
      return { message: { role: "assistant", text: `By ${name}.`, toolCalls: [] }, finishReason: "stop" };
    },
  });

it.each([
  ["a model to an agent", () => fallback([model(true), agent("one", false)]), "By one.", ["of one"]],
  ["an agent to a model", () => fallback([agent("one", true), model(false)]), "By the model.", ["of the model"]],
  [
    "an agent to another and to a model",
    () => fallback([agent("one", true), agent("two", true), model(false)]),
    "By the model.",
    ["of the model"],
  ],
])("RTE-14 RPL-1 a run that went on from %s is replayed", async (_, chain, text, kept) => {
  const journal = memoryJournal();
  const session = createSession();
  const events = heard(session);
  expect((await chain().evaluate(prompt, { session, run: journal.run("r") })).text).toBe(text);
  for (const tools of ["recorded", "run"] as const) {
    const again = await replay(prompt, journal.replay("r", { tools }));
    expect(again.failure).toBeUndefined();
    expect(again.response?.text).toBe(text);
    expect(again.session.get(notes)).toEqual(["asked note", ...kept, "ended note"]);
    expect(JSON.stringify(again.events)).toBe(JSON.stringify(events));
  }
});
