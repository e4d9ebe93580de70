import {
  definePrompt,
  defineSection,
  defineTool,
  Filesystem,
  provide,
  resourceKey,
  RunError,
  type ToolContext,
} from "@proviso/core";
import { sqliteJournal, type SqliteJournal } from "@proviso/journal/node";
import { hostFilesystem, SqliteDatabase, SqliteError, sqliteResource } from "@proviso/node";
import { modelAdapter, openResources } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { folder, listed } from "./support.ts";

const migrate = ["CREATE TABLE rows (n INTEGER PRIMARY KEY)"];

async function opened(): Promise<{ readonly journal: SqliteJournal; readonly path: string }> {
  const path = join(await folder(), "runs.db");
  const journal = sqliteJournal(path);
  onTestFinished(() => journal.close());
  return { journal, path };
}

/** What another connection finds in the file: the rows, and the calls whose record says that they count. */
async function found(path: string) {
  const database = new DatabaseSync(path, { readOnly: true });
  const rows = database.prepare("SELECT n FROM rows ORDER BY n").all();
  database.close();
  await using other = sqliteJournal(path);
  const committed: string[] = [];
  for (const { id } of await listed(other.list()))
    for (const entry of await listed(other.entries(id)))
      if (entry.kind === "committed") committed.push(...entry.callIds);
  return { rows: rows.map(({ n }) => n), committed };
}

type Work = (n: number, insert: () => void, context: ToolContext) => unknown;

function insertPrompt(work: Work = (_, insert) => insert()) {
  const tool = defineTool({
    name: "insert",
    description: "Inserts.",
    input: z.object({ n: z.number() }),
    async execute({ n }, context) {
      const insert = (): void => void context.resources.get(SqliteDatabase).run("INSERT INTO rows VALUES (?)", n);
      await work(n, insert, context);
    },
  });
  const task = defineSection({ key: "task", text: "Insert.", tools: [tool] });
  return definePrompt({ ns: "test", key: "rows", params: z.object({}), sections: [task] }).bind({});
}

const call = (n: number): ScriptedStep => ({ toolCalls: [{ id: `c${n}`, name: "insert", arguments: { n } }] });
const done: ScriptedStep = { text: "Done." };
const adapterOf = (...steps: ScriptedStep[]) => modelAdapter(scriptedModel(steps));

it("RES-8 by its path the journal's file is refused: no script is run, and it stays a journal", async () => {
  const { journal, path } = await opened();
  await listed(journal.list());
  await expect(
    openResources([sqliteResource(path, { migrate: [...migrate, "CREATE TABLE more (id)"] })]),
  ).rejects.toThrow("is a database of something else");
  await using again = sqliteJournal(path);
  expect(await listed(again.list())).toEqual([]);
});

it("EFF-7 what a call changed in the journal's file and the record that it counts come in one commit", async () => {
  const { journal, path } = await opened();
  const before: unknown[] = [];
  const prompt = insertPrompt(async (n, insert) => {
    if (n === 2) before.push(await found(path));
    insert();
    before.push((await found(path)).committed);
  });
  await adapterOf(call(1), call(2), done).evaluate(prompt, {
    run: journal.run("r"),
    resources: [sqliteResource(journal, { migrate })],
  });
  expect(before).toEqual([[], { rows: [1], committed: ["c1"] }, ["c1"]]);
  expect(await found(path)).toEqual({ rows: [1, 2], committed: ["c1", "c2"] });
  expect((await listed(journal.entries("r"))).map(({ kind }) => kind)).not.toContain("finished");
});

it("EFF-7 a failed call leaves neither rows nor a record that it counts", async () => {
  const { journal, path } = await opened();
  const prompt = insertPrompt((n, insert) => {
    insert();
    if (n === 1) throw new Error("It failed.");
  });
  const { toolResults } = await adapterOf(call(1), call(2), done).evaluate(prompt, {
    run: journal.run("r"),
    resources: [sqliteResource(journal, { migrate })],
  });
  expect(toolResults.map(({ result }) => result.success)).toEqual([false, true]);
  expect(await found(path)).toEqual({ rows: [2], committed: ["c2"] });
});

it("EFF-7 a call whose record is refused is undone in the file as well, and others can use it", async () => {
  const { journal, path } = await opened();
  await using other = sqliteJournal(path);
  const prompt = insertPrompt(async (_, insert) => {
    await other.cancel("r");
    insert();
  });
  const resources = [sqliteResource(journal, { migrate })];
  const error = await adapterOf(call(1), done)
    .evaluate(prompt, { run: journal.run("r"), resources })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RunError);
  expect((error as RunError).reason).toBe("fenced");
  expect(await found(path)).toEqual({ rows: [], committed: [] });
  await adapterOf(call(1), done).evaluate(insertPrompt(), { run: journal.run("s"), resources });
  expect(await found(path)).toEqual({ rows: [1], committed: ["c1"] });
});

