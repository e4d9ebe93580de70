import { openResources } from "@proviso/runtime";
import { sqliteResource, type SqliteDatabase } from "@proviso/node";
import { spawn, type ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../filesystem/temporary.ts";
import { call, digest, memoryDatabase, nested, schema, texts } from "./support.ts";
import { fromSources } from "../../../../scripts/from-sources.ts";

const add = (database: SqliteDatabase, text: string) => database.run("INSERT INTO notes (text) VALUES (?)", text);

async function file(): Promise<string> {
  const { root, close } = await temporaryFolder();
  onTestFinished(close);
  return join(root, "notes.db");
}

/** Another process that holds the database. */
async function holder(path: string, how: "raw" | "call"): Promise<ChildProcess> {
  const script = join(import.meta.dirname, "processes/holder.ts");
  const child = spawn(process.execPath, [...fromSources, script, path, how], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once("data", () => resolve());
    child.once("exit", (code) => reject(new Error(`The holder ended with ${code}.`)));
  });
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}

function read<T>(path: string, work: (database: DatabaseSync) => T): T {
  using database = new DatabaseSync(path);
  return work(database);
}

test("RES-6 while another process holds the lock a call fails in time and loses nothing, then it goes on", async () => {
  const path = await file();
  const binding = sqliteResource(path, { migrate: [schema] });
  await call([binding], (mine) => add(mine, "second"));
  await using opened = await openResources([sqliteResource(path, { busyTimeoutMs: 100 })]);
  const child = await holder(path, "raw");
  let thrown: unknown;
  const result = await call(opened, (mine) => {
    try {
      add(mine, "third");
    } catch (error) {
      thrown = error;
      throw error;
    }
  });
  expect(result).toMatchObject({ success: false, message: expect.stringContaining("locked by another connection") });
  expect(thrown).toMatchObject({ name: "SqliteError", reason: "busy" });
  await kill(child);
  expect(await call([binding], (mine) => add(mine, "third"))).toMatchObject({ success: true });
  expect(read(path, texts)).toEqual(["first", "second", "third"]);
});

test("RES-6 a lock that comes between two calls fails the later one with its reason", async () => {
  const path = await file();
  using other = new DatabaseSync(path);
  other.exec(schema);
  using mine = new DatabaseSync(path, { timeout: 20 });
  const binding = sqliteResource(mine);
  const faults: unknown[] = [];
  const result = await call([binding], (database) => {
    other.exec("BEGIN IMMEDIATE");
    for (const work of [() => add(database, "second"), () => database.get("SELECT 1")]) {
      try {
        work();
      } catch (error) {
        faults.push(error);
      }
    }
    throw faults[0];
  });
  expect(faults).toEqual([expect.objectContaining({ reason: "busy" }), expect.objectContaining({ reason: "busy" })]);
  expect(result).toMatchObject({ success: false });
  other.exec("ROLLBACK");
  expect(await call([binding], (database) => add(database, "second"))).toMatchObject({ success: true });
  expect(texts(other)).toEqual(["first", "second"]);
});

test("RES-6 another reader fails a call in its handler, not at the commit after the call was reported as done", async () => {
  const path = await file();
  using other = new DatabaseSync(path);
  other.exec(schema);
  using reading = new DatabaseSync(path);
  const binding = sqliteResource(path);
  const result = await call([binding], (mine) => {
    reading.exec("BEGIN");
    reading.prepare("SELECT * FROM notes").all();
    return add(mine, "second");
  });
  expect(result).toMatchObject({ success: false, message: expect.stringContaining("locked by another connection") });
  // Both read at the same time.
  expect(await call([binding], (mine) => mine.all("SELECT text FROM notes"), true)).toMatchObject({ success: true });
  reading.exec("ROLLBACK");
  expect(await call([binding], (mine) => add(mine, "second"))).toMatchObject({ success: true });
  expect(texts(other)).toEqual(["first", "second"]);
});

