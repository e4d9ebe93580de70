// A database that another connection has locked while it is opened.
import { deadlineIn, definePrompt } from "@proviso/core";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { modelAdapter, openResources } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../filesystem/temporary.ts";
import { schema } from "./support.ts";

afterEach(() => void vi.useRealTimers());

/** A file with the schema, of which another connection has the lock; `version`: how many scripts have run. */
async function locked({ version = 1 } = {}): Promise<{ readonly path: string; readonly other: DatabaseSync }> {
  const { root, close } = await temporaryFolder();
  const path = join(root, "notes.db");
  const other = new DatabaseSync(path);
  onTestFinished(() => {
    other.close();
    return close();
  });
  other.exec(`${version === 0 ? "" : schema} PRAGMA user_version = ${version}; BEGIN EXCLUSIVE; CREATE TABLE more (a)`);
  return { path, other };
}

test.each([
  ["a file whose schema is up to date", { version: 1 }, (path: string) => path],
  ["a file whose schema is to be made", { version: 0 }, (path: string) => path],
  ["a database that is open already", { version: 1 }, (path: string) => new DatabaseSync(path)],
])("RES-6 opening %s waits for a lock that passes, and the process goes on meanwhile", async (_, of, source) => {
  const { path, other } = await locked(of);
  const given = source(path);
  onTestFinished(() => void (typeof given === "string" || given.close()));
  const opening = openResources([sqliteResource(given, { migrate: [schema] })]);
  setTimeout(() => other.exec("COMMIT"), 100);
  await using opened = await opening;
  const notes = opened.get(SqliteDatabase);
  expect(notes.all("SELECT text FROM notes")).toEqual([{ text: "first" }]);
});

test.each([
  [undefined, 5_000],
  [8_000, 8_000],
])("RES-6 a lock that stays is given up after 5 s, or after a longer busyTimeoutMs: %s", async (busyTimeoutMs, ms) => {
  const { path } = await locked();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  let end: unknown;
  void openResources([sqliteResource(path, { migrate: [schema], busyTimeoutMs })]).then(
    () => (end = "opened"),
    (error: unknown) => (end = error),
  );
  await vi.advanceTimersByTimeAsync(ms - 100);
  expect(end).toBeUndefined();
  await vi.advanceTimersByTimeAsync(200);
  expect(end).toMatchObject({ name: "SqliteError", reason: "busy" });
});

test("RES-6 LIM-2 an evaluation whose deadline passes while it waits for the lock ends then", async () => {
  const { path, other } = await locked();
  const adapter = modelAdapter(scriptedModel([{ text: "Done." }]));
  const prompt = definePrompt({ key: "p", text: "Do it." }).bind();
  const resources = [sqliteResource(path, { migrate: [schema] })];
  await expect(adapter.evaluate(prompt, { resources, deadline: deadlineIn(50) })).rejects.toMatchObject({
    code: "deadline",
  });
  other.exec("COMMIT");
  // What is opened after that is closed: it keeps no lock, and no file open.
  const alone = "PRAGMA journal_mode = WAL; PRAGMA journal_mode = DELETE; DELETE FROM notes";
  await vi.waitFor(() => other.exec(alone), { timeout: 120_000 });
});
