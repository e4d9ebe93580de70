// What others wrote into a journal, and what a record may hold.
import { allow, definePolicy, definePrompt, defineTool, suspend } from "@proviso/core";
import {
  createJournal,
  memoryJournal,
  type Frame,
  type Journal,
  type JournalEntry,
  type JournalStore,
} from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { folderJournal, sqliteJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { notes } from "./runs-support.ts";
import { folder, journalWith, listed } from "./support.ts";

const ask = definePrompt({ key: "ask", params: z.object({}), text: "What is two and two?" }).bind({});

async function record(journal: Journal, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await modelAdapter(scriptedModel([{ text: "Four." }])).evaluate(ask, { run: journal.run(id) });
  }
}

const ids = async (journal: Journal): Promise<string[]> => (await listed(journal.list())).map(({ id }) => id);

it("JRN-9 a line that was torn within a character is cut off, and the line before it stays whole", async () => {
  const path = await folder();
  const say = defineTool({
    name: "say",
    description: "Says.",
    input: z.object({ n: z.number() }),
    idempotent: true,
    execute: ({ n }) => `é ${n} 😀`,
  });
  const prompt = definePrompt({ key: "say", sections: [{ key: "task", text: "Say é.", tools: [say] }] }).bind();
  const steps = [{ text: "één 😀", toolCalls: [{ name: "say", arguments: { n: 1 } }] }, { text: "Ende ü" }];
  const journal = folderJournal(path, { flushMs: 0 });
  await modelAdapter(scriptedModel(steps)).evaluate(prompt, { run: journal.run("r") });
  await journal.close();
  const file = join(path, "r.jsonl");
  const whole = await readFile(file);
  const places = [...whole.keys()].filter((at) => at > whole.indexOf("\n") && (whole[at] ?? 0) >> 6 === 2);
  expect(places.length).toBeGreaterThan(5);
  for (const at of places) {
    await writeFile(file, whole.subarray(0, at));
    const again = folderJournal(path);
    const before = await again.describe("r");
    expect(before?.tornBytes).toBe(at - (whole.subarray(0, at).lastIndexOf("\n") + 1));
    const left = steps.slice(before?.timeline.filter(({ kind }) => kind === "answer").length);
    const { text } = await modelAdapter(scriptedModel(left)).evaluate(prompt, { run: again.run("r") });
    expect(text).toBe("Ende ü");
    expect((await again.describe("r"))?.tornBytes).toBe(0);
  }
});

it("JRN-9 a folder and a link to nothing are passed over, though they are named as runs", async () => {
  const path = await folder();
  const journal = folderJournal(path);
  await record(journal, "r");
  await mkdir(join(path, "folder.jsonl"));
  await symlink(join(path, "nowhere"), join(path, "link.jsonl"));
  expect(await ids(journal)).toEqual(["r"]);
});

it("JRN-10 a summary that names another run removes none but its own", async () => {
  const path = await folder();
  const journal = folderJournal(path);
  await record(journal, "odd", "good");
  const file = join(path, "odd.jsonl");
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  const change = (more: object): Promise<void> => {
    const frames = lines.map((line) => JSON.parse(line) as { summary: string });
    const last = frames.at(-1) as { summary: string };
    last.summary = JSON.stringify({ ...(JSON.parse(last.summary) as object), ...more });
    return writeFile(file, frames.map((frame) => `${JSON.stringify(frame)}\n`).join(""));
  };
  await change({ id: "good", secret: 1 });
  expect((await ids(journal)).toSorted()).toEqual(["good", "odd"]);
  // What is no summary is passed over.
  for (const more of [
    { state: "constructor" },
    { prompt: 5 },
    { steps: "many" },
    { updatedAt: 1e300 },
    { usage: { inputTokens: "many" } },
    { pending: null },
    { pending: { callId: "c", tool: "t", question: "q", expiresAt: "late" } },
    { forkOf: "r" },
    { forkOf: { id: "r", at: 1, begunAt: "now" } },
  ]) {
    await change(more);
    expect(await ids(journal)).toEqual(["good"]);
    expect((await journal.describe("odd"))?.state).toBe("executed");
  }
  await change({ id: "good", startedAt: 0, updatedAt: 0 });
  expect(await journal.prune({ endedBefore: new Date(1) })).toBe(1);
  expect(await readdir(path)).toEqual(["good.jsonl"]);
});

it("JRN-10 the oldest run is removed first", async () => {
  const store = memoryStore();
  const removed: string[] = [];
  const journal = createJournal({
    ...store,
    async removeUnchanged(runs) {
      removed.push(...runs.map(({ run }) => run));
      return store.removeUnchanged?.(runs) ?? 0;
    },
  });
  await record(journal, "1", "2", "3", "4");
  expect(await journal.prune({ keep: 1 })).toBe(3);
  expect(removed).toEqual(["1", "2", "3"]);
});

it("JRN-8 a record with keys that every object has is read as it was kept", async () => {
  const params = JSON.parse('{"team":{"constructor":"Ferrari","__proto__":{"x":1},"prototype":2}}') as {
    team: unknown;
  };
  const result = defineTool({
    name: "race",
    description: "Who won.",
    input: z.object({}),
    execute: () => [{ constructor: "Ferrari" }, JSON.parse('{"__proto__":{"won":true}}') as object],
  });
  const odd = definePrompt({
    key: "odd",
    params: z.object({ team: z.any() }),
    sections: [{ key: "task", text: "Who won?", tools: [result] }],
  });
  for (const journal of [
    folderJournal(await folder()),
    sqliteJournal(join(await folder(), "runs.db")),
    memoryJournal(),
  ]) {
    await modelAdapter(
      scriptedModel([{ toolCalls: [{ name: "race", arguments: {} }] }, { text: "Ferrari." }]),
    ).evaluate(odd.bind(params), { run: journal.run("r") });
    expect((await replay(odd.bind(params), journal.replay("r"))).response?.text).toBe("Ferrari.");
    expect(JSON.stringify((await journal.describe("r"))?.params)).toBe(JSON.stringify(params));
    expect(({} as { won?: unknown }).won).toBeUndefined();
    await journal.close();
  }
});

