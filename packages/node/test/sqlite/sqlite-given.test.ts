import { openResources } from "@proviso/runtime";
import { sqliteResource } from "@proviso/node";
import { DatabaseSync, type DatabaseSyncOptions } from "node:sqlite";
import { expect, test } from "vitest";
import { call, schema, texts } from "./support.ts";

const add = "INSERT INTO notes (text) VALUES ('more')";

/** Ways in which a program may have its rows. Node 24.4 has them all; an earlier one passes over what it does not know. */
const shapes: readonly DatabaseSyncOptions[] = [{}, { readBigInts: true }, { returnArrays: true }];

test.each(shapes)("RES-5 a read-only call writes nothing to a database that was opened with %o", async (options) => {
  const database = new DatabaseSync(":memory:", options);
  database.exec(schema);
  expect(await call([sqliteResource(database)], (mine) => mine.run(add), true)).toMatchObject({
    success: false,
    message: expect.stringContaining("read-only"),
  });
  expect(JSON.stringify(database.prepare("SELECT text FROM notes").all())).not.toContain("more");
});

test.each(shapes)("RES-4 RES-8 of a database opened with %o the schema is judged and made once", async (options) => {
  const database = new DatabaseSync(":memory:", options);
  for (let time = 0; time < 2; time++) {
    expect(await call([sqliteResource(database, { migrate: [schema] })], () => 1)).toMatchObject({ success: true });
  }
  database.exec("CREATE TABLE late (id UNIQUE ON CONFLICT ROLLBACK)");
  await expect(call([sqliteResource(database)], () => 1)).rejects.toMatchObject({ cause: { reason: "refused" } });
});

test.each([
  "CREATE TABLE more (id); COMMIT; CREATE TABLE most (id)",
  "END",
  "ROLLBACK; CREATE TABLE more (id)",
  "/* a dump */ BEGIN TRANSACTION; CREATE TABLE more (id)",
])("RES-8 a script that would end the transaction of all scripts is refused: %s", (script) => {
  expect(() => sqliteResource(":memory:", { migrate: [schema, script] })).toThrow(
    expect.objectContaining({ name: "DefinitionError", message: expect.stringContaining("migrate[1]") }) as Error,
  );
});

test("RES-8 a trigger's BEGIN and END are no transaction's", async () => {
  const trigger = "CREATE TRIGGER twice AFTER DELETE ON notes BEGIN INSERT INTO notes VALUES (old.id, 'back'); END;";
  const database = new DatabaseSync(":memory:");
  await using resources = await openResources([sqliteResource(database, { migrate: [schema, trigger] })]);
  await call(resources, (mine) => mine.run("DELETE FROM notes"));
  expect(texts(database)).toEqual(["back"]);
});

test.each([
  [() => sqliteResource(undefined as unknown as string), "path"],
  [() => sqliteResource(new URL("file:///notes.db") as unknown as string), "path"],
  [() => sqliteResource("notes\0.db"), "NUL"],
  [() => sqliteResource(":memory:", { migrate: "CREATE TABLE notes (id)" as unknown as readonly string[] }), "migrate"],
  [() => sqliteResource(":memory:", { migrate: [1 as unknown as string] }), "migrate"],
])("RES-8 what is no database and what is no list of scripts are DefinitionErrors", (make, named) => {
  expect(make).toThrow(
    expect.objectContaining({ name: "DefinitionError", message: expect.stringContaining(named) }) as Error,
  );
});
