import {
  allow,
  definePolicy,
  definePrompt,
  defineSection,
  defineTool,
  deny,
  Filesystem,
  provide,
  RunError,
  resourceKey,
  toolOk,
  type PolicyDecision,
  type Snapshotable,
} from "@proviso/core";
import { createJournal, memoryJournal, type JournalEntry } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { hostFilesystem, SqliteDatabase, sqliteResource } from "@proviso/node";
import { memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fakeClock, scriptedModel, type FakeClock, type ScriptedStep } from "@proviso/runtime/testing";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { folder, listed } from "./support.ts";

/** A store in which the run "r" ends after so many entries. */
async function cut(entries: readonly JournalEntry[], count: number) {
  const store = memoryStore();
  const of = { run: "r", first: 0, body: bodyOf(1, entries.slice(0, count)) };
  await store.append([{ ...of, count, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  return createJournal(store);
}

const write = (path: string, id = "c1"): ScriptedStep => ({ toolCalls: [{ id, name: "write", arguments: { path } }] });

function filesPrompt(more: object = {}, done: string[] = []) {
  const tool = defineTool({
    name: "write",
    description: "Writes a file.",
    input: z.object({ path: z.string() }),
    async execute({ path }, { resources, idempotencyKey }) {
      done.push(`${path} ${idempotencyKey}`);
      const files = resources.get(Filesystem);
      const before = (await files.exists(path)) ? (await files.read(path)).text : "";
      await files.write(path, `${before}x`);
      return path;
    },
    ...more,
  });
  return definePrompt({
    ns: "test",
    key: "files",
    params: z.object({}),
    sections: [defineSection({ key: "task", text: "Write.", tools: [tool] })],
  }).bind({});
}

async function recordedFiles(files: Filesystem, done: string[] = []) {
  const journal = memoryJournal();
  const model = scriptedModel([write("a"), write("b/c", "c2"), { text: "Done." }]);
  await modelAdapter(model).evaluate(filesPrompt({}, done), {
    run: journal.run("r"),
    resources: [provide(Filesystem, files)],
  });
  return { journal, entries: await listed(journal.entries("r")) };
}

const placeOf = (entries: readonly JournalEntry[], fits: (entry: JournalEntry) => boolean): number =>
  entries.findIndex(fits) + 1;

describe("effects of a run", () => {
  it("EFF-1 a call has the same key in every attempt, and another one in every other call and run", async () => {
    const done: string[] = [];
    const { entries } = await recordedFiles(memoryFilesystem(), done);
    const started = placeOf(entries, ({ kind }) => kind === "started");
    const again: string[] = [];
    const journal = await cut(entries, started);
    const model = scriptedModel([write("b/c", "c2"), { text: "Done." }]);
    const options = { run: journal.run("r", { takeOver: true }), resources: [provide(Filesystem, memoryFilesystem())] };
    await modelAdapter(model).evaluate(filesPrompt({ idempotent: true }, again), options);
    expect(again).toEqual(done);
    expect(new Set(done).size).toBe(2);
    expect(done[0]?.split(" ")[1]).toMatch(/^[\w-]{22}$/u);
    const other: string[] = [];
    const model2 = scriptedModel([write("a"), { text: "Done." }]);
    await modelAdapter(model2).evaluate(filesPrompt({}, other), {
      resources: [provide(Filesystem, memoryFilesystem())],
    });
    expect(other[0]).not.toBe(done[0]);
  });

  it("EFF-3 EFF-6 a call that may have been done is not run again, and the model reads that", async () => {
    const { entries } = await recordedFiles(memoryFilesystem());
    const journal = await cut(
      entries,
      placeOf(entries, ({ kind }) => kind === "started"),
    );
    const done: string[] = [];
    const model = scriptedModel([write("b/c", "c2"), { text: "Done." }]);
    const options = { run: journal.run("r", { takeOver: true }), resources: [provide(Filesystem, memoryFilesystem())] };
    const { toolResults } = await modelAdapter(model).evaluate(filesPrompt({}, done), options);
    expect(toolResults[0]?.result).toEqual({
      success: false,
      message:
        "It is not known whether write was done: it began, and its end was not recorded. Find out before you call it again.",
    });
    expect(done).toHaveLength(1);
  });

  it.each<readonly [what: string, more: object, unknown: () => PolicyDecision | undefined, effect: string]>([
    ["that nobody knows", {}, () => undefined, "unknown"],
    ["that a policy denies", {}, () => deny("Not twice."), "unknown"],
    ["that a policy allows", {}, () => allow(), "committed"],
    ["that its tool knows", { reconcile: () => "done" }, () => undefined, "committed"],
  ])("EFF-2 describe says what is true of a call %s", async (_, more, unknown, effect) => {
    const { entries } = await recordedFiles(memoryFilesystem());
    const journal = await cut(
      entries,
      placeOf(entries, ({ kind }) => kind === "started"),
    );
    const effects = async () =>
      (await journal.describe("r"))?.timeline.flatMap((step) => (step.kind === "call" ? [step.effect] : []));
    expect(await effects()).toEqual(["unknown"]);
    const model = scriptedModel([write("b/c", "c2"), { text: "Done." }]);
    const policy = definePolicy({ name: "boss", unknown });
    await modelAdapter(model).evaluate(filesPrompt(more), {
      run: journal.run("r", { takeOver: true, onChange: "adopt" }),
      resources: [provide(Filesystem, memoryFilesystem())],
      policies: [policy],
    });
    expect(await effects()).toEqual([effect, "committed"]);
  });

  it.each([{ readOnly: true }, { idempotent: true }, { transactional: true }])(
    "EFF-3 a call that may have been done is run again where its tool is %o",
    async (more) => {
      const { entries } = await recordedFiles(memoryFilesystem());
      const journal = await cut(
        entries,
        placeOf(entries, ({ kind }) => kind === "started"),
      );
      const done: string[] = [];
      const model = scriptedModel([{ text: "Done." }]);
      const options = {
        run: journal.run("r", { takeOver: true }),
        resources: [provide(Filesystem, memoryFilesystem())],
      };
      await modelAdapter(model)
        .evaluate(filesPrompt(more, done), options)
        .catch(() => {});
      expect(done).toHaveLength(1);
    },
  );

  it.each([
    ["not-started", 1, true],
    ["unknown", 0, false],
    ["done", 0, true],
  ] as const)("EFF-4 reconcile that answers %s", async (answer, times, success) => {
    const { entries } = await recordedFiles(memoryFilesystem());
    const journal = await cut(
      entries,
      placeOf(entries, ({ kind }) => kind === "started"),
    );
    const done: string[] = [];
    const keys: string[] = [];
    const reconcile = (_input: unknown, { idempotencyKey }: { readonly idempotencyKey: string }) => {
      keys.push(idempotencyKey);
      return answer;
    };
    const model = scriptedModel([{ text: "Done." }]);
    const options = { run: journal.run("r", { takeOver: true }), resources: [provide(Filesystem, memoryFilesystem())] };
    const { toolResults } = await modelAdapter(model).evaluate(filesPrompt({ reconcile }, done), options);
    expect(done).toHaveLength(times);
    expect(toolResults[0]?.result.success).toBe(success);
    const started = entries.find((entry) => entry.kind === "started");
    expect(keys).toEqual([started?.kind === "started" ? started.idempotencyKey : ""]);
  });

  it("EFF-4 reconcile that takes longer than 30 s is unknown", async () => {
    const { entries } = await recordedFiles(memoryFilesystem());
    const journal = await cut(
      entries,
      placeOf(entries, ({ kind }) => kind === "started"),
    );
    const clock = fakeClock();
    const done: string[] = [];
    const asked = Promise.withResolvers<void>();
    const reconcile = () => {
      asked.resolve();
      return new Promise(() => {});
    };
    let hasEnded = false;
    const evaluating = modelAdapter(scriptedModel([{ text: "Done." }]), { clock })
      .evaluate(filesPrompt({ reconcile }, done), {
        run: journal.run("r", { takeOver: true }),
        resources: [provide(Filesystem, memoryFilesystem())],
      })
      .finally(() => (hasEnded = true));
    await asked.promise;
    await clock.advance(29_999);
    expect(hasEnded).toBe(false);
    await clock.advance(1);
    expect((await evaluating).toolResults[0]?.result.message).toContain("It is not known whether write was done");
    expect(done).toEqual([]);
  });

  it.each([
    ["reconcile that never ends is unknown after it", () => new Promise(() => {}), 0],
    ["the handler has it anew after reconcile", (clock: FakeClock) => clock.sleep(600).then(() => "not-started"), 1],
  ] as const)("EFF-4 of a tool with a timeoutMs, %s", async (_, answer, times) => {
    const { entries } = await recordedFiles(memoryFilesystem());
    const journal = await cut(
      entries,
      placeOf(entries, ({ kind }) => kind === "started"),
    );
    const clock = fakeClock();
    const done: string[] = [];
    const asked = Promise.withResolvers<void>();
    const reconcile = () => {
      asked.resolve();
      return answer(clock);
    };
    const execute = async () => {
      await clock.sleep(600);
      done.push("done");
    };
    const evaluating = modelAdapter(scriptedModel([{ text: "Done." }]), { clock }).evaluate(
      filesPrompt({ reconcile, timeoutMs: 700, execute }, done),
      { run: journal.run("r", { takeOver: true }), resources: [provide(Filesystem, memoryFilesystem())] },
    );
    await asked.promise;
    for (let left = 14; left > 0; left--) await clock.advance(100);
    const [result] = (await evaluating).toolResults;
    expect(done).toHaveLength(times);
    expect(result?.result.success).toBe(times === 1);
    if (times === 0) expect(result?.result.message).toContain("It is not known whether write was done");
  });

  it("EFF-4 reconcile may change nothing", async () => {
    const { entries } = await recordedFiles(memoryFilesystem());
    const journal = await cut(
      entries,
      placeOf(entries, ({ kind }) => kind === "started"),
    );
    const files = memoryFilesystem();
    const reconcile = async (
      _input: unknown,
      { resources }: { readonly resources: { get(key: typeof Filesystem): Filesystem } },
    ) => {
      await resources.get(Filesystem).write("a", "by reconcile");
      return "not-started";
    };
    const options = { run: journal.run("r", { takeOver: true }), resources: [provide(Filesystem, files)] };
    const { toolResults } = await modelAdapter(scriptedModel([{ text: "Done." }])).evaluate(
      filesPrompt({ reconcile }),
      options,
    );
    expect(toolResults[0]?.result.success).toBe(false);
    expect(await files.exists("a")).toBe(false);
  });

  it("RSM-2 what kept calls changed of files in memory is changed again, byte for byte", async () => {
    const { entries } = await recordedFiles(memoryFilesystem({ a: "before " }));
    const second = entries.findLastIndex(({ kind }) => kind === "committed") + 1;
    const journal = await cut(entries, second);
    const files = memoryFilesystem({ a: "before " });
    const options = { run: journal.run("r", { takeOver: true }), resources: [provide(Filesystem, files)] };
    await modelAdapter(scriptedModel([{ text: "Done." }])).evaluate(filesPrompt(), options);
    expect([(await files.read("a")).text, (await files.read("b/c")).text]).toEqual(["before x", "x"]);
  });

  it("FRK-3 FRK-4 a fork has what the calls before changed, and of one that is given another result nothing", async () => {
    const { journal } = await recordedFiles(memoryFilesystem());
    const filesAfter = async (id: string, result?: object): Promise<readonly string[]> => {
      const files = memoryFilesystem();
      const run = journal.fork("r", { at: 4, id, ...(result === undefined ? {} : { result: result as never }) });
      const options = { run, resources: [provide(Filesystem, files)] };
      await modelAdapter(scriptedModel([{ text: "Done." }])).evaluate(filesPrompt(), options);
      return files.glob("**");
    };
    expect(await filesAfter("same")).toEqual(["a", "b/c"]);
    expect(await filesAfter("other", toolOk("elsewhere"))).toEqual(["a"]);
  });

  it("RSM-2 EFF-3 EFF-5 a host folder finds what kept calls wrote, and a call between finish and commit is not repeated blindly", async () => {
    const root = await folder();
    const files = hostFilesystem(root);
    const { entries } = await recordedFiles(files);
    expect(entries.filter(({ kind }) => kind === "finished")).toHaveLength(2);
    const committed = await cut(
      entries,
      placeOf(entries, ({ kind }) => kind === "committed"),
    );
    const model = scriptedModel([write("d", "c2"), { text: "Done." }]);
    await modelAdapter(model).evaluate(filesPrompt(), {
      run: committed.run("r", { takeOver: true }),
      resources: [provide(Filesystem, files)],
    });
    // The second call of the record was done before this process went on, and is in the folder.
    expect([(await files.read("a")).text, (await files.read("d")).text]).toEqual(["x", "x"]);
    const between = await cut(
      entries,
      placeOf(entries, ({ kind }) => kind === "finished"),
    );
    const done: string[] = [];
    const again = scriptedModel([{ text: "Done." }]);
    const response = await modelAdapter(again).evaluate(filesPrompt({ transactional: true }, done), {
      run: between.run("r", { takeOver: true }),
      resources: [provide(Filesystem, files)],
    });
    expect(done).toEqual([]);
    expect(response.toolResults[0]?.result.message).toMatch(/It is not known whether write was done/u);
  });

  it("RSM-2 a resource in memory that cannot say what changed ends a run that goes on", async () => {
    const Counter = resourceKey<{ add(): void }>("Counter");
    const counter = (): { add(): void } & Snapshotable<number> => {
      let count = 0;
      return { add: () => void (count += 1), snapshot: () => count, restore: (to) => void (count = to) };
    };
    const add = defineTool({
      name: "add",
      description: "Adds.",
      input: z.object({}),
      execute: (_input, { resources }) => resources.get(Counter).add(),
    });
    const prompt = definePrompt({
      ns: "test",
      key: "count",
      params: z.object({}),
      sections: [defineSection({ key: "task", text: "Count.", tools: [add] })],
    }).bind({});
    const journal = memoryJournal();
    const steps: ScriptedStep[] = [{ toolCalls: [{ id: "c1", name: "add" }] }, { text: "Done." }];
    await modelAdapter(scriptedModel(steps)).evaluate(prompt, {
      run: journal.run("r"),
      resources: [provide(Counter, counter())],
    });
    const entries = await listed(journal.entries("r"));
    const open = await cut(
      entries,
      placeOf(entries, ({ kind }) => kind === "committed"),
    );
    const failing = modelAdapter(scriptedModel([{ text: "Done." }])).evaluate(prompt, {
      run: open.run("r", { takeOver: true }),
      resources: [provide(Counter, counter())],
    });
    const error = await failing.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RunError);
    expect((error as RunError).reason).toBe("state");
    expect((error as RunError).message).toMatch(/the call c1 changed in "Counter"/u);
  });

  it("EFF-5 rows of a SQLite file that a kept call wrote are there once", async () => {
    const path = join(await folder(), "rows.sqlite");
    const insert = defineTool({
      name: "insert",
      description: "Inserts.",
      input: z.object({}),
      execute: (_input, { resources }) => void resources.get(SqliteDatabase).run("INSERT INTO rows VALUES (1)"),
    });
    const prompt = definePrompt({
      ns: "test",
      key: "rows",
      params: z.object({}),
      sections: [defineSection({ key: "task", text: "Insert.", tools: [insert] })],
    }).bind({});
    const database = () => sqliteResource(path, { migrate: ["CREATE TABLE rows (n)"] });
    const journal = memoryJournal();
    const steps: ScriptedStep[] = [{ toolCalls: [{ id: "c1", name: "insert" }] }, { text: "Done." }];
    await modelAdapter(scriptedModel(steps)).evaluate(prompt, { run: journal.run("r"), resources: [database()] });
    const entries = await listed(journal.entries("r"));
    for (let count = placeOf(entries, ({ kind }) => kind === "committed"); count < entries.length; count++) {
      const open = await cut(entries, count);
      await modelAdapter(scriptedModel([{ text: "Done." }])).evaluate(prompt, {
        run: open.run("r", { takeOver: true }),
        resources: [database()],
      });
    }
    const { DatabaseSync } = await import("node:sqlite");
    const rows = new DatabaseSync(path);
    expect(rows.prepare("SELECT count(*) AS n FROM rows").get()).toEqual({ n: 1 });
    rows.close();
  });
});
