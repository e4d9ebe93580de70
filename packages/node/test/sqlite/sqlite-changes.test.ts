import {
  definePrompt,
  isSnapshotable,
  type Observer,
  type ResourceChange,
  type Resources,
  type Snapshotable,
} from "@proviso/core";
import { sqliteResource, type SqliteDatabase } from "@proviso/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import { expect, inject, test } from "vitest";
import { sqlTool } from "./support.ts";

type Opened = SqliteDatabase & Snapshotable<object>;

function opened(database: DatabaseSync): Opened {
  const made: unknown = sqliteResource(database).create({} as Resources);
  expect(isSnapshotable(made)).toBe(true);
  return made as Opened;
}

const tables = `
  CREATE TABLE plain (id INTEGER PRIMARY KEY, value TEXT);
  CREATE TABLE keyed (name TEXT NOT NULL, part BLOB NOT NULL, value REAL, PRIMARY KEY (name, part)) WITHOUT ROWID;
  CREATE TABLE copies (id INTEGER PRIMARY KEY AUTOINCREMENT, of INTEGER REFERENCES plain (id) ON DELETE CASCADE);
  CREATE TRIGGER copied AFTER INSERT ON plain WHEN new.id % 2 = 0 BEGIN INSERT INTO copies (of) VALUES (new.id); END;
  INSERT INTO plain VALUES (1, 'a'), (2, 'b'), (3, NULL);
  INSERT INTO keyed VALUES ('ü', x'00ff', 1.5);
`;

/** All rows by the path that a change of them has. */
function rowsOf(database: DatabaseSync): ReadonlyMap<string, string> {
  const rows = new Map<string, string>();
  const add = (path: string, row: object) =>
    rows.set(
      path,
      JSON.stringify(Object.values(row).map((value) => (value instanceof Uint8Array ? [...value] : value))),
    );
  for (const table of ["plain", "copies"]) {
    for (const row of database.prepare(`SELECT * FROM ${table}`).all()) add(`${table}#${String(row["id"])}`, row);
  }
  for (const row of database.prepare("SELECT * FROM keyed").all()) {
    add(`keyed#${String(row["name"])},x'${Buffer.from(row["part"] as Uint8Array).toString("hex")}'`, row);
  }
  return rows;
}

function compared(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly ResourceChange[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])];
  return paths
    .filter((path) => before.get(path) !== after.get(path))
    .map((path) => ({ path, kind: !before.has(path) ? "added" : !after.has(path) ? "removed" : "changed" }));
}

function inOrder(changes: readonly ResourceChange[] = []): readonly ResourceChange[] {
  return changes.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

const id = fc.nat({ max: 6 });
const value = fc.constantFrom("NULL", "'a'", "'b'", "''");
const statement = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(id, value).map(([n, text]) => `INSERT OR REPLACE INTO plain VALUES (${n}, ${text})`),
  },
  { weight: 4, arbitrary: fc.tuple(id, value).map(([n, text]) => `UPDATE plain SET value = ${text} WHERE id >= ${n}`) },
  fc.tuple(id, id).map(([n, m]) => `UPDATE OR IGNORE plain SET id = ${m} WHERE id = ${n}`),
  id.map((n) => `DELETE FROM plain WHERE id = ${n}`),
  fc.constant("DELETE FROM plain"),
  fc.constant("INSERT INTO plain VALUES (1, 'twice')"),
  id.map((n) => `INSERT OR REPLACE INTO keyed VALUES ('n', zeroblob(${n}), ${n} / 2.0)`),
  fc.constant("DELETE FROM keyed"),
);
const step = fc.oneof(
  { weight: 6, arbitrary: statement.map((sql) => ({ kind: "run" as const, sql })) },
  { weight: 2, arbitrary: fc.constant({ kind: "snapshot" as const }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("restore" as const, "release" as const), which: id }) },
);

test("OBS-9 what a database says of any statements is what a comparison of the rows before and after finds", () => {
  let counted = 0;
  const property = fc.property(fc.array(step, { minLength: 15, maxLength: 60, size: "max" }), (steps) => {
    using database = new DatabaseSync(":memory:");
    database.exec(tables);
    const mine = opened(database);
    let marks: { readonly snapshot: object; rows: ReadonlyMap<string, string> }[] = [];
    for (const given of steps) {
      if (given.kind === "snapshot") {
        marks.push({ snapshot: mine.snapshot({ observed: true }) as object, rows: rowsOf(database) });
      } else if (given.kind === "run") {
        try {
          mine.exec(given.sql);
        } catch {
          // A constraint: the statement is undone.
        }
      } else {
        const at = given.which % Math.max(1, marks.length);
        const mark = marks[at];
        if (mark === undefined) continue;
        if (given.kind === "release") {
          void mine.release?.(mark.snapshot);
          marks.splice(at, 1);
        } else {
          void mine.restore(mark.snapshot);
          // The newer ones stand for the same state from then on.
          marks = marks.map((each, place) => (place > at ? { ...each, rows: mark.rows } : each));
        }
      }
      for (const { snapshot, rows } of marks) {
        const changes = mine.changesSince?.(snapshot);
        expect(inOrder(changes)).toEqual(inOrder(compared(rows, rowsOf(database))));
        counted += changes?.length ?? 0;
      }
    }
    for (const { snapshot } of marks) void mine.release?.(snapshot);
  });
  fc.assert(property, { seed: 20_261_124, numRuns: inject("exhaustive") ? 1000 : 100 });
  expect(counted).toBeGreaterThan(500);
});

