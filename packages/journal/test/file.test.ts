import { DefinitionError } from "@proviso/core";
import { readFrames, sqliteStore } from "@proviso/journal/internal";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Frame } from "@proviso/journal";
import { folder, frame, framesOf, listed } from "./support.ts";

const { DatabaseSync } = process.getBuiltinModule("node:sqlite");

function opened(file: string, options?: Parameters<typeof sqliteStore>[1]) {
  const store = sqliteStore(file, options);
  onTestFinished(() => store.close());
  return store;
}

/** A connection of another program. */
function other(file: string) {
  const database = new DatabaseSync(file);
  onTestFinished(() => {
    if (database.isOpen) database.close();
  });
  return database;
}

test("JST-6 what was appended is there when the file is opened again", async () => {
  const file = join(await folder(), "a", "b", "runs.sqlite");
  const first = opened(file);
  await first.append([frame({ first: 0 }), frame({ first: 1 })]);
  await first.close();
  const second = opened(file);
  expect(await framesOf(second, "ada")).toEqual([frame({ first: 0 }), frame({ first: 1 })]);
  expect(await second.append([frame({ first: 2, writer: "two" })])).toEqual(["kept"]);
});

test("JST-6 two stores of one file see each other's frames, and the slower one is refused", async () => {
  const file = join(await folder(), "runs.sqlite");
  const [left, right] = [opened(file), opened(file)];
  await left.append([frame({ first: 0, writer: "left" })]);
  expect(await right.append([frame({ first: 1, writer: "right" })])).toEqual(["kept"]);
  expect(await left.append([frame({ first: 1, writer: "left" })])).toEqual(["fenced"]);
  expect(await framesOf(left, "ada")).toEqual(await framesOf(right, "ada"));
});

test("JST-3 a removed run leaves nothing in the file", async () => {
  const file = join(await folder(), "runs.sqlite");
  const store = opened(file);
  await store.append([frame({ first: 0 }), frame({ first: 1 }), frame({ run: "bob", first: 0 })]);
  await store.remove(["ada"]);
  const database = other(file);
  expect(database.prepare("SELECT body FROM proviso_frames").all()).toEqual([{ body: "entry 0" }]);
  expect(database.prepare("SELECT run FROM proviso_runs").all()).toEqual([{ run: "bob" }]);
});

test("JST-6 a call that fails in the middle keeps nothing", async () => {
  const file = join(await folder(), "runs.sqlite");
  const store = opened(file);
  await store.append([frame({ first: 0 })]);
  const bob = frame({ run: "bob", first: 0, body: "bob" });
  const database = other(file);
  database.exec(`CREATE TRIGGER fails BEFORE INSERT ON proviso_frames WHEN new.body = 'bob'
    BEGIN SELECT RAISE(ABORT, 'the disk says no'); END`);
  const appending = store.append([frame({ first: 1 }), bob]);
  const why = expect.stringContaining("the disk says no");
  await expect(appending).rejects.toMatchObject({ code: "journal", reason: "failed", message: why });
  expect(await listed(store.list())).toEqual([{ run: "ada", summary: frame({ first: 0 }).summary }]);
  expect(await framesOf(store, "ada")).toEqual([frame({ first: 0 })]);
  database.exec("DROP TRIGGER fails");
  expect(await store.append([frame({ first: 1 }), bob])).toEqual(["kept", "kept"]);
});

test("JST-3 a reader does not go on in another run of the same id", async () => {
  const file = join(await folder(), "runs.sqlite");
  const store = opened(file);
  const old = Array.from({ length: 100 }, (_, first) => frame({ first, body: "old" }));
  await store.append(old);
  const read: Frame[] = [];
  const reading = async (): Promise<void> => {
    for await (const one of readFrames(store, "ada")) {
      read.push(one);
      if (read.length > 1) continue;
      await store.remove(["ada"]);
      await store.append(old.map(({ first }) => frame({ first, body: "new" })));
    }
  };
  // What was read is a part of a run that is gone.
  await expect(reading()).rejects.toMatchObject({ reason: "not_found", run: "ada" });
  expect(new Set(read.map(({ body }) => body))).toEqual(new Set(["old"]));
});

test("JST-6 a lock of another process does not block this one, and ends in an error that says so", async () => {
  const file = join(await folder(), "runs.sqlite");
  const store = opened(file, { busyTimeoutMs: 100 });
  await store.append([frame({ first: 0 })]);
  const database = other(file);
  database.exec("BEGIN IMMEDIATE");
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const appending = store.append([frame({ first: 1 })]);
  await expect(appending).rejects.toMatchObject({ code: "journal", reason: "busy" });
  clearInterval(timer);
  expect(ticks).toBeGreaterThan(3);
  // Reading needs no lock.
  expect(await framesOf(store, "ada")).toHaveLength(1);
  database.exec("ROLLBACK");
  expect(await store.append([frame({ first: 1 })])).toEqual(["kept"]);
});

test.skipIf(process.platform === "win32")(
  "JST-7 a new file, and the ones beside it, are its owner's alone",
  async () => {
    const path = await folder();
    const store = opened(join(path, "runs.sqlite"));
    await store.append([frame({ first: 0 })]);
    const files = await readdir(path);
    expect(files.toSorted()).toEqual(["runs.sqlite", "runs.sqlite-shm", "runs.sqlite-wal"]);
    for (const name of files) expect((await stat(join(path, name))).mode & 0o777).toBe(0o600);
  },
);

test("JST-7 a file of something else is foreign and left alone", async () => {
  const path = await folder();
  const text = join(path, "notes.txt");
  await writeFile(text, "These are notes. ".repeat(100));
  const database = join(path, "other.sqlite");
  other(database).exec("CREATE TABLE notes (text TEXT)");
  for (const file of [text, database]) {
    const before = await readFile(file);
    expect(() => sqliteStore(file)).toThrow(expect.objectContaining({ code: "journal", reason: "foreign" }));
    expect(await readFile(file)).toEqual(before);
  }
  expect((await readdir(path)).toSorted()).toEqual(["notes.txt", "other.sqlite"]);
});

test("JST-7 a file of a newer version is left alone", async () => {
  const path = await folder();
  const file = join(path, "runs.sqlite");
  await opened(file).close();
  const database = other(file);
  database.exec("PRAGMA user_version = 2");
  database.close();
  const before = await readFile(file);
  expect(() => sqliteStore(file)).toThrow(expect.objectContaining({ code: "journal", reason: "newer" }));
  expect(await readFile(file)).toEqual(before);
});

test("JST-5 JST-7 a damaged row makes its own run unreadable and no other", async () => {
  const file = join(await folder(), "runs.sqlite");
  const store = opened(file);
  await store.append([frame({ first: 0 }), frame({ first: 1 }), frame({ run: "bob", first: 0 })]);
  other(file).exec("UPDATE proviso_frames SET body = 'entry 9' WHERE first = 1");
  await expect(listed(readFrames(store, "ada"))).rejects.toMatchObject({ reason: "damaged", run: "ada" });
  expect(await listed(readFrames(store, "bob"))).toHaveLength(1);
});

test.each<readonly [string, () => unknown]>([
  ["an empty path", () => sqliteStore("")],
  ["a database in memory", () => sqliteStore(":memory:")],
  ["a timeout below zero", () => sqliteStore("a.sqlite", { busyTimeoutMs: -1 })],
  ["an option that it does not have", () => sqliteStore("a.sqlite", { busyTimeout: 1 } as never)],
])("JST-7 %s is a mistake of the caller", (_what, make) => {
  expect(make).toThrow(DefinitionError);
});
