// A chain begins again with its next model: what the attempt before did is undone, of the run and of evaluations inside
// its calls.
import { definePrompt, defineSlice, defineTool, type ProviderAdapter, type RunRecord, type Slice } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { journalRuns } from "@proviso/viewer";
import { runRows, stateAt, type RunRow } from "@proviso/viewer/runs";
import { expect, it } from "vitest";
import { z } from "zod";
import { listed, noted, statesOf } from "./support.ts";

const texts = defineSlice({
  name: "texts",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});
const ended = defineSlice({
  name: "ended",
  initial: [] as readonly string[],
  reducers: ({ on }) => on("tool.invoked", (draft, { name }) => void draft.push(name)),
});
const trail = defineSlice({
  name: "trail",
  kind: "log",
  initial: [] as readonly string[],
  reducers: ({ on }) => on("tool.invoked", (log, { name }) => log.push(name)),
});
const slices: readonly Slice[] = [texts, ended, trail];

const output = z.object({ ok: z.boolean() });
const note = defineTool({
  name: "note",
  description: "Takes a note.",
  input: z.object({ text: z.string() }),
  execute({ text }, { session }) {
    session.dispatch(noted({ text }));
    return text;
  },
});
const inner = definePrompt({ key: "inner", output, sections: [{ key: "task", text: "Note.", tools: [note] }] });

const model = (...steps: readonly ScriptedStep[]): ProviderAdapter => modelAdapter(scriptedModel([...steps]));
const noting = (text: string): ScriptedStep => ({ toolCalls: [{ name: "note", arguments: { text } }] });
/** Its first model takes a note, and then gives no output; its second one takes another. */
const chain = (first: readonly ScriptedStep[], second: readonly ScriptedStep[]): ProviderAdapter =>
  fallback([model(...first, { text: "No JSON." }), model(...second, { text: '{"ok":true}' })], {
    on: ["output"],
    repeatTools: true,
  });

async function begunAgain() {
  let asked = 0;
  const deep = defineTool({
    name: "deep",
    description: "Evaluates a prompt.",
    input: z.object({}),
    async execute(_input, { evaluate }) {
      const n = ++asked;
      await evaluate(inner.bind(), { adapter: chain([noting(`gone ${n}`)], [noting(`inside ${n}`)]) });
      return "done";
    },
  });
  const outer = definePrompt({
    key: "outer",
    output,
    slices,
    sections: [{ key: "task", text: "Work.", tools: [note, deep] }],
  });
  const session = createSession({ slices });
  const states = new Map<number, string>();
  session.on("*", (event) => {
    if (event.evaluationId === undefined) return;
    // What an open call has dispatched is in the record only when the call ends.
    if (event.parent === undefined) states.set(event.seq, JSON.stringify(statesOf(session)));
  });
  session.on("evaluation.restarted", () => void session.dispatch(noted({ text: "a listener's" })));
  const journal = memoryJournal();
  const call = { toolCalls: [{ name: "deep", arguments: {} }] };
  await chain([noting("first"), call], [noting("second"), call]).evaluate(outer.bind(), {
    session,
    run: journal.run("r"),
  });
  const reader = journalRuns(journal, { slices });
  return { session, states, reader, records: await listed(reader.records("r")) };
}

it("VIEW-7 RTE-8 the state after an attempt that was undone is the session's own", async () => {
  const { session, states, reader, records } = await begunAgain();
  let restarts = 0;
  for (const record of records) {
    if (record.kind !== "event") continue;
    const live = states.get(record.event.seq);
    if (live === undefined) continue;
    restarts += record.event.type === "evaluation.restarted" ? 1 : 0;
    const state = await stateAt(reader, "r", record.n + 1);
    expect(JSON.stringify(state), `${record.event.type} ${record.n}`).toBe(live);
  }
  expect(restarts).toBe(1);
  const last = await stateAt(reader, "r", records.at(-1)?.n ?? 0);
  expect(last).toEqual(statesOf(session));
  expect(session.get(texts)).toEqual(["a listener's", "a listener's", "second", "a listener's", "inside 2"]);
  expect(session.get(ended)).toEqual(["note", "note", "deep"]);
});

it("VIEW-6 RTE-8 calls of an attempt that began again are undone, and a summary counts them", async () => {
  const { reader, records } = await begunAgain();
  const made = runRows();
  for (const record of records) made.add(record);
  const shown = made.rows.filter(({ kind, callId }) => kind === "call" || (kind === "app" && callId !== undefined));
  const said = shown.map(({ kind, depth, status, title }) => `${kind} ${depth} ${status} ${title}`);
  expect(said.filter((row) => row.startsWith("call"))).toEqual([
    'call 0 undone note {"text":"first"}',
    "call 0 undone deep {}",
    'call 1 undone note {"text":"gone 1"}',
    'call 1 undone note {"text":"inside 1"}',
    'call 0 done note {"text":"second"}',
    "call 0 done deep {}",
    'call 1 undone note {"text":"gone 2"}',
    'call 1 done note {"text":"inside 2"}',
  ]);
  expect(said.filter((row) => /^app \d done/.test(row))).toEqual([
    'app 0 done noted {"text":"second"}',
    'app 0 done noted {"text":"inside 2"}',
  ]);
  expect(await reader.summary("r")).toMatchObject({ toolCalls: 8, undone: 5 });
});

it("VIEW-6 TX-5 what a vetoed call had dispatched is undone with it, and what another one had is not", () => {
  const of = { sessionId: "s", evaluationId: "e", turn: 1, durationMs: 0, params: {}, name: "note", arguments: "{}" };
  const made = runRows();
  const event = (n: number, type: string, callId: string, success = false): void =>
    made.add({
      kind: "event",
      n,
      at: n,
      event: { type, ...of, callId, at: n, seq: n, ran: true, result: { success, message: "" } },
    } as unknown as RunRecord);
  const app = (n: number, callId: string): void =>
    made.add({ kind: "app", n, runId: "r", at: n, event: noted({ text: callId }), callId });
  for (const [n, callId] of ["a", "b"].entries()) event(n, "tool.requested", callId);
  event(2, "tool.invoked", "a", true);
  app(3, "a");
  event(4, "tool.invoked", "b", true);
  app(5, "b");
  event(6, "tool.invoked", "a");
  expect(made.rows.map(({ kind, callId, status }) => `${kind} ${callId} ${status}`)).toEqual([
    "call a undone",
    "call b done",
    "app a undone",
    "app b done",
  ]);
});

it("VIEW-9 VIEW-6 a page that takes the changed rows after each record has those of a page that takes all", async () => {
  const { records } = await begunAgain();
  const [growing, whole] = [runRows(), runRows()];
  const shown: RunRow[] = [];
  for (const record of records) {
    growing.add(record);
    for (const [place, row] of growing.changedSince(record.n - 1)) shown[place] = { ...row };
    whole.add(record);
  }
  expect(shown).toEqual(whole.rows);
});
