import { definePrompt, defineSection, defineTool, type FrameworkEvent, type RunRecord } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { journalRuns } from "@proviso/viewer";
import { compareRuns, limitsAt, runRows, stateChange } from "@proviso/viewer/runs";
import { expect, it } from "vitest";
import { z } from "zod";
import { listed, noted, notes } from "./support.ts";

function reviewed(text = "Review {{file}}.") {
  const note = defineTool({
    name: "note",
    description: "Takes a note.",
    input: z.object({ text: z.string() }),
    execute({ text: taken }, { session }) {
      session.dispatch(noted({ text: taken }));
      if (taken === "b.ts") throw new Error("b.ts does not exist.");
      return taken.length;
    },
  });
  return definePrompt({
    ns: "app",
    key: "review",
    params: z.object({ file: z.string() }),
    slices: [notes],
    sections: [defineSection({ key: "task", text, tools: [note] })],
  });
}

const script: readonly ScriptedStep[] = [
  {
    text: "Let me note that.\nAnd more.",
    toolCalls: [
      { id: "c1", name: "note", arguments: { text: "a.ts" } },
      { id: "c2", name: "note", arguments: { text: "b.ts" } },
      { id: "c3", name: "nothing", arguments: {} },
      { id: "c4", name: "note", arguments: { wrong: 1 } },
    ],
  },
  { failure: "throttle", kind: "rate_limit", message: "Later.", retryAfterMs: 5 },
  { text: "Done." },
];

async function recorded(
  steps: readonly ScriptedStep[] = script,
  given: {
    readonly id?: string;
    readonly text?: string;
    readonly file?: string;
    readonly maxTotalTokens?: number;
  } = {},
) {
  const { id = "r", text, file = "a.ts", maxTotalTokens } = given;
  const journal = memoryJournal();
  let now = 0;
  const clock = { now: () => (now += 1), sleep: async (ms: number) => void (now += ms) };
  const adapter = modelAdapter(scriptedModel([...steps]), { clock });
  const session = createSession({ slices: [notes] });
  const budget = maxTotalTokens === undefined ? {} : { budget: { maxTotalTokens } };
  const run = { session, run: journal.run(id), ...budget };
  await adapter.evaluate(reviewed(text).bind({ file }), run).catch(() => {});
  const reader = journalRuns(journal, { slices: [notes] });
  return { journal, reader, records: await listed(reader.records(id)) };
}

function rowsOf(records: readonly RunRecord[]) {
  const made = runRows();
  for (const record of records) made.add(record);
  return made.rows;
}

it("VIEW-6 a call is one line: undone, not run and done are shown apart, and a wait is a line of its own", async () => {
  const { records } = await recorded();
  expect(rowsOf(records).map(({ kind, status, title }) => `${kind} ${status} ${title}`)).toEqual([
    "prompt done app/review, 1 section",
    "turn done Let me note that.",
    'call done note {"text":"a.ts"}',
    'app done noted {"text":"a.ts"}',
    'call undone note {"text":"b.ts"}',
    "call not-run nothing {}",
    'call not-run note {"wrong":1}',
    "turn done Done.",
    expect.stringMatching(/^wait done rate_limit, [\d.]+ s \(Retry-After 0\)$/),
    "end done Done.",
  ]);
});

it("VIEW-6 rows come the same from records one by one, and each record is in one of them", async () => {
  const { records } = await recorded();
  const growing = runRows();
  const sizes = records.map((record) => {
    growing.add(record);
    return growing.rows.length;
  });
  expect(sizes.toSorted((a, b) => a - b)).toEqual(sizes);
  expect(growing.rows).toEqual(rowsOf(records));
  for (const row of growing.rows) expect(row.from).toBeLessThanOrEqual(row.until);
});

it("VIEW-7 what a call changed is shown before and after, and an undone call left the state as it was", async () => {
  const { reader, records } = await recorded();
  const change = await stateChange(reader, "r", "c1");
  expect(change?.undone).toBe(false);
  expect(change?.slices.map(({ name, before, after }) => ({ name, before, after }))).toEqual([
    { name: "notes", before: [], after: ["asked note", "a.ts", "ended note"] },
  ]);
  const undone = await stateChange(reader, "r", "c2");
  expect(undone).toEqual({ undone: true, slices: [], touched: [] });
  expect(await stateChange(reader, "r", "c9")).toBeUndefined();
  const marked = records.filter((record) => record.kind === "state" && record.call?.undone === true);
  expect(marked).toHaveLength(1);
});

it("VIEW-8 limits are those at the selected record", async () => {
  const { records } = await recorded(script, { maxTotalTokens: 1_000_000 });
  const spent = records.map(({ n }) => limitsAt(records, n).budget[0]?.spent ?? -1).filter((each) => each >= 0);
  expect(spent.toSorted((a, b) => a - b)).toEqual(spent);
  expect(spent[0]).toBe(0);
  const total = records.reduce(
    (sum, record) =>
      record.kind === "event" && record.event.type === "provider.responded"
        ? sum + record.event.usage.totalTokens
        : sum,
    0,
  );
  expect(limitsAt(records, Infinity)).toEqual({
    budget: [{ name: "maxTotalTokens", limit: 1_000_000, spent: total }],
  });
});

