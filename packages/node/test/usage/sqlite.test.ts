import { DefinitionError, definePrompt } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { estimate, memoryUsageStore, usageStatistics, type UsageSample } from "@proviso/estimation";
import { SqliteError, sqliteUsageStore } from "@proviso/node";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import fc from "fast-check";
import { execFile, spawn } from "node:child_process";
import { mkdtemp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { sampleOf } from "../../../estimation/test/support.ts";
import { fromSources } from "../../../../scripts/from-sources.ts";

// Processes and a disk that others use, too.
vi.setConfig({ testTimeout: 300_000 });

const run = promisify(execFile);
const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
const writer = [...fromSources, join(import.meta.dirname, "processes", "writer.ts")];

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "proviso-usage-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

const turnsOf = (samples: readonly UsageSample[]): readonly number[] =>
  samples.map(({ turns }) => turns).toSorted((a, b) => a - b);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test("EST-10 what evaluations spent is there when the file is opened again", async () => {
  const file = join(await folder(), "made", "usage.sqlite");
  const prompt = definePrompt({ ns: "tests", key: "ask", text: "Ask." }).bind();
  const usage = { inputTokens: 80, outputTokens: 40, cachedInputTokens: 3, costUsd: 0.5 };
  const adapter = modelAdapter(scriptedModel(upTo(10).map(() => ({ text: "ok", usage }))), fakeEnvironment());
  {
    using store = sqliteUsageStore(file);
    const session = createSession();
    const statistics = usageStatistics(store);
    statistics.observe(session);
    for (let i = 0; i < 10; i++) await adapter.evaluate(prompt, { session });
    expect(statistics.pending).toBe(0);
  }
  using store = sqliteUsageStore(file);
  expect(store.samples({ prompt: "tests/ask" })[0]).toEqual({
    prompt: "tests/ask",
    model: "scripted-model",
    characters: 4,
    inputTokens: 80,
    cachedInputTokens: 3,
    outputTokens: 40,
    largestOutputTokens: 40,
    turns: 1,
    durationMs: 0,
    costUsd: 0.5,
  });
  expect(await estimate(prompt, { adapter, history: store })).toMatchObject({
    basis: "history",
    samples: 10,
    inputTokens: { p50: 80, p90: 80 },
    costUsd: { known: true, p50: 0.5, p90: 0.5 },
  });
});

test("EST-10 it answers as memory does, whatever was recorded", async () => {
  const path = await folder();
  const names = fc.constantFrom("a/x", "a/y", "b/x");
  const costUsd = fc.option(fc.double({ min: 0, max: 1, noNaN: true, noDefaultInfinity: true }), { nil: undefined });
  const some = fc.record({ prompt: names, model: names, costUsd, copies: fc.integer({ min: 1, max: 700 }) });
  let files = 0;
  fc.assert(
    fc.property(fc.array(some, { maxLength: 5 }), (batches) => {
      const memory = memoryUsageStore();
      using store = sqliteUsageStore(join(path, `${files++}.sqlite`));
      let turns = 0;
      for (const { copies, ...values } of batches) {
        for (let copy = 0; copy < copies; copy++) {
          const { costUsd: cost, ...sample } = sampleOf({ ...values, turns: ++turns });
          for (const each of [memory, store]) each.record(cost === undefined ? sample : { ...sample, costUsd: cost });
        }
      }
      for (const query of [{}, { prompt: "a/x" }, { model: "a/x" }, { prompt: "a/x", model: "b/x" }]) {
        const byTurns = (samples: readonly UsageSample[]) => samples.toSorted((a, b) => a.turns - b.turns);
        expect(byTurns(store.samples(query))).toEqual(byTurns(memory.samples(query) as readonly UsageSample[]));
      }
    }),
    { seed: 10, numRuns: 6 },
  );
});

test("EST-10 the file stays small: what is too old goes", async () => {
  const file = join(await folder(), "usage.sqlite");
  using store = sqliteUsageStore(file);
  for (let turns = 1; turns <= 2_000; turns++) store.record(sampleOf({ turns }));
  expect(turnsOf(store.samples({}))).toEqual(upTo(512).map((turns) => turns + 1_488));
  const counted = new DatabaseSync(file, { readOnly: true });
  onTestFinished(() => counted.close());
  const { rows } = counted.prepare("SELECT count(*) AS rows FROM usage_samples").get() as { rows: number };
  expect(rows).toBeLessThan(512 + 65);
});

test("EST-10 processes that write at once lose nothing", async () => {
  const file = join(await folder(), "usage.sqlite");
  const writing = upTo(4).map((index) => run(process.execPath, [...writer, file, `tests/p${index}`, "100"]));
  await Promise.all(writing);
  using store = sqliteUsageStore(file);
  for (const index of upTo(4)) expect(turnsOf(store.samples({ prompt: `tests/p${index}` }))).toEqual(upTo(100));
});

test("EST-10 a new file can be opened by several at the same moment", async () => {
  const [rounds, at] = [60, await folder()];
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const program = join(import.meta.dirname, "processes", "opener.ts");
  const options = { workerData: { gate, folder: at, rounds }, execArgv: fromSources.slice(1) };
  const openers = upTo(4).map(() => new Worker(program, options));
  onTestFinished(async () => void (await Promise.all(openers.map((opener) => opener.terminate()))));
  const said: unknown[] = [];
  for (let round = 1; round <= rounds; round++) {
    const answers = openers.map((opener) => new Promise((resolve) => opener.once("message", resolve)));
    Atomics.store(gate, 0, round);
    Atomics.notify(gate, 0);
    said.push(...(await Promise.all(answers)));
  }
  expect(new Set(said)).toEqual(new Set(["open"]));
});

test("EST-10 a process that is killed takes nothing with it that it had recorded", async () => {
  const file = join(await folder(), "usage.sqlite");
  const child = spawn(process.execPath, [...writer, file, "tests/ask", "100000"]);
  let told = "";
  child.stdout.on("data", (text: Buffer) => {
    told += text.toString();
    if (told.length > 1_000) child.kill("SIGKILL");
  });
  await new Promise((resolve) => child.on("close", resolve));
  const last = Number(told.slice(0, told.lastIndexOf("\n")).split("\n").at(-1));
  expect(last).toBeGreaterThan(100);
  using store = sqliteUsageStore(file);
  expect(turnsOf(store.samples({})).at(-1)).toBeGreaterThanOrEqual(last);
  store.record(sampleOf());
});

describe("EST-10 a file that is not ours is refused by name, and left alone", () => {
  const database = (file: string, sql: string): void => {
    const made = new DatabaseSync(file);
    made.exec(sql);
    made.close();
  };
  const wrong: Readonly<Record<string, readonly [said: string, make: (file: string) => Promise<void> | void]>> = {
    text: ["not a database", (file) => writeFile(file, "Not a database.")],
    "a long text": ["not a database", (file) => writeFile(file, "x".repeat(10_000))],
    "another database": ["something else", (file) => database(file, "CREATE TABLE notes (text TEXT)")],
    "another database in WAL mode": [
      "something else",
      (file) => database(file, "PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT)"),
    ],
    "an application's database": ["something else", (file) => database(file, "PRAGMA application_id = 7; VACUUM")],
    "a newer version": [
      "version 2",
      (file) => {
        sqliteUsageStore(file).close();
        database(file, "PRAGMA journal_mode = DELETE; PRAGMA user_version = 2");
      },
    ],
    "a file without its table": [
      "cannot be opened: no such table",
      (file) => {
        sqliteUsageStore(file).close();
        database(file, "PRAGMA journal_mode = DELETE; DROP TABLE usage_samples");
      },
    ],
    "a truncated file": [
      "usage.sqlite",
      async (file) => {
        const store = sqliteUsageStore(file);
        for (let i = 0; i < 500; i++) store.record(sampleOf());
        store.close();
        await writeFile(file, (await readFile(file)).subarray(0, 9_000));
      },
    ],
    "a damaged file": [
      "usage.sqlite",
      async (file) => {
        const store = sqliteUsageStore(file);
        for (let i = 0; i < 500; i++) store.record(sampleOf());
        store.close();
        const bytes = await readFile(file);
        await writeFile(file, bytes.fill(0xab, 4_096, 20_000));
      },
    ],
  };
  test.each(Object.entries(wrong))("EST-10 %s", async (_, [said, make]) => {
    const path = await folder();
    const file = join(path, "usage.sqlite");
    await make(file);
    const before = await readFile(file);
    const opening = (): unknown => sqliteUsageStore(file);
    expect(opening).toThrow(DefinitionError);
    expect(opening).toThrow(file);
    expect(opening).toThrow(said);
    expect((await readFile(file)).equals(before)).toBe(true);
    expect(await readdir(path)).toEqual(["usage.sqlite"]);
  });

  test("EST-10 a folder, and what is no path", async () => {
    const path = await folder();
    await mkdir(join(path, "usage.sqlite"));
    expect(() => sqliteUsageStore(join(path, "usage.sqlite"))).toThrow(join(path, "usage.sqlite"));
    for (const given of ["", ":memory:", undefined]) {
      expect(() => sqliteUsageStore(given as never)).toThrow(DefinitionError);
    }
    for (const busyTimeoutMs of [-1, 0.5, Number.NaN, "5"]) {
      expect(() => sqliteUsageStore(join(path, "b"), { busyTimeoutMs: busyTimeoutMs as never })).toThrow(
        "busyTimeoutMs",
      );
    }
  });
});

test("EST-10 two stores of one process on one file lose nothing", async () => {
  const file = join(await folder(), "usage.sqlite");
  using one = sqliteUsageStore(file);
  one.record(sampleOf({ turns: 1 }));
  {
    using other = sqliteUsageStore(file);
    other.record(sampleOf({ turns: 2 }));
    one.record(sampleOf({ turns: 3 }));
  }
  await run(process.execPath, [...writer, file, "tests/other", "5"]);
  expect(turnsOf(one.samples({ prompt: "tests/ask" }))).toEqual([1, 2, 3]);
  expect(one.samples({})).toHaveLength(8);
});

test("EST-10 EST-8 what a lock of another process keeps out waits, and is written when the lock is gone", async () => {
  const file = join(await folder(), "usage.sqlite");
  using store = sqliteUsageStore(file, { busyTimeoutMs: 1 });
  const told: unknown[] = [];
  const statistics = usageStatistics(store, { onError: (error) => told.push(error) });
  const session = createSession();
  statistics.observe(session);
  const adapter = modelAdapter(scriptedModel([{ text: "ok" }, { text: "ok" }]), fakeEnvironment());
  const prompt = definePrompt({ key: "ask", text: "Ask." }).bind();
  const other = new DatabaseSync(file);
  other.exec("BEGIN IMMEDIATE");
  await adapter.evaluate(prompt, { session });
  expect(told).toMatchObject([{ code: "sqlite", reason: "busy", message: expect.stringContaining(file) }]);
  other.exec("COMMIT");
  other.close();
  await adapter.evaluate(prompt, { session });
  expect(store.samples({})).toHaveLength(2);
  expect(statistics.pending).toBe(0);
});

test("EST-10 LIM-2 a lock of another process blocks this one for 50 ms at most", async () => {
  const file = join(await folder(), "usage.sqlite");
  using store = sqliteUsageStore(file);
  const other = new DatabaseSync(file);
  other.exec("BEGIN IMMEDIATE");
  const blocked: number[] = [];
  // The processor may be away for a while, and not every time.
  for (let tried = 0; tried < 3; tried++) {
    const begun = performance.now();
    expect(() => store.record(sampleOf({ turns: 1 }))).toThrow(expect.objectContaining({ reason: "busy" }));
    blocked.push(performance.now() - begun);
  }
  // It was 5,000.
  expect(Math.min(...blocked)).toBeLessThan(4_000);
  other.exec("COMMIT");
  other.close();
});

test("EST-10 a closed store says so; a sample that is none is refused", async () => {
  const store = sqliteUsageStore(join(await folder(), "usage.sqlite"));
  const refused = (): void => store.record(sampleOf({ turns: undefined as never }));
  expect(refused).toThrow(SqliteError);
  expect(refused).toThrow("usage.sqlite: The database refuses the change");
  expect(store.samples({})).toEqual([]);
  store.close();
  store.close();
  expect(() => store.record(sampleOf())).toThrow("is closed");
  expect(() => store.samples({})).toThrow("is closed");
});

test("EST-10 node:sqlite is loaded when a store is made, not before", async () => {
  const program = `
    const loaded = () => process.moduleLoadList.includes("NativeModule sqlite") || process.moduleLoadList.includes("Internal Binding sqlite");
    const said = [];
    for (const name of ["@proviso/runtime", "@proviso/estimation", "@proviso/node"]) {
      await import(name);
      said.push(loaded());
    }
    const { sqliteUsageStore } = await import("@proviso/node");
    sqliteUsageStore(process.env.USAGE_FILE).close();
    console.log(JSON.stringify([...said, loaded()]));
  `;
  const args = [...fromSources, "--input-type=module", "--eval", program];
  const env = { ...process.env, USAGE_FILE: join(await folder(), "usage.sqlite") };
  const { stdout } = await run(process.execPath, args, { cwd: join(import.meta.dirname, "..", ".."), env });
  expect(JSON.parse(stdout)).toEqual([false, false, false, true]);
});