it("EFF-8 other runs wait while a call has a transaction open; what is evaluated inside that call does not", async () => {
  const { journal, path } = await opened();
  const resources = [sqliteResource(journal, { migrate })];
  const isOpen = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const noted: string[] = [];
  const note = defineTool({
    name: "note",
    description: "Notes.",
    input: z.object({}),
    uses: [],
    execute: () => void noted.push("noted"),
  });
  const inner = definePrompt({ key: "inner", sections: [{ key: "s", text: "Note.", tools: [note] }] }).bind();
  const prompt = insertPrompt(async (_, insert, context) => {
    insert();
    await context.evaluate(inner);
    isOpen.resolve();
    await goOn.promise;
  });
  const noting: ScriptedStep = { toolCalls: [{ id: "n1", name: "note", arguments: {} }] };
  await adapterOf(done).evaluate("Say done.", { run: journal.run("origin") });
  const first = adapterOf(call(1), noting, done, done).evaluate(prompt, { run: journal.run("first"), resources });
  await isOpen.promise;
  expect(noted).toEqual(["noted"]);
  let isEnded = false;
  const second = adapterOf(done)
    .evaluate("Say done.", { run: journal.run("second") })
    .then(() => void (isEnded = true));
  const fork = journal.fork("origin", { at: 0, id: "fork" });
  const third = adapterOf(done).evaluate("Say done.", { run: fork });
  const listedNow = async () => (await listed(journal.list())).map(({ id }) => id);
  expect((await listedNow()).toSorted()).toEqual(["first", "origin"]);
  expect(isEnded).toBe(false);
  goOn.resolve();
  await Promise.all([first, second, third]);
  expect((await listedNow()).toSorted()).toEqual(["first", "fork", "origin", "second"]);
  expect(await found(path)).toEqual({ rows: [1], committed: ["c1"] });
});

it("EFF-7 evaluations side by side share the file, each call by itself", async () => {
  const { journal, path } = await opened();
  const numbers = Array.from({ length: 8 }, (_, n) => n);
  await Promise.all(
    numbers.map(async (n) => {
      const prompt = insertPrompt(async (_, insert) => {
        insert();
        await Promise.resolve();
        if (n === 3) throw new Error("It failed.");
      });
      const resources = [sqliteResource(journal, { migrate })];
      await adapterOf(call(n), done).evaluate(prompt, { run: journal.run(`r${n}`), resources });
    }),
  );
  const { rows, committed } = await found(path);
  expect(rows).toEqual(numbers.filter((n) => n !== 3));
  expect(committed.toSorted()).toEqual(rows.map((n) => `c${String(n)}`));
});

it("EFF-5 EFF-7 beside another durable resource, the record has the call as finished in the same commit", async () => {
  const { journal, path } = await opened();
  const root = await folder();
  const prompt = insertPrompt(async (_, insert, { resources }) => {
    await resources.get(Filesystem).write("a", "x");
    insert();
  });
  const files = hostFilesystem(root);
  await adapterOf(call(1), done).evaluate(prompt, {
    run: journal.run("r"),
    resources: [provide(Filesystem, files), sqliteResource(journal, { migrate })],
  });
  const kinds = (await listed(journal.entries("r"))).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "finished" || kind === "committed")).toEqual(["finished", "committed"]);
  expect(await found(path)).toEqual({ rows: [1], committed: ["c1"] });
  expect((await files.read("a")).text).toBe("x");
});

it.each(["before", "after"])(
  "EFF-5 EFF-7 another durable resource commits when the record is kept, bound %s the journal's file",
  async (where) => {
    const { journal, path } = await opened();
    const found: unknown[] = [];
    const other = {
      durable: true as const,
      snapshot: () => 0,
      restore() {},
      release() {
        const database = new DatabaseSync(path, { readOnly: true });
        found.push(database.prepare("SELECT n FROM rows").all());
        database.close();
      },
    };
    const [key, rows] = [resourceKey<typeof other>("other"), sqliteResource(journal, { migrate })];
    const prompt = insertPrompt((_, insert, { resources }) => {
      resources.get(key);
      insert();
    });
    const resources = where === "before" ? [provide(key, other), rows] : [rows, provide(key, other)];
    await adapterOf(call(1), done).evaluate(prompt, { run: journal.run("r"), resources });
    expect(found).toEqual([[{ n: 1 }]]);
  },
);

it("EFF-7 the journal's own tables and settings are refused to tools", async () => {
  const { journal } = await opened();
  const refused: unknown[] = [];
  const prompt = insertPrompt((_, insert, { resources }) => {
    const database = resources.get(SqliteDatabase);
    for (const sql of [
      "DELETE FROM proviso_frames",
      'DROP TABLE "Proviso_Runs"',
      "PRAGMA user_version = 9",
      "pragma main.application_id(3)",
    ]) {
      try {
        database.exec(sql);
      } catch (error) {
        refused.push((error as SqliteError).reason);
      }
    }
    insert();
  });
  await adapterOf(call(1), done).evaluate(prompt, {
    run: journal.run("r"),
    resources: [sqliteResource(journal, { migrate })],
  });
  expect(refused).toEqual(["refused", "refused", "refused", "refused"]);
});

it("EFF-7 scripts of the schema are run once, also by another process, and counted beside the journal's version", async () => {
  const { journal, path } = await opened();
  const evaluated = async (by: SqliteJournal, run: string, scripts: readonly string[], n: number) => {
    const resources = [sqliteResource(by, { migrate: scripts })];
    await adapterOf(call(n), done).evaluate(insertPrompt(), { run: by.run(run), resources });
  };
  await evaluated(journal, "r", migrate, 1);
  await evaluated(journal, "s", migrate, 2);
  await using other = sqliteJournal(path);
  const more = [...migrate, "CREATE TABLE others (n)"];
  await evaluated(other, "t", more, 3);
  await expect(evaluated(journal, "u", migrate, 4)).rejects.toThrow(
    /The schema is of version 2, and this program knows 1/u,
  );
  expect((await found(path)).rows).toEqual([1, 2, 3]);
});