test("RES-3 TX-4 a file that is opened for the evaluation is as before after a failed call", async () => {
  const path = await file();
  const binding = sqliteResource(path, { migrate: [schema] });
  const result = await call([binding], (mine) => {
    add(mine, "second");
    throw new Error("no");
  });
  expect(result).toMatchObject({ success: false });
  expect(read(path, texts)).toEqual(["first"]);
});

test("RES-6 a file that is no database is reported when it is opened, and left alone", async () => {
  const path = await file();
  await writeFile(path, "This is a letter, not a database. ".repeat(50));
  await expect(call([sqliteResource(path)], () => 1)).rejects.toMatchObject({
    code: "render",
    cause: { name: "SqliteError", reason: "not_a_database", message: expect.stringContaining(path) },
  });
  await expect(call([sqliteResource(join(path, "below/it.db"))], () => 1)).rejects.toMatchObject({
    cause: { name: "SqliteError", reason: "cannot_open" },
  });
});

test("RES-6 a database that was opened to be read is read, and a change is refused", async () => {
  const path = await file();
  read(path, (database) => database.exec(schema));
  using opened = new DatabaseSync(path, { readOnly: true });
  using limited = memoryDatabase();
  limited.exec("PRAGMA query_only = 1");
  for (const database of [opened, limited]) {
    for (const readOnly of [false, true]) {
      const result = await call([sqliteResource(database)], (mine) => mine.all("SELECT text FROM notes"), readOnly);
      expect(result).toMatchObject({ success: true, value: [{ text: "first" }] });
    }
    const refused = await call([sqliteResource(database)], (mine) => add(mine, "second"));
    expect(refused).toMatchObject({ success: false, message: expect.stringContaining("can only be read") });
    expect(texts(database)).toEqual(["first"]);
  }
  expect(limited.prepare("PRAGMA query_only").get()).toEqual({ query_only: 1 });
});

test("RES-6 a full database is reported, and the whole call is undone", async () => {
  const database = memoryDatabase();
  database.exec("PRAGMA max_page_count = 20");
  const before = digest(database);
  let reason: unknown;
  const result = await call([sqliteResource(database)], (mine) => {
    add(mine, "second");
    try {
      for (let row = 0; row < 100; row++) add(mine, `${row} ${"x".repeat(2_000)}`);
    } catch (error) {
      ({ reason } = error as { reason?: unknown });
      throw error;
    }
  });
  expect(reason).toBe("full");
  expect(result).toMatchObject({ success: false, message: expect.stringContaining("The database is full") });
  expect(digest(database)).toBe(before);
  expect(await call([sqliteResource(database)], (mine) => add(mine, "small"))).toMatchObject({ success: true });
});

test("RES-6 when SQLite takes the transaction back by itself no call that ran something in it succeeds", async () => {
  const database = memoryDatabase();
  await using resources = await openResources([sqliteResource(database)]);
  // Made behind the resource's back, so that it was not refused.
  database.exec("CREATE TABLE strict (a UNIQUE ON CONFLICT ROLLBACK); INSERT INTO strict VALUES (1)");
  const before = digest(database);
  const reasons: unknown[] = [];
  const swallowed = (work: () => unknown): void => {
    try {
      work();
    } catch (error) {
      reasons.push((error as { reason?: unknown }).reason);
    }
  };
  const result = await call(resources, async (mine, context) => {
    add(mine, "outer");
    const inner = await nested(context, (theirs) => {
      add(theirs, "inner");
      swallowed(() => theirs.run("INSERT INTO strict VALUES (1)"));
      swallowed(() => add(theirs, "later"));
    });
    expect(inner).toMatchObject({ success: false });
    swallowed(() => add(mine, "after"));
  });
  expect(reasons).toEqual(["constraint", "undone", "undone"]);
  expect(result).toMatchObject({ success: false, message: expect.stringContaining("taken back all changes") });
  expect(digest(database)).toBe(before);
  expect(await call(resources, (mine) => add(mine, "next"))).toMatchObject({ success: true });
});

