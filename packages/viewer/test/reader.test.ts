import { definePolicy, definePrompt, defineTool, suspend, type RunRecord } from "@proviso/core";
import { createJournal, memoryJournal, type Journal } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { folderJournal, sqliteJournal } from "@proviso/journal/node";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { journalRuns, openRuns } from "@proviso/viewer";
import { compareRuns, limitsAt, runRows, stateAt } from "@proviso/viewer/runs";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { RunViews } from "../src/server/run-views.ts";
import { evaluated, listed, noted, slices } from "./support.ts";

const ask = (key: string) => definePrompt({ ns: "app", key, params: z.object({}), text: "What is it?" }).bind({});

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "proviso-viewer-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function answered(journal: Journal, id: string, key: string, text: string): Promise<void> {
  const adapter = modelAdapter(
    scriptedModel([text === "" ? { failure: "provider", reason: "bad_request", message: "Broken." } : { text }]),
  );
  await adapter.evaluate(ask(key), { run: journal.run(id) }).catch(() => {});
}

it.each(["memory", "folder", "sqlite"])("VIEW-5 runs of a journal in a %s are listed and read", async (kind) => {
  const path = await folder();
  const journal =
    kind === "memory"
      ? memoryJournal()
      : kind === "folder"
        ? folderJournal(path)
        : sqliteJournal(join(path, "runs.db"));
  onTestFinished(() => journal.close());
  await answered(journal, "one", "first", "Four.");
  await answered(journal, "two", "second", "");
  const reader = journalRuns(journal);
  const { runs, cursor } = await reader.list();
  expect(cursor).toBeUndefined();
  const rows = runs.map(({ runId, status, promptName, turns }) => [runId, status, promptName, turns]);
  // Both may have begun in the same millisecond, so their order says nothing here.
  expect(rows.toSorted(([a], [b]) => String(a).localeCompare(String(b)))).toEqual([
    ["one", "executed", "app/first", 1],
    ["two", "failed", "app/second", 1],
  ]);
  expect(runs.find(({ runId }) => runId === "two")?.error?.message).toBe("Broken.");
  const kinds = (await listed(reader.records("one"))).map((record) =>
    record.kind === "event" ? record.event.type : record.kind,
  );
  expect(kinds).toEqual(["prompt.rendered", "provider.requested", "provider.responded", "prompt.executed"]);
  expect(await reader.summary("none")).toBeUndefined();
  expect(await listed(reader.records("none"))).toEqual([]);
});

it("VIEW-13 what a run spent counts requests without an answer, in the list, the summary, a comparison and the limits", async () => {
  const journal = memoryJournal();
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: async (_, context) => void (await context.evaluate("Look.").catch(() => {})),
  });
  const looking = definePrompt({ key: "looking", sections: [{ key: "a", text: "Look.", tools: [look] }] });
  const usage = (inputTokens: number) => ({ inputTokens, outputTokens: 0 });
  const cut = { failure: "throttle", kind: "network", message: "Cut off." } as const;
  const adapter = (steps: readonly ScriptedStep[]) =>
    modelAdapter(scriptedModel(steps), { throttle: { maxAttempts: 1 } });
  const run = (id: string, steps: readonly ScriptedStep[]) =>
    adapter(steps).evaluate(looking.bind(), { run: journal.run(id), budget: { maxTotalTokens: 10_000 } });
  const call = { toolCalls: [{ name: "look", arguments: {} }], usage: usage(100) };
  await run("whole", [call, { text: "Inside.", usage: usage(10) }, { text: "Done.", usage: usage(1) }]);
  const failed: unknown = await run("cut", [call, { ...cut, usage: usage(20) }, { ...cut, usage: usage(2) }]).catch(
    (error: unknown) => error,
  );
  expect(failed).toMatchObject({ code: "throttled", usage: { totalTokens: 102 } });

  const reader = journalRuns(journal);
  const { runs } = await reader.list({ order: "oldest" });
  expect(runs.map(({ runId, usage: { totalTokens } }) => [runId, totalTokens])).toEqual([
    ["whole", 111],
    ["cut", 122],
  ]);
  expect((await reader.summary("cut"))?.usage.totalTokens).toBe(122);
  const [whole, half] = [await listed(reader.records("whole")), await listed(reader.records("cut"))];
  const compared = compareRuns(whole, half).usage;
  expect([compared.a.totalTokens, compared.b.totalTokens]).toEqual([111, 122]);
  expect(limitsAt(half, Infinity).budget).toEqual([{ name: "maxTotalTokens", limit: 10_000, spent: 122 }]);
});

