import { openResources, readConversation, withConversation } from "@proviso/runtime";
import { sqliteConversations, sqliteResource, sqliteUsageStore, type SqliteDatabase } from "@proviso/node";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../filesystem/temporary.ts";
import { call, schema, texts } from "./support.ts";

const add = (database: SqliteDatabase, text: string) => database.run("INSERT INTO notes (text) VALUES (?)", text);

async function file(): Promise<string> {
  const { root, close } = await temporaryFolder();
  onTestFinished(close);
  return join(root, "notes.db");
}

function read<T>(path: string, work: (database: DatabaseSync) => T): T {
  using database = new DatabaseSync(path);
  return work(database);
}

test("RES-8 no script is run on a file of conversations, which stays as it was", async () => {
  const path = await file();
  using store = sqliteConversations(path);
  await withConversation(store, "ada", ({ keep }) => keep([{ role: "user", text: "Remember me." }]));
  const kept = (database: DatabaseSync): unknown => [
    database.prepare("SELECT name FROM sqlite_schema").all(),
    database.prepare("PRAGMA user_version").get(),
  ];
  const before = read(path, kept);
  // Of as many scripts as the version of the store's own schema, and of more.
  for (const migrate of [[schema], [schema, "CREATE TABLE more (id)"]]) {
    await expect(openResources([sqliteResource(path, { migrate })])).rejects.toMatchObject({
      name: "SqliteError",
      reason: "refused",
      message: `The database ${path} is a database of something else, and its user_version counts no scripts. It was left alone.`,
    });
  }
  const open = new DatabaseSync(path);
  await expect(openResources([sqliteResource(open, { migrate: [schema] })])).rejects.toMatchObject({
    reason: "refused",
    message: expect.stringContaining("something else") as string,
  });
  open.close();
  expect(read(path, kept)).toEqual(before);
  using again = sqliteConversations(path);
  expect((await readConversation(again, "ada", { slices: [] }))?.messages).toHaveLength(1);
});

test("RES-8 a file of usage is refused too; one with a program's own application_id is the program's", async () => {
  const usage = await file();
  sqliteUsageStore(usage).close();
  await expect(openResources([sqliteResource(usage, { migrate: [schema] })])).rejects.toMatchObject({
    reason: "refused",
  });
  const own = await file();
  const migrate = ["PRAGMA application_id = 1196437808", schema];
  await call([sqliteResource(own, { migrate })], (mine) => add(mine, "second"));
  await call([sqliteResource(own, { migrate: [...migrate, "CREATE TABLE more (id)"] })], (mine) => add(mine, "third"));
  expect(read(own, texts)).toEqual(["first", "second", "third"]);
});