test("RES-6 a commit that fails is reported by every later use, and the lock is let go", async () => {
  const database = memoryDatabase("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)");
  await using resources = await openResources([sqliteResource(database)]);
  database.exec("CREATE TABLE late (a REFERENCES notes DEFERRABLE INITIALLY DEFERRED)");
  const lost = call(resources, (mine) => mine.run("INSERT INTO late VALUES (9)"));
  await expect(lost).rejects.toMatchObject({ code: "restore", faults: [{ operation: "commit" }] });
  expect(database.prepare("SELECT * FROM late").all()).toEqual([]);
  expect(database.isTransaction).toBe(false);
  expect(await call(resources, () => 1)).toMatchObject({
    success: false,
    message: expect.stringContaining("could not be committed"),
  });
});

test("RES-7 of a process killed in its second call, the first call stays and the second is undone", async () => {
  const path = await file();
  read(path, (database) => database.exec(schema));
  await kill(await holder(path, "call"));
  const binding = sqliteResource(path);
  expect(await call([binding], (mine) => add(mine, "next"))).toMatchObject({ success: true });
  expect(read(path, texts)).toEqual(["first", "committed", "next"]);
  expect(read(path, digest)).not.toContain("more");
});

test("RES-8 scripts are run once each, all of them or none, and a later schema is refused", async () => {
  const path = await file();
  const more = "ALTER TABLE notes ADD COLUMN done INTEGER NOT NULL DEFAULT 0";
  await call([sqliteResource(path, { migrate: [schema] })], (mine) => add(mine, "second"));
  const before = read(path, digest);
  await expect(call([sqliteResource(path, { migrate: [schema, more, "NO SQL"] })], () => 1)).rejects.toMatchObject({
    cause: { name: "SqliteError", reason: "failed" },
  });
  expect(read(path, digest)).toBe(before);
  for (let time = 0; time < 2; time++) {
    const done = await call([sqliteResource(path, { migrate: [schema, more] })], (mine) =>
      mine.get("SELECT done FROM notes"),
    );
    expect(done).toMatchObject({ success: true, value: { done: 0 } });
  }
  await expect(call([sqliteResource(path, { migrate: [schema] })], () => 1)).rejects.toMatchObject({
    cause: { name: "SqliteError", reason: "newer" },
  });
});

test.each([
  [() => sqliteResource(""), "path"],
  [() => sqliteResource(":memory:", { busyTimeoutMs: -1 }), "busyTimeoutMs"],
  [() => sqliteResource(":memory:", { busyTimeoutMs: Number.NaN }), "busyTimeoutMs"],
])("RES-8 wrong options are DefinitionErrors", (make, named) => {
  expect(make).toThrow(
    expect.objectContaining({ name: "DefinitionError", message: expect.stringContaining(named) }) as Error,
  );
});

test("RES-8 a path is of the folder in which it was bound", async () => {
  const { root, close } = await temporaryFolder();
  const before = process.cwd();
  onTestFinished(close);
  onTestFinished(() => process.chdir(before));
  process.chdir(root);
  const binding = sqliteResource("notes.db", { migrate: [schema] });
  process.chdir(before);
  await call([binding], (mine) => add(mine, "second"));
  expect(read(join(root, "notes.db"), texts)).toEqual(["first", "second"]);
});

test("RES-8 no import loads node:sqlite, opening a database does", async () => {
  const entries = ["runtime", "node", "runtime/testing"].map((entry) => `await import("@proviso/${entry}");`);
  const program = `
    const isLoaded = () => process.moduleLoadList.some((name) => name.endsWith(" sqlite"));
    ${entries.join("\n")}
    const before = isLoaded();
    const { sqliteResource } = await import("@proviso/node");
    const { openResources } = await import("@proviso/runtime");
    await using opened = await openResources([sqliteResource(":memory:")]);
    console.log(before, isLoaded());`;
  const child = spawn(process.execPath, [...fromSources, "--input-type=module-typescript", "--eval", program], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  child.stdout.on("data", (data: Buffer) => (printed += data.toString()));
  await new Promise((resolve) => child.once("close", resolve));
  expect(printed).toBe("false true\n");
});
