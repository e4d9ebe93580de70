import { DefinitionError, type Message } from "@proviso/core";
import { sqliteConversations, SqliteError } from "@proviso/node";
import { withConversation } from "@proviso/runtime";
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { fromSources } from "../../../../scripts/from-sources.ts";
import { folder } from "./support.ts";

const { DatabaseSync } = process.getBuiltinModule("node:sqlite");

const said = (text: string): Message => ({ role: "user", text });

/** A connection of another program. */
function other(file: string) {
  const database = new DatabaseSync(file);
  onTestFinished(() => {
    if (database.isOpen) database.close();
  });
  return database;
}

test("CNV-7 what was saved is there when the file is opened again", async () => {
  const file = join(await folder(), "a", "b", "talks.sqlite");
  {
    using store = sqliteConversations(file);
    await withConversation(store, "ada", (conversation) => conversation.keep([said("Hi.")]));
  }
  using store = sqliteConversations(file);
  expect(await withConversation(store, "ada", ({ messages }) => messages)).toEqual([said("Hi.")]);
  expect(await store.list()).toMatchObject([{ id: "ada", revision: 1 }]);
});

test.skipIf(process.platform === "win32")(
  "CNV-7 a new file, and the ones beside it, are its owner's alone",
  async () => {
    const path = await folder();
    using store = sqliteConversations(join(path, "talks.sqlite"));
    await withConversation(store, "ada", (conversation) => conversation.keep([said("Hi.")]));
    const files = await readdir(path);
    expect(files.toSorted()).toEqual(["talks.sqlite", "talks.sqlite-shm", "talks.sqlite-wal"]);
    for (const name of files) expect((await stat(join(path, name))).mode & 0o777).toBe(0o600);
  },
);

test("CNV-8 what was deleted or replaced is overwritten", async () => {
  const file = join(await folder(), "talks.sqlite");
  {
    using store = sqliteConversations(file);
    await withConversation(store, "kept", (conversation) => conversation.keep([said("stays here")]));
    await withConversation(store, "ada", (conversation) => conversation.keep([said("first word ".repeat(2_000))]));
    await withConversation(store, "ada", (conversation) => conversation.keep([said("short")]));
    await withConversation(store, "bob", (conversation) => conversation.keep([said("second word ".repeat(2_000))]));
    await store.delete("bob");
  }
  const bytes = await readFile(file, "latin1");
  expect(bytes).toContain("stays here");
  for (const gone of ["first word", "second word", "bob"]) expect(bytes).not.toContain(gone);
});

describe("CNV-7 a lock of another process", () => {
  test("CNV-7 is waited for, and this process goes on meanwhile", async () => {
    const file = join(await folder(), "talks.sqlite");
    using store = sqliteConversations(file);
    const holder = other(file);
    holder.exec("BEGIN IMMEDIATE");
    const writing = withConversation(store, "ada", (conversation) => conversation.keep([said("Hi.")]));
    await new Promise((resolve) => setTimeout(resolve, 100));
    holder.exec("COMMIT");
    await writing;
    expect(await store.load("ada")).toMatchObject({ revision: 1 });
  });

  test("CNV-7 does not stop this process: a statement that finds it returns at once", async () => {
    const file = join(await folder(), "talks.sqlite");
    using store = sqliteConversations(file, { busyTimeoutMs: 0 });
    other(file).exec("BEGIN IMMEDIATE");
    const stretches: number[] = [];
    for (let i = 0; i < 5; i++) {
      const begun = performance.now();
      const acquiring = store.acquire("ada", { token: "a", leaseMs: 1 });
      // The first try is over here; the processor may have been away in some of the five.
      stretches.push(performance.now() - begun);
      await expect(acquiring).rejects.toMatchObject({ reason: "busy" });
    }
    expect(Math.min(...stretches)).toBeLessThan(20);
  });

  test("CNV-7 that lasts is a SqliteError with the name of the file", async () => {
    const file = join(await folder(), "talks.sqlite");
    using store = sqliteConversations(file, { busyTimeoutMs: 20 });
    const holder = other(file);
    holder.exec("BEGIN IMMEDIATE");
    const error: unknown = await store.acquire("ada", { token: "a", leaseMs: 1 }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SqliteError);
    expect(error).toMatchObject({ reason: "busy", message: expect.stringContaining(file) });
    // Readers do not wait for it.
    expect(await store.load("ada")).toBeUndefined();
  });

  test("CNV-7 while the file is opened is no error: the first use opens it", async () => {
    const file = join(await folder(), "talks.sqlite");
    const holder = other(file);
    holder.exec("BEGIN EXCLUSIVE");
    using store = sqliteConversations(file);
    const loading = store.load("ada");
    await new Promise((resolve) => setTimeout(resolve, 30));
    holder.exec("ROLLBACK");
    holder.close();
    expect(await loading).toBeUndefined();
    await withConversation(store, "ada", (conversation) => conversation.keep([said("Hi.")]));
  });
});