test("OBS-9 more than 1,000 rows are 999 and one of path …, and a key is cut", () => {
  using database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE many (id TEXT PRIMARY KEY NOT NULL)");
  const mine = opened(database);
  const snapshot = mine.snapshot({ observed: true }) as object;
  const add = (from: number, to: number) =>
    mine.exec(
      `WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${to}) INSERT INTO many SELECT 'k' || i FROM n`,
    );
  add(1, 1000);
  expect(mine.changesSince?.(snapshot)).toHaveLength(1000);
  expect(mine.changesSince?.(snapshot)?.some(({ path }) => path === "…")).toBe(false);
  add(1001, 1001);
  expect(mine.changesSince?.(snapshot)).toHaveLength(1000);
  expect(mine.changesSince?.(snapshot)?.at(-1)).toEqual({ path: "…", kind: "changed" });
  void mine.restore(snapshot);
  mine.run("INSERT INTO many VALUES (?)", "x".repeat(10_000));
  expect(mine.changesSince?.(snapshot)).toEqual([{ path: `many#${"x".repeat(200)}…`, kind: "added" }]);
  void mine.release?.(snapshot);
});

test("OBS-9 where a database cannot know, it says so: a table without a key, another schema, a snapshot that is not observed", () => {
  using database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE loose (value); CREATE TABLE firm (id INTEGER PRIMARY KEY)");
  const mine = opened(database);
  const of = (sql: string, observed = true): readonly ResourceChange[] | undefined => {
    const snapshot = mine.snapshot({ observed }) as object;
    mine.exec(sql);
    const changes = mine.changesSince?.(snapshot);
    void mine.restore(snapshot);
    void mine.release?.(snapshot);
    expect(mine.changesSince?.(snapshot)).toBeUndefined();
    return changes;
  };
  expect(of("INSERT INTO loose VALUES (1)")).toBeUndefined();
  expect(of("SELECT * FROM loose")).toEqual([]);
  mine.exec("DROP TABLE loose");
  expect(of("INSERT INTO firm VALUES (1)")).toEqual([{ path: "firm#1", kind: "added" }]);
  expect(of("INSERT INTO firm VALUES (1)", false)).toBeUndefined();
  expect(of("CREATE TABLE other (id INTEGER PRIMARY KEY)")).toBeUndefined();
});

test("OBS-9 an observer of an evaluation reads the rows of each call, of undone ones too; nothing is noted without one", async () => {
  using database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO notes VALUES (1, 'a')");
  let sessions = 0;
  const noting = database.createSession.bind(database);
  database.createSession = (...args) => {
    sessions += 1;
    return noting(...args);
  };
  const write = sqlTool("write", (notes) => notes.run("UPDATE notes SET text = 'b'").changes);
  const fail = sqlTool("fail", (notes) => {
    notes.exec("DELETE FROM notes; INSERT INTO notes VALUES (7, 'x')");
    throw new Error("No.");
  });
  const look = sqlTool("look", (notes) => notes.all("SELECT * FROM notes").length, { readOnly: true });
  const prompt = definePrompt({ key: "rows", sections: [{ key: "task", text: "Go.", tools: [write, fail, look] }] });
  const evaluate = async (observers: readonly Observer[]) => {
    const calls = ["write", "fail", "look"].map((name) => ({ name, arguments: {} }));
    const model = scriptedModel([{ toolCalls: calls }, { text: "Done." }]);
    await modelAdapter(model, { observers }).evaluate(prompt.bind(), { resources: [sqliteResource(database)] });
  };
  const seen: unknown[] = [];
  await evaluate([{ changed: ({ undone, touched }) => void seen.push([undone, touched()]) }]);
  expect(seen).toEqual([
    [false, [{ name: "SqliteDatabase", changes: [{ path: "notes#1", kind: "changed" }] }]],
    [
      true,
      [
        {
          name: "SqliteDatabase",
          changes: [
            { path: "notes#1", kind: "removed" },
            { path: "notes#7", kind: "added" },
          ],
        },
      ],
    ],
    [false, [{ name: "SqliteDatabase", changes: [] }]],
  ]);
  expect(sessions).toBeGreaterThan(0);
  sessions = 0;
  await evaluate([{ event() {} }]);
  expect(sessions).toBe(0);
});
