import { RevokedError } from "@proviso/core";
import { createSession, createSnapshot, openResources, transaction } from "@proviso/runtime";
import { sqliteResource, type SqliteDatabase, type SqliteStatement } from "@proviso/node";
import { invokeTool } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { call, digest, memoryDatabase, nested, sqlTool, texts } from "./support.ts";

const add = (database: SqliteDatabase, text: string) => database.run("INSERT INTO notes (text) VALUES (?)", text);

test("RES-3 TX-1 what a failed call ran is undone: rows, tables, triggers and version", async () => {
  const database = memoryDatabase();
  const before = digest(database);
  const result = await call([sqliteResource(database)], (mine) => {
    add(mine, "second");
    mine.exec("UPDATE notes SET text = 'changed' WHERE id = 1; CREATE TABLE more (a); INSERT INTO more VALUES (1)");
    mine.exec("CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM more; END; PRAGMA user_version = 7");
    expect(mine.all("SELECT * FROM notes")).toHaveLength(2);
    throw new Error("no");
  });
  expect(result).toMatchObject({ success: false, message: "no" });
  expect(digest(database)).toBe(before);
  expect(database.isTransaction).toBe(false);
});

test("RES-3 TX-2 what a successful call ran stays, and comes back typed", async () => {
  const database = memoryDatabase();
  const result = await call([sqliteResource(database)], (mine) => {
    const { changes, lastInsertRowid } = add(mine, "second");
    const rows = mine.all<{ id: number; text: string }>("SELECT id, text FROM notes WHERE id > $least", { $least: 0 });
    const none = mine.get<{ id: number }>("SELECT id FROM notes WHERE id = ?", 9);
    return { changes, lastInsertRowid, texts: rows.map(({ text }) => text), none: none === undefined };
  });
  const value = { changes: 1, lastInsertRowid: 2, texts: ["first", "second"], none: true };
  expect(result).toMatchObject({ success: true, value });
  expect(texts(database)).toEqual(["first", "second"]);
  expect(database.isTransaction).toBe(false);
});

test("RES-3 TX-5 a call that could not be recorded is undone", async () => {
  const database = memoryDatabase();
  const session = createSession();
  session.on("tool.invoked", ({ result }) => {
    if (result.success) throw new Error("vetoed");
  });
  const resources = [sqliteResource(database)];
  const { result } = await invokeTool(
    sqlTool("work", (mine) => add(mine, "second")),
    {},
    { session, resources },
  );
  expect(result).toMatchObject({ success: false });
  expect(texts(database)).toEqual(["first"]);
});

test.each([
  ["inner and outer succeed", false, false, ["first", "before", "inner", "after"]],
  ["only the inner one fails", true, false, ["first", "before", "after"]],
  ["only the outer one fails", false, true, ["first"]],
  ["both fail", true, true, ["first"]],
])("RES-3 TX-8 calls inside calls nest: %s", async (_, innerFails, outerFails, left) => {
  const database = memoryDatabase();
  const result = await call([sqliteResource(database)], async (mine, context) => {
    add(mine, "before");
    const inner = await nested(context, (theirs) => {
      add(theirs, "inner");
      if (innerFails) throw new Error("inner");
    });
    expect(inner?.success).toBe(!innerFails);
    expect(mine.all("SELECT * FROM notes")).toHaveLength(innerFails ? 2 : 3);
    add(mine, "after");
    if (outerFails) throw new Error("outer");
  });
  expect(result.success).toBe(!outerFails);
  expect(texts(database)).toEqual(left);
});

test("RES-3 evaluations inside one call that overlap are undone each for itself", async () => {
  const database = memoryDatabase();
  const fails = (text: string) => async (mine: SqliteDatabase) => {
    add(mine, text);
    await Promise.resolve();
    throw new Error("no");
  };
  const result = await call([sqliteResource(database)], async (mine, context) => {
    add(mine, "outer");
    const inner = [
      nested(context, fails("a")),
      nested(context, (theirs) => add(theirs, "b")),
      nested(context, fails("c")),
    ];
    expect((await Promise.all(inner)).map((each) => each?.success)).toEqual([false, true, false]);
  });
  expect(result).toMatchObject({ success: true });
  expect(texts(database)).toEqual(["first", "outer", "b"]);
});