it("VIEW-6 a list is searched, sorted and paged", async () => {
  const journal = memoryJournal();
  for (let n = 0; n < 7; n++)
    await answered(journal, `run ${n}`, n % 2 === 0 ? "even" : "odd", n === 3 ? "" : `It is ${n}.`);
  const reader = journalRuns(journal);
  const ids = async (query: Parameters<typeof reader.list>[0]) =>
    (await reader.list(query)).runs.map(({ runId }) => runId);
  expect(await ids({ text: "IT IS 4" })).toEqual(["run 4"]);
  expect(await ids({ text: "broken" })).toEqual(["run 3"]);
  expect(await ids({ status: "failed" })).toEqual(["run 3"]);
  expect((await ids({ promptName: "app/odd", order: "oldest" })).toSorted()).toEqual(["run 1", "run 3", "run 5"]);
  expect(await ids({ undone: true })).toEqual([]);
  for (const order of ["newest", "oldest", "slowest", "costliest"] as const) {
    const all: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await reader.list({ limit: 3, order, cursor });
      all.push(...page.runs.map(({ runId }) => runId));
      ({ cursor } = page);
      if (cursor === undefined) break;
    }
    expect(all.toSorted()).toEqual(Array.from({ length: 7 }, (_, n) => `run ${n}`));
  }
  await expect(reader.list({ limit: 0 })).rejects.toThrow("from 1 to 500");
  await expect(reader.list({ cursor: "odd" })).rejects.toThrow("cursor");
});

it("VIEW-6 the costliest runs of a file come first", async () => {
  const file = join(await folder(), "runs.db");
  const journal = sqliteJournal(file);
  for (const costUsd of [1, 3, 2]) {
    const usage = { inputTokens: 1, outputTokens: 1, costUsd };
    await modelAdapter(scriptedModel([{ text: "Yes.", usage }])).evaluate(ask("cost"), {
      run: journal.run(`${costUsd}`),
    });
  }
  for (const reader of [journalRuns(journal), openRuns(file)]) {
    const { runs } = await reader.list({ order: "costliest" });
    expect(runs.map(({ runId }) => runId)).toEqual(["3", "2", "1"]);
  }
  await journal.close();
});

it("VIEW-13 the costliest runs are those that spent most with the evaluations inside their calls", async () => {
  const journal = memoryJournal();
  const costing = (costUsd: number) => ({ usage: { inputTokens: 1, outputTokens: 1, costUsd } });
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: async (_, context) => (await context.evaluate(ask("inside"))).text,
  });
  const outer = definePrompt({ key: "outer", sections: [{ key: "task", text: "Look.", tools: [look] }] }).bind();
  const model = scriptedModel([
    { toolCalls: [{ name: "look" }], ...costing(1) },
    { text: "Inside.", ...costing(5) },
    { text: "Done.", ...costing(1) },
  ]);
  await modelAdapter(model).evaluate(outer, { run: journal.run("7 with 5 inside") });
  await modelAdapter(scriptedModel([{ text: "Yes.", ...costing(3) }])).evaluate(ask("own"), { run: journal.run("3") });
  const { runs } = await journalRuns(journal).list({ order: "costliest" });
  expect(runs.map(({ runId, usage }) => [runId, usage.costUsd])).toEqual([
    ["7 with 5 inside", 7],
    ["3", 3],
  ]);
});

it("VIEW-9 records come as they are written, each once", async () => {
  const journal = memoryJournal();
  const reader = journalRuns(journal, { slices });
  const ending = new AbortController();
  const seen: RunRecord[] = [];
  const following = (async () => {
    for await (const record of reader.follow({ runId: "r", after: -1, signal: ending.signal })) {
      seen.push(record);
      if (record.kind === "event" && record.event.type === "prompt.executed" && record.event.parent === undefined) {
        ending.abort();
      }
    }
  })();
  const turns = [
    {
      throttles: 1,
      text: "Now.",
      calls: (["deep", "write", "fail"] as const).map((tool) => ({ tool, id: undefined })),
    },
  ];
  const random = { turns, isStreamed: true, denies: false, vetoes: false, maxTurns: 5, budget: undefined };
  await evaluated(random, journal);
  await following;
  const all = await listed(journalRuns(journal, { slices }).records("r"));
  expect(seen).toEqual(all.slice(0, seen.length));
  expect(all.length - seen.length).toBeLessThanOrEqual(1);
});