it("VIEW-8 what a shared budget had spent before counts, and of a deadline that has passed nothing is left", () => {
  const usage = (inputTokens: number, outputTokens: number) => ({
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
  });
  const record = (n: number, at: number, event: object): RunRecord => ({
    n,
    runId: "r",
    at,
    kind: "event",
    event: { sessionId: "s", evaluationId: "e", seq: n, at, turn: 1, ...event } as FrameworkEvent,
  });
  const budget = { maxTotalTokens: 1_000, maxInputTokens: 800, consumed: usage(100, 50) };
  const records = [
    record(0, 1_000, { type: "prompt.rendered", limits: { deadline: 3_000, budget } }),
    record(1, 2_500, { type: "provider.responded", usage: usage(10, 5) }),
    record(2, 4_000, { type: "provider.responded", usage: usage(20, 7) }),
  ];
  const spent = (total: number, input: number) => [
    { name: "maxTotalTokens", limit: 1_000, spent: total },
    { name: "maxInputTokens", limit: 800, spent: input },
  ];
  expect([0, 1, 2].map((n) => limitsAt(records, n))).toEqual([
    { deadline: { totalMs: 2_000, leftMs: 2_000 }, budget: spent(150, 100) },
    { deadline: { totalMs: 2_000, leftMs: 500 }, budget: spent(165, 110) },
    { deadline: { totalMs: 2_000, leftMs: 0 }, budget: spent(192, 130) },
  ]);
});

it("VIEW-10 two runs of the same are the same, whatever their ids and times", async () => {
  const one = await recorded();
  const other = await recorded(script, { id: "other" });
  const { parted, steps, usage } = compareRuns(one.records, other.records);
  expect(parted).toBeUndefined();
  expect(steps.every(({ same }) => same)).toBe(true);
  expect(usage.a).toEqual(usage.b);
});

it.each([
  ["prompt", 0, script, { text: "Look at {{file}}." }],
  ["params", 0, script, { file: "z.ts" }],
  ["answer", 1, [{ ...(script[0] as object), text: "Other." }, ...script.slice(1)], {}],
  [
    "call",
    2,
    [{ text: "Let me note that.\nAnd more.", toolCalls: [{ id: "x", name: "note", arguments: { text: "c.ts" } }] }],
    {},
  ],
  ["end", 7, [...script.slice(0, 2), { failure: "provider", reason: "bad_request", message: "Broken." }], {}],
] as const)("VIEW-10 the first step that differs is named: %s", async (what, at, steps, given) => {
  const one = await recorded();
  const other = await recorded(steps as readonly ScriptedStep[], { ...given, id: "other" });
  const { parted, steps: compared } = compareRuns(one.records, other.records);
  if (what === "end") expect(parted?.at).toBeGreaterThan(5);
  else expect(parted).toMatchObject({ what, at });
  const shown = { prompt: "Look at a.ts.", params: '{"file":"z.ts"}', answer: '["Other.",', call: "c.ts", end: "" }[
    what
  ];
  expect(parted?.differing?.b ?? "").toContain(shown);
  if (shown !== "") expect(parted?.differing?.a).not.toContain(shown);
  expect(compared.slice(0, parted?.at).every(({ same }) => same)).toBe(true);
});

it("VIEW-6 streamed text is shown once, as it stands; text that was taken back is a line of its own", () => {
  const made = runRows();
  let n = 0;
  const add = (event: object): void => {
    const base = { sessionId: "s", evaluationId: "e", seq: n, at: 100 * n, turn: 1 };
    made.add({ n, runId: "r", at: 100 * n, kind: "event", event: { ...base, ...event } as FrameworkEvent });
    n += 1;
  };
  const titles = () => made.rows.map(({ kind, status, title }) => `${kind} ${status} ${title}`);
  add({ type: "provider.requested", attempt: 1, messages: 1 });
  add({ type: "text.delta", text: "Half " });
  add({ type: "text.delta", text: "an answer" });
  expect(titles()).toEqual(["turn running Half an answer"]);
  expect(made.rows[0]?.firstTextMs).toBe(100);
  add({ type: "provider.throttled", attempt: 1, kind: "network", delayMs: 10, retryAfterMs: undefined });
  add({ type: "text.reset" });
  expect(titles()).toEqual(["turn running ", "wait done network, 0 s", "turn undone Half an answer"]);
  add({ type: "provider.requested", attempt: 2, messages: 1 });
  add({ type: "text.delta", text: "Whole." });
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  add({ type: "provider.responded", usage, durationMs: 9, text: "Whole.", toolCalls: [] });
  expect(titles()[0]).toBe("turn done Whole.");
  expect(made.rows[0]).toMatchObject({ from: 0, until: 7, firstTextMs: 600, durationMs: 9 });
});

it("VIEW-10 an interruption after which a run went on is no difference, and hides none", async () => {
  const journal = memoryJournal();
  const prompt = reviewed().bind({ file: "a.ts" });
  const take = (text: string): ScriptedStep => ({ toolCalls: [{ id: "c", name: "note", arguments: { text } }] });
  const cut: ScriptedStep = { failure: "throttle", kind: "network", message: "cut" };
  const run = async (id: string, steps: readonly ScriptedStep[]): Promise<readonly RunRecord[]> => {
    const adapter = modelAdapter(scriptedModel([...steps]), { throttle: { maxAttempts: 1 } });
    const options = { session: createSession({ id: "s", slices: [notes] }) };
    await adapter
      .evaluate(prompt, { ...options, run: journal.run(id) })
      .catch(() => adapter.evaluate(prompt, { run: journal.run(id) }));
    return listed(journalRuns(journal, { slices: [notes] }).records(id));
  };
  const straight = await run("straight", [take("x"), take("y"), { text: "Done." }]);
  const resumed = await run("resumed", [take("x"), cut, take("y"), { text: "Done." }]);
  const other = await run("other", [take("x"), cut, take("z"), { text: "Done." }]);
  expect(compareRuns(straight, resumed).parted).toBeUndefined();
  expect(compareRuns(straight, other).parted).toMatchObject({ what: "call" });
});
