import { openSqliteStore, type SqliteStoreOptions } from "@proviso/journal/internal";
import { fakeClock } from "@proviso/runtime/testing";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { folder, frame, framesOf } from "./support.ts";

async function opened(options: SqliteStoreOptions = {}) {
  const file = join(await folder(), "runs.sqlite");
  const { store, lent } = openSqliteStore(file, options);
  onTestFinished(() => store.close());
  return { file, store, lent };
}

test("EFF-8 what is appended while a call has its transaction open is kept after that", async () => {
  const { store, lent } = await opened();
  lent.begin(0);
  const appending = store.append([frame({ first: 0 })]);
  expect(await framesOf(store, "ada")).toEqual([]);
  lent.commit();
  expect(await appending).toEqual(["kept"]);
  expect(await framesOf(store, "ada")).toEqual([frame({ first: 0 })]);
});

test("EFF-8 an append that waits for a call longer than 5 s is busy, and keeps nothing", async () => {
  const clock = fakeClock();
  const { store, lent } = await opened({ clock });
  lent.begin(0);
  const appending = store.append([frame({ first: 0 })]);
  let isRefused = false;
  const refused = expect(appending)
    .rejects.toMatchObject({ code: "journal", reason: "busy" })
    .then(() => (isRefused = true));
  await clock.advance(4_999);
  expect(isRefused).toBe(false);
  await clock.advance(1);
  expect(isRefused).toBe(true);
  await refused;
  lent.rollBack();
  expect(await framesOf(store, "ada")).toEqual([]);
});

test("EFF-8 an append that waits for another process is kept before a call begins its transaction, and once", async () => {
  const { file, store, lent } = await opened();
  const other = new DatabaseSync(file);
  other.exec("BEGIN IMMEDIATE");
  const appending = store.append([frame({ first: 0 })]);
  other.exec("ROLLBACK");
  lent.begin(0);
  // Another connection finds it in the file already.
  expect(other.prepare("SELECT count(*) AS n FROM proviso_frames").get()).toEqual({ n: 1 });
  other.close();
  lent.rollBack();
  expect(await appending).toEqual(["kept"]);
  expect(await framesOf(store, "ada")).toEqual([frame({ first: 0 })]);
});

test("EFF-7 a frame that was written into a transaction is read after its commit, and lost with it", async () => {
  const { store, lent } = await opened();
  const lost: unknown[] = [];
  lent.begin(0);
  expect(lent.writeInside(frame({ first: 0 }), (cause) => lost.push(cause))).toBe("kept");
  const reading = framesOf(store, "ada");
  lent.rollBack();
  expect(await reading).toEqual([]);
  expect(lost).toHaveLength(1);
  lent.begin(0);
  expect(lent.writeInside(frame({ first: 0 }), (cause) => lost.push(cause))).toBe("kept");
  lent.commit();
  lent.rollBack();
  expect(lost).toHaveLength(1);
  expect(await framesOf(store, "ada")).toEqual([frame({ first: 0 })]);
});

test("EFF-7 a call that finds the lock of another process does not begin", async () => {
  const { file, store, lent } = await opened();
  const other = new DatabaseSync(file);
  other.exec("BEGIN IMMEDIATE");
  expect(() => lent.begin(0)).toThrow(/locked/u);
  expect(lent.isLent()).toBe(false);
  other.close();
  expect(await store.append([frame({ first: 0 })])).toEqual(["kept"]);
});