it("VIEW-5 a damaged record is a row that says so, behind what was read before it", async () => {
  const journal = memoryJournal();
  await answered(journal, "r", "first", "Four.");
  const entries = await listed(journal.entries("r"));
  const store = memoryStore();
  const half = Math.ceil(entries.length / 2);
  for (const [first, part] of [
    [0, entries.slice(0, half)],
    [half, entries.slice(half)],
  ] as const) {
    const body = bodyOf(1, part);
    const of = { run: "r", first, body };
    const sum = first === 0 ? frameSum(of) : (frameSum(of) ^ 1) >>> 0;
    await store.append([
      { ...of, count: part.length, writer: "w", sum, summary: '{"prompt":"app/first","state":"open"}' },
    ]);
  }
  const rows = runRows();
  for (const record of await listed(journalRuns(createJournal(store)).records("r"))) rows.add(record);
  expect(rows.rows.at(-1)).toMatchObject({
    kind: "unreadable",
    status: "failed",
    title: expect.stringContaining("damaged"),
  });
});

it("VIEW-5 a file is read as it is: it stays byte-equal, also while another process would write to it", async () => {
  const file = join(await folder(), "runs.db");
  const journal = sqliteJournal(file);
  await answered(journal, "one", "first", "Four.");
  await journal.close();
  const bytes = await readFile(file);
  {
    await using reader = openRuns(file);
    expect((await reader.list()).runs.map(({ runId }) => runId)).toEqual(["one"]);
    expect(await listed(reader.records("one"))).toHaveLength(4);
  }
  expect(Buffer.compare(await readFile(file), bytes)).toBe(0);
});

it("VIEW-5 what is no journal is refused with one sentence", async () => {
  const path = await folder();
  expect(() => openRuns(join(path, "none.db"))).toThrow(/^There is no journal at .*none\.db\.$/);
  await writeFile(
    join(path, "text.db"),
    "This is no database at all, but it is long enough to be looked at as one.".repeat(20),
  );
  expect(() => openRuns(join(path, "text.db"))).toThrow(expect.objectContaining({ reason: "foreign" }));
  await writeFile(join(path, "empty.db"), "");
  expect(() => openRuns(join(path, "empty.db"))).toThrow(/is no journal: it is empty/);
});

it("VIEW-5 a run whose process is gone without an end is stopped, one of a living process is running", async () => {
  const file = join(await folder(), "runs.db");
  const program = `
    import { definePrompt, defineTool } from "@proviso/core";
    import { sqliteJournal } from "@proviso/journal/node";
    import { modelAdapter } from "@proviso/runtime";
    import { scriptedModel } from "@proviso/runtime/testing";
    import { z } from "zod";
    const end = defineTool({ name: "end", description: "Ends.", input: z.object({}), execute: () => process.exit(3) });
    const prompt = definePrompt({ key: "gone", sections: [{ key: "task", text: "Go.", tools: [end] }] });
    const model = scriptedModel([{ toolCalls: [{ name: "end", arguments: {} }] }]);
    await modelAdapter(model).evaluate(prompt.bind(), { run: sqliteJournal(${JSON.stringify(file)}).run("gone") });
  `;
  const args = ["--conditions=@proviso/source", "--input-type=module-typescript", "--eval", program];
  await new Promise<void>((done) => void execFile(process.execPath, args, { cwd: import.meta.dirname }, () => done()));
  const journal = sqliteJournal(file);
  onTestFinished(() => journal.close());
  let release: (() => void) | undefined;
  const waiting = new Promise<void>((done) => (release = done));
  const wait = defineTool({
    name: "wait",
    description: "Waits.",
    input: z.object({}),
    execute: () => waiting.then(() => "over"),
  });
  const alive = definePrompt({ ns: "app", key: "alive", sections: [{ key: "task", text: "Wait.", tools: [wait] }] });
  const model = scriptedModel([{ toolCalls: [{ name: "wait", arguments: {} }] }, { text: "Now." }]);
  const evaluating = modelAdapter(model).evaluate(alive.bind(), { run: journal.run("alive") });
  await using reader = openRuns(file);
  await expect.poll(async () => (await reader.summary("alive"))?.status).toBe("running");
  expect((await reader.summary("gone"))?.status).toBe("stopped");
  release?.();
  await evaluating;
  expect((await reader.summary("alive"))?.status).toBe("executed");
});