it("SUS-2 a run that waits with a large input is listed, and what is no token is refused as one", async () => {
  const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({ to: z.string() }), execute: () => 1 });
  const guard = definePolicy({ name: "guard", tools: [pay], check: () => suspend("Pay?") });
  const prompt = definePrompt({
    key: "pay",
    policies: [guard],
    sections: [{ key: "task", text: "Pay.", tools: [pay] }],
  }).bind();
  const journal = memoryJournal();
  const large = { toolCalls: [{ name: "pay", arguments: { to: "x".repeat(1_000_000) } }] };
  const id = "\uFEFFr";
  const waiting = modelAdapter(scriptedModel([large, { text: "Done." }]));
  const error = await waiting.evaluate(prompt, { run: journal.run(id) }).catch((thrown: unknown) => thrown);
  expect(await listed(journal.list({ state: "suspended" }))).toMatchObject([{ id, pending: { tool: "pay" } }]);
  for (const token of [`${"A".repeat(22)}.AA`, `${"A".repeat(22)}.${btoa("r".repeat(300)).replaceAll("=", "")}`]) {
    await expect(journal.resolve(token, allow())).rejects.toMatchObject({ code: "journal", reason: "token" });
  }
  const { token } = (error as { pending: { token: string } }).pending;
  expect((await journal.resolve(token, allow())).state).toBe("open");
});

it("JRN-8 an entry that lacks a field of its kind is damage to every reader; a kind that is not known is passed over", async () => {
  const { begun, frame } = await beginning();
  const odd: readonly object[] = [
    { event: null },
    { event: { whole: null } },
    { event: { type: "tool.invoked" } },
    { event: { type: "provider.responded" } },
    { event: {} },
    { kind: "event" },
    { kind: "answered" },
    { kind: "answered", answer: { message: null } },
    { kind: "committed" },
    { kind: "suspended" },
    { kind: "resolved" },
    { kind: "resumed" },
    { kind: "stopped", failure: null },
    { kind: "begun" },
    { ...begun, session: { id: "s", seq: 0, state: 7 } },
    { kind: undefined },
    ...[{ maxRepairs: ["a"] }, { maxTurns: 0 }, { maxDepth: -1 }, { toolChoice: {} }].map((options) => ({
      kind: "given",
      options,
    })),
  ];
  for (const content of odd) {
    const journal = createJournal(await storeOf(frame(content)));
    const damaged = { code: "journal", reason: "damaged", run: "r" };
    await expect(journal.describe("r"), JSON.stringify(content)).rejects.toMatchObject(damaged);
    await expect(journal.session("r", { slices: [] })).rejects.toMatchObject(damaged);
    await expect(journal.cancel("r")).rejects.toMatchObject(damaged);
    await expect(replay(ask, journal.replay("r"))).rejects.toMatchObject(damaged);
  }
  const journal = createJournal(await storeOf(frame({ kind: "of a later release" })));
  expect((await journal.describe("r"))?.state).toBe("open");
});

it.each<object>([
  { kind: "" },
  { options: { maxRepairs: ["a"] } },
  { options: { maxTurns: 0.5 } },
  { options: { maxDepth: "2" } },
  { options: { toolChoice: "perhaps" } },
  { session: { id: "", seq: 0, state: [] } },
  { session: { id: "s", seq: -1, state: [] } },
  { session: { id: "s", seq: 2 ** 60, state: [] } },
  { session: { id: "s", seq: 0, state: [{ name: "notes" }] } },
  { session: { id: "s", seq: 0, state: [{ name: "notes", kind: "list", state: [] }] } },
  { session: { id: "s", seq: 0, state: [{ name: "notes", kind: "log", state: [], more: 1 }] } },
  { session: { id: "s", seq: 0, state: [1, 2].map(() => ({ name: "notes", kind: "log", state: [] })) } },
])("JRN-8 a beginning with options or a session that cannot be is damage to every reader: %j", async (more) => {
  const { begun } = await beginning();
  const journal = await journalWith([{ ...begun, ...more } as JournalEntry]);
  const damaged = { code: "journal", reason: "damaged", run: "r" };
  await expect(journal.session("r", { slices: [notes] })).rejects.toMatchObject(damaged);
  await expect(replay(ask, journal.replay("r"))).rejects.toMatchObject(damaged);
  const again = modelAdapter(scriptedModel([{ text: "Done." }]));
  await expect(again.evaluate(ask, { run: journal.run("r", { takeOver: true }) })).rejects.toMatchObject({
    code: "run",
    cause: damaged,
  });
});

/** What a run begins with, and how a frame of it is made. */
async function beginning() {
  const journal = memoryJournal();
  await record(journal, "r");
  const entries = await listed(journal.entries("r"));
  const frame = (more: object): Frame => {
    const written = JSON.parse(bodyOf(1, entries.slice(0, 1))) as { e: object[] };
    const body = JSON.stringify({ ...written, e: [...written.e, more] });
    const parts = { run: "r", first: 0, body };
    return { ...parts, count: 2, writer: "another", sum: frameSum(parts), summary: "{}" };
  };
  return { begun: entries[0] as object, frame };
}

async function storeOf(frame: Frame): Promise<JournalStore> {
  const store = memoryStore();
  await store.append([frame]);
  return store;
}