describe("CNV-7 damaged rows", () => {
  test.each([
    ["a cut text", `UPDATE conversations SET body = substr(body, 1, 60) WHERE id = 'ada'`],
    ["an empty text", `UPDATE conversations SET body = '' WHERE id = 'ada'`],
    ["a text of something else", `UPDATE conversations SET body = '{"private":"geheim"}' WHERE id = 'ada'`],
    ["no JSON", `UPDATE conversations SET body = 'geheim' WHERE id = 'ada'`],
    ["half a character", `UPDATE conversations SET body = CAST(x'7b22c3' AS TEXT) WHERE id = 'ada'`],
  ])("CNV-7 %s is unreadable, is left as it is, and no other conversation suffers", async (_, sql) => {
    const file = join(await folder(), "talks.sqlite");
    using store = sqliteConversations(file);
    for (const id of ["ada", "bob"]) {
      await withConversation(store, id, (conversation) => conversation.keep([said("Hi, I am a user.")]));
    }
    const database = other(file);
    database.exec(sql);
    const row = (): unknown => database.prepare("SELECT hex(body) AS body FROM conversations WHERE id = 'ada'").get();
    const before = row();
    const error: unknown = await withConversation(store, "ada", () => {}).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "conversation", reason: "unreadable", conversationId: "ada" });
    expect(String(error)).not.toContain("geheim");
    expect(row()).toEqual(before);
    expect(await withConversation(store, "bob", ({ messages }) => messages)).toEqual([said("Hi, I am a user.")]);
    expect(await store.list()).toHaveLength(2);
    expect(await store.delete("ada")).toBe(true);
    await withConversation(store, "ada", (conversation) => conversation.keep([said("Again.")]));
  });
});

describe("CNV-7 a file that is not ours is refused by name, and left alone", () => {
  const database = (file: string, sql: string): void => {
    const made = new DatabaseSync(file);
    made.exec(sql);
    made.close();
  };
  const wrong: Readonly<Record<string, readonly [says: string, make: (file: string) => Promise<void> | void]>> = {
    text: ["not a database", (file) => writeFile(file, "Not a database.")],
    "another database": ["something else", (file) => database(file, "CREATE TABLE notes (text TEXT)")],
    "another database in WAL mode": [
      "something else",
      (file) => database(file, "PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT)"),
    ],
    "an application's database": ["something else", (file) => database(file, "PRAGMA application_id = 7; VACUUM")],
    "a newer version": [
      "version 2",
      (file) => {
        sqliteConversations(file).close();
        database(file, "PRAGMA journal_mode = DELETE; PRAGMA user_version = 2");
      },
    ],
    "a file without its tables": [
      "cannot be opened: no such table",
      (file) => {
        sqliteConversations(file).close();
        database(file, "PRAGMA journal_mode = DELETE; DROP TABLE leases");
      },
    ],
  };
  test.each(Object.entries(wrong))("CNV-7 %s", async (_, [says, make]) => {
    const path = await folder();
    const file = join(path, "talks.sqlite");
    await make(file);
    const before = await readFile(file);
    const opening = (): unknown => sqliteConversations(file);
    expect(opening).toThrow(DefinitionError);
    expect(opening).toThrow(file);
    expect(opening).toThrow(says);
    expect((await readFile(file)).equals(before)).toBe(true);
    expect(await readdir(path)).toEqual(["talks.sqlite"]);
  });

  test("CNV-7 a folder, and what is no path or option", async () => {
    const path = await folder();
    await mkdir(join(path, "talks.sqlite"));
    expect(() => sqliteConversations(join(path, "talks.sqlite"))).toThrow(join(path, "talks.sqlite"));
    for (const given of ["", ":memory:", "a\0b", undefined])
      expect(() => sqliteConversations(given as never)).toThrow(DefinitionError);
    for (const busyTimeoutMs of [-1, 0.5, Number.NaN, "5"])
      expect(() => sqliteConversations(join(path, "b"), { busyTimeoutMs: busyTimeoutMs as never })).toThrow(
        "busyTimeoutMs",
      );
    expect(() => sqliteConversations(join(path, "b"), { timeout: 5 } as never)).toThrow("no option timeout");
  });
});

test("CNV-7 a closed store says so", async () => {
  const store = sqliteConversations(join(await folder(), "talks.sqlite"));
  store.close();
  store.close();
  await expect(store.load("ada")).rejects.toThrow("is closed");
  await expect(withConversation(store, "ada", () => {})).rejects.toThrow("is closed");
});

test("CNV-7 node:sqlite is loaded when a store is made, not before", async () => {
  const program = `
    const loaded = () => process.moduleLoadList.includes("NativeModule sqlite") || process.moduleLoadList.includes("Internal Binding sqlite");
    await import("@proviso/runtime");
    const { sqliteConversations } = await import("@proviso/node");
    const before = loaded();
    sqliteConversations(process.env.TALKS_FILE).close();
    console.log(JSON.stringify([before, loaded()]));
  `;
  const args = [...fromSources, "--input-type=module", "--eval", program];
  const env = { ...process.env, TALKS_FILE: join(await folder(), "talks.sqlite") };
  const cwd = join(import.meta.dirname, "..", "..");
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env });
  expect(JSON.parse(stdout)).toEqual([false, true]);
});