it("VIEW-5 the summary of one run does not read the list of all", async () => {
  const store = memoryStore();
  let lists = 0;
  const list = () => {
    lists += 1;
    return store.list();
  };
  const journal = createJournal({ ...store, list });
  await answered(journal, "one", "first", "Four.");
  await answered(journal, "two", "second", "");
  const reader = journalRuns(journal);
  const { runs } = await reader.list();
  expect(lists).toBe(1);
  const found = await Promise.all(["one", "two", "none"].map((id) => reader.summary(id)));
  expect(lists).toBe(1);
  expect(found).toEqual([...["one", "two"].map((id) => runs.find(({ runId }) => runId === id)), undefined]);
  // A store of others may have nothing but its list.
  const { summary: _summary, ...listing } = store;
  const others = journalRuns(createJournal({ ...listing, list }));
  expect((await others.summary("two"))?.error?.message).toBe("Broken.");
  expect(lists).toBe(2);
});

it("VIEW-5 a cancelled run is stopped", async () => {
  const journal = memoryJournal();
  const later = { failure: "throttle", kind: "network", message: "The line is cut." } as const;
  const adapter = modelAdapter(scriptedModel([later]), { throttle: { maxAttempts: 1 } });
  await expect(adapter.evaluate(ask("first"), { run: journal.run("r") })).rejects.toThrow();
  expect(await journal.cancel("r")).toBe(true);
  expect((await journalRuns(journal).summary("r"))?.status).toBe("stopped");
});

it("VIEW-5 VIEW-9 a run that goes on: what the attempt did not go on from is left out, also for one that has read it", async () => {
  const journal = memoryJournal();
  const note = defineTool({
    name: "note",
    description: "Notes.",
    input: z.object({}),
    execute: (_input, { session }) => session.dispatch(noted({ text: "once" })).ok,
  });
  const prompt = definePrompt({ key: "on", slices, sections: [{ key: "task", text: "Go.", tools: [note] }] });
  const call = { toolCalls: [{ id: "c1", name: "note", arguments: {} }] };
  const broken = { failure: "throttle", kind: "network", message: "The line is cut." } as const;
  const model = scriptedModel([call, broken, { text: "Done." }]);
  const adapter = modelAdapter(model, { throttle: { maxAttempts: 1 } });
  const early = journalRuns(journal, { slices });
  const views = new RunViews(early);
  await expect(adapter.evaluate(prompt.bind(), { run: journal.run("r") })).rejects.toThrow();
  const before = await listed(early.records("r"));
  const { version } = await views.of("r");
  expect((await early.summary("r"))?.status).toBe("failed");
  await adapter.evaluate(prompt.bind(), { run: journal.run("r") });
  const fresh = journalRuns(journal, { slices });
  const after = await listed(fresh.records("r"));
  expect(await listed(early.records("r"))).toEqual(after);
  expect(after.map(({ n }) => n)).not.toEqual(expect.arrayContaining(before.map(({ n }) => n)));
  const view = await views.of("r");
  expect(view.rows).toEqual((await new RunViews(fresh).of("r")).rows);
  expect(view.version).toBeGreaterThan(version);
  expect(view.rows.map(({ kind, status }) => `${kind} ${status}`)).toContain("said done");
  expect(view.rows.filter(({ kind }) => kind === "end").map(({ status }) => status)).toEqual(["done"]);
  expect(await early.summary("r")).toMatchObject({ status: "executed", toolCalls: 1 });
  expect(await stateAt(early, "r", Infinity)).toMatchObject({ counts: { once: 1 } });
});

it("VIEW-9 the follower of all runs has what is kept from now on, of each run", async () => {
  const store = memoryStore();
  let lists = 0;
  const journal = createJournal({
    ...store,
    async *list() {
      yield* store.list();
      lists += 1;
    },
  });
  for (let n = 0; n < 40; n++) await answered(journal, `old ${n}`, "old", "Old.");
  const reader = journalRuns(journal);
  const ending = new AbortController();
  const seen: string[] = [];
  const following = (async () => {
    for await (const record of reader.follow({ after: 0, signal: ending.signal })) {
      if (record.kind === "event") seen.push(`${record.runId} ${record.event.type}`);
    }
  })();
  await expect.poll(() => lists).toBeGreaterThan(0);
  await answered(journal, "new 1", "new", "New.");
  await answered(journal, "new 2", "new", "New.");
  await expect.poll(() => seen.length).toBe(8);
  ending.abort();
  await following;
  expect(new Set(seen).size).toBe(8);
  expect(seen.every((each) => each.startsWith("new"))).toBe(true);
});