test("RES-3 a handler that does not touch the database begins no transaction, and one that does commits at its end", async () => {
  const database = memoryDatabase();
  const begun: boolean[] = [];
  await call([sqliteResource(database)], (mine) => {
    begun.push(database.isTransaction);
    add(mine, "second");
    begun.push(database.isTransaction);
  });
  expect([...begun, database.isTransaction]).toEqual([false, true, false]);
});

test("RES-3 TX-9 transaction undoes SQL, and a snapshot that outlives it is refused", async () => {
  const database = memoryDatabase();
  const binding = sqliteResource(database);
  await using resources = await openResources([binding]);
  const scope = { session: createSession(), resources };
  const mine = resources.get(binding.key);
  await transaction(scope, async (rollback) => {
    add(mine, "undone");
    await rollback();
    add(mine, "kept");
  });
  await expect(
    transaction(scope, async () => {
      add(mine, "thrown");
      throw new Error("no");
    }),
  ).rejects.toThrow("no");
  expect(texts(database)).toEqual(["first", "kept"]);
  await expect(createSnapshot(scope)).rejects.toMatchObject({ code: "not_supported" });
});

test("RES-5 TX-3 after its call a handle and its statements raise RevokedError", async () => {
  const database = memoryDatabase();
  const kept: { mine?: SqliteDatabase; statement?: SqliteStatement } = {};
  await call([sqliteResource(database)], (mine) => {
    kept.mine = mine;
    kept.statement = mine.prepare("INSERT INTO notes (text) VALUES (?)");
    kept.statement.run("second");
  });
  expect(() => kept.mine?.exec("DELETE FROM notes")).toThrow(RevokedError);
  expect(() => kept.mine?.get("SELECT 1")).toThrow(RevokedError);
  expect(() => kept.statement?.run("third")).toThrow(RevokedError);
  expect(texts(database)).toEqual(["first", "second"]);
});

test.each([
  "INSERT INTO notes (text) VALUES ('second')",
  "UPDATE notes SET text = 'x'",
  "WITH gone AS (SELECT id FROM notes) DELETE FROM notes WHERE id IN gone RETURNING id",
  "CREATE TABLE more (a)",
  "CREATE TEMP TABLE more (a)",
  "DROP TABLE notes",
  "PRAGMA user_version = 7",
  "ANALYZE",
])("RES-5 TOOL-6 a read-only call cannot run %s, whatever it makes of the error", async (sql) => {
  const database = memoryDatabase();
  const before = digest(database);
  const swallowing = (mine: SqliteDatabase) => {
    expect(mine.all("SELECT * FROM notes")).toHaveLength(1);
    try {
      mine.all(sql);
    } catch {}
    return "fine";
  };
  const result = await call([sqliteResource(database)], swallowing, true);
  expect(result).toMatchObject({ success: false, message: "work is read-only, but tried to change the database." });
  const inside = await call([sqliteResource(database)], (_, context) => nested(context, swallowing), true);
  expect(inside).toMatchObject({ success: true, value: { success: false } });
  expect(digest(database)).toBe(before);
  // Whoever may write can still do so.
  expect(await call([sqliteResource(database)], (mine) => add(mine, "second"))).toMatchObject({ success: true });
});

test("RES-3 two evaluations at the same time cannot both have an open database: they share a scope", async () => {
  const database = memoryDatabase();
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const first = call([sqliteResource(database)], async (mine) => {
    add(mine, "second");
    await held;
  });
  await expect(call([sqliteResource(database)], (mine) => add(mine, "third"))).rejects.toMatchObject({
    code: "render",
    cause: { code: "definition", message: expect.stringContaining("openResources") },
  });
  letGo();
  expect(await first).toMatchObject({ success: true });
  await using resources = await openResources([sqliteResource(database)]);
  const both = ["third", "fourth"].map((text) =>
    call(resources, async (mine) => {
      add(mine, text);
      await Promise.resolve();
      if (text === "third") throw new Error("no");
    }),
  );
  expect((await Promise.all(both)).map(({ success }) => success)).toEqual([false, true]);
  expect(texts(database)).toEqual(["first", "second", "fourth"]);
});