it.each(["memory", "folder", "sqlite", "a file that is opened to read"])(
  "VIEW-9 JST-3 in a %s, a run that is removed ends what follows it, and another one of its id is shown alone",
  async (kind) => {
    const path = join(await folder(), "runs");
    const journal = kind === "memory" ? memoryJournal() : kind === "folder" ? folderJournal(path) : sqliteJournal(path);
    onTestFinished(() => journal.close());
    await answered(journal, "a", "first", "First.");
    const reader = kind.startsWith("a ") ? openRuns(path) : journalRuns(journal);
    const views = new RunViews(reader);
    const rowsOf = async () => (await views.of("a")).rows.map(({ title }) => title);
    const ending = new AbortController();
    onTestFinished(() => ending.abort());
    const seen: RunRecord[] = [];
    const all: string[] = [];
    const following = (async () => {
      for await (const record of reader.follow({ runId: "a", after: -1, signal: ending.signal })) seen.push(record);
    })();
    const followingAll = (async () => {
      for await (const record of reader.follow({ after: 0, signal: ending.signal })) {
        if (record.kind === "event") all.push(record.event.evaluationId);
      }
    })();
    await expect.poll(() => seen.length).toBe(4);
    expect(await reader.summary("a")).toMatchObject({ promptName: "app/first" });
    const before = await rowsOf();
    const { begunBy } = await views.of("a");
    await journal.remove("a");
    await answered(journal, "a", "second", "Second.");
    await following;
    expect(seen).toHaveLength(4);
    const records = await listed(reader.records("a"));
    expect(records).toHaveLength(4);
    const [, second] = [seen, records].map(([first]) => first?.kind === "event" && first.event.evaluationId);
    const summary = await reader.summary("a");
    expect(summary).toMatchObject({ promptName: "app/second", turns: 1, status: "executed" });
    expect((summary?.endedAt ?? 0) - (summary?.startedAt ?? 0)).toBeGreaterThanOrEqual(0);
    const after = await rowsOf();
    expect(after).toHaveLength(before.length);
    expect((await views.of("a")).begunBy).not.toBe(begunBy);
    expect(after.join()).toContain("Second.");
    expect(after.join()).not.toContain("First.");
    await expect.poll(() => all.filter((id) => id === second).length).toBe(4);
    await journal.remove("a");
    expect([await reader.summary("a"), await rowsOf(), await listed(reader.records("a"))]).toEqual([undefined, [], []]);
    ending.abort();
    await followingAll;
  },
  15_000,
);

it("VIEW-5 a run that waits for a decision is suspended, and found as that", async () => {
  const journal = memoryJournal();
  const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "paid" });
  const chief = definePolicy({ name: "chief", check: () => suspend("Pay?") });
  const prompt = definePrompt({ key: "pays", sections: [{ key: "task", text: "Pay.", tools: [pay] }] }).bind();
  const model = scriptedModel([{ toolCalls: [{ name: "pay", arguments: {} }] }]);
  await modelAdapter(model)
    .evaluate(prompt, { run: journal.run("waits"), policies: [chief] })
    .catch(() => {});
  await answered(journal, "done", "done", "Done.");
  const reader = journalRuns(journal);
  expect(await reader.summary("waits")).toMatchObject({ status: "suspended" });
  for (const [status, found] of [
    ["suspended", ["waits"]],
    ["stopped", []],
    ["running", []],
    ["executed", ["done"]],
  ] as const) {
    expect((await reader.list({ status })).runs.map(({ runId }) => runId)).toEqual(found);
  }
});

it("VIEW-13 TX-5 a call that a listener vetoed is one call", async () => {
  const journal = memoryJournal();
  const note = defineTool({ name: "note", description: "Notes.", input: z.object({}), execute: () => "noted" });
  const prompt = definePrompt({ key: "veto", sections: [{ key: "task", text: "Do.", tools: [note] }] });
  const session = createSession();
  session.on("tool.invoked", ({ result }) => {
    if (result.success) throw new Error("The audit refuses.");
  });
  const call = { toolCalls: [{ id: "c1", name: "note", arguments: {} }] };
  const model = scriptedModel([call, call, { text: "Done." }]);
  const { toolResults } = await modelAdapter(model).evaluate(prompt.bind(), { session, run: journal.run("r") });
  expect(toolResults).toHaveLength(2);
  expect(await journalRuns(journal).summary("r")).toMatchObject({ toolCalls: 2, undone: 2 });
});
