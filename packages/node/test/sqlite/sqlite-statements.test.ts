import { SqliteError, sqliteResource } from "@proviso/node";
import fc from "fast-check";
import { constants, DatabaseSync } from "node:sqlite";
import { expect, inject, test } from "vitest";
import { call, digest, memoryDatabase } from "./support.ts";

const seed = 20_261_121;

test.each([
  "BEGIN",
  "commit",
  "END TRANSACTION",
  "Rollback",
  "SAVEPOINT mine",
  "RELEASE proviso_1",
  "ROLLBACK TO proviso_1",
  "ATTACH ':memory:' AS other",
  "DETACH other",
  "VACUUM",
  "PRAGMA journal_mode = off",
  "PRAGMA main.journal_mode",
  'PRAGMA "foreign_keys" = 0',
  "EXPLAIN PRAGMA query_only = 1",
  "EXPLAIN QUERY PLAN COMMIT",
  "SELECT $a('); COMMIT; --')",
  'SELECT @a::b("); PRAGMA query_only = 0; --")',
  "SELECT :a([); ATTACH ':memory:' AS other; --])",
  "SELECT $a(/*); ROLLBACK; --*/)",
  "INSERT OR ROLLBACK INTO notes (text) VALUES ('first')",
  "CREATE TABLE more (a UNIQUE ON CONFLICT ROLLBACK)",
  "CREATE TABLE more (a REFERENCES notes DEFERRABLE INITIALLY DEFERRED)",
  "CREATE TRIGGER t AFTER INSERT ON notes BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
])("RES-4 %s is refused, wherever it stands, and nothing of its text is run", async (sql) => {
  const database = memoryDatabase();
  const before = digest(database);
  const trigger = "CREATE TRIGGER u AFTER INSERT ON notes BEGIN SELECT CASE WHEN 1 THEN 2 END; SELECT 1; END;";
  const texts = [sql, `  /* ; */ -- BEGIN\n${sql}`, `DELETE FROM notes; ${sql}; SELECT 1`, `${trigger} ${sql}`];
  for (const text of texts) {
    const result = await call([sqliteResource(database)], (mine) => {
      const refused = (work: () => unknown): void =>
        expect(work).toThrow(expect.objectContaining({ name: "SqliteError", reason: "refused" }) as SqliteError);
      for (const each of [mine.exec, mine.run, mine.all, mine.get, mine.prepare]) refused(() => each(text));
    });
    expect(result).toMatchObject({ success: true });
    expect(digest(database)).toBe(before);
  }
});

test.each([
  "SELECT 'BEGIN; COMMIT', \"text\" FROM notes -- COMMIT",
  "SELECT 1 /* ; ROLLBACK */",
  'CREATE TABLE "commit" ("rollback", [end], `begin`, release)',
  "CREATE TEMP TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM notes; END; INSERT INTO notes (text) VALUES ('x')",
  "INSERT OR REPLACE INTO notes (text) VALUES ('first')",
  "PRAGMA table_info(notes)",
  "PRAGMA main.user_version = 3",
  "EXPLAIN CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM notes; END",
  "SELECT $commit, @rollback, :a::end, $a(COMMIT)",
  ";;",
])("RES-4 %s is run", async (sql) => {
  expect(await call([sqliteResource(memoryDatabase())], (mine) => mine.exec(sql))).toMatchObject({ success: true });
});

test("RES-4 SQLite's own parser finds no transaction, database or foreign PRAGMA in what is let through", async () => {
  const database = memoryDatabase();
  const binding = sqliteResource(database);
  const grave: string[] = [];
  const judge = database as DatabaseSync & {
    setAuthorizer(ask: (action: number, first: string | null) => number): void;
  };
  const names = new Set(["user_version", "table_info"]);
  let asked: string | undefined;
  let asking = false;
  const exec = database.exec.bind(database);
  // The resource runs statements of its own.
  database.exec = (sql) => {
    asking = sql === asked;
    try {
      exec(sql);
    } finally {
      asking = false;
    }
  };
  const { SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_ATTACH, SQLITE_DETACH, SQLITE_PRAGMA, SQLITE_DENY, SQLITE_OK } =
    constants as unknown as Record<string, number>;
  judge.setAuthorizer((action, first) => {
    const isGrave = [SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_ATTACH, SQLITE_DETACH].includes(action);
    const isForeign = action === SQLITE_PRAGMA && !names.has(String(first).toLowerCase());
    if (!asking || !(isGrave || isForeign)) return SQLITE_OK as number;
    grave.push(`${action} ${first}`);
    return SQLITE_DENY as number;
  });
  const piece = fc.constantFrom(
    ..."BEGIN|Commit|end|ROLLBACK|savepoint|RELEASE|ATTACH|PRAGMA|journal_mode|user_version|foreign_keys|EXPLAIN|QUERY".split(
      "|",
    ),
    ..."PLAN|CREATE|TEMP|TRIGGER|t|AFTER INSERT ON notes|SELECT 1|INSERT INTO notes(text) VALUES(1)|DELETE FROM notes".split(
      "|",
    ),
    ..." |;|;|;| ;|\n|\t|\f|\v|--|/*|*/|/*/|'|''|\"|`|[|]|(|)|.|,|=|1|x'00'|$|:a|@|?|\0|\uFEFF|\u00A0|é|😀|\\".split(
      "|",
    ),
  );
  const script = fc
    .array(piece, { minLength: 1, maxLength: 14 })
    .map((pieces) => pieces.join(pieces.length % 2 ? " " : ""));
  const parameter = fc.constantFrom("$a", "@a", ":a", "#a", "$a::b", "$é", "$1", "?1", "$::a", "$");
  const full = fc.oneof(
    script,
    script.map((text) => `CREATE TRIGGER IF NOT EXISTS t AFTER INSERT ON notes BEGIN SELECT 1; ${text}; END; ${text}`),
    fc.tuple(script, script).map(([a, b]) => `SELECT 1 ${a}; ${b}`),
    fc
      .tuple(parameter, fc.constantFrom("'", '"', "`", "[", "--", "/*", ""), script)
      .map(([name, hiding, text]) => `SELECT ${name}(${hiding}); ${text}; --'"\`]*/)`),
  );
  let run = 0;
  const numRuns = inject("exhaustive") ? 20_000 : 6_000;
  let refused = 0;
  const result = await call([binding], (mine) => {
    mine.get("SELECT 1");
    const check = fc.property(full, (sql) => {
      [asked, grave.length] = [sql, 0];
      try {
        mine.exec(sql);
        run++;
      } catch (error) {
        if (error instanceof SqliteError && error.reason === "refused") refused++;
      }
      expect(grave).toEqual([]);
    });
    fc.assert(check, { seed, numRuns });
  });
  expect(result).toMatchObject({ success: true });
  // Both happen, or the test would tell nothing.
  expect(run).toBeGreaterThan(200);
  expect(refused).toBeGreaterThan(numRuns / 10);
});

test.each([
  ["CREATE TABLE bad (a UNIQUE ON CONFLICT ROLLBACK)", "bad"],
  ["CREATE TABLE bad (a REFERENCES notes DEFERRABLE INITIALLY DEFERRED)", "bad"],
])("RES-4 a database with %s in its schema is refused when it is opened", async (sql, name) => {
  const database = memoryDatabase();
  database.exec(sql);
  await expect(call([sqliteResource(database)], () => 1)).rejects.toMatchObject({
    cause: { reason: "refused", message: expect.stringContaining(`${name} cannot take part in transactions`) },
  });
});

test("RES-4 a literal may be as long as SQLite takes", async () => {
  const resources = [sqliteResource(memoryDatabase())];
  const long = 12_000_000;
  const result = await call(
    resources,
    (mine) => mine.get(`SELECT length('${"x".repeat(long)}') AS length`)?.["length"],
  );
  expect(result).toMatchObject({ success: true, value: long });
});

const tenMegabytes = 10_000_000;
const manyLiterals = {
  "a select": `SELECT ${"1,".repeat(tenMegabytes / 2)}1`,
  "rows of values": `INSERT INTO notes (text) VALUES ${"('a'),".repeat(tenMegabytes / 6)}('a')`,
  "a list": `SELECT 1 WHERE 'b' IN (${"'a',".repeat(tenMegabytes / 4)}'a')`,
  statements: "SELECT 1;".repeat(tenMegabytes / 9),
};

test.each(Object.entries(manyLiterals))(
  "LIM-9 RES-4 10 MB of literals are refused before SQLite reads them: %s",
  async (_, sql) => {
    const database = memoryDatabase();
    const before = digest(database);
    const result = await call([sqliteResource(database)], (mine) => {
      for (const each of [mine.exec, mine.run, mine.all, mine.get, mine.prepare]) {
        expect(() => each(sql)).toThrow(/has more than 50,000 tokens.*parameters/);
      }
    });
    expect(result).toMatchObject({ success: true });
    expect(digest(database)).toEqual(before);
  },
);

test("LIM-9 RES-4 50,000 tokens are run, and one more is refused", async () => {
  // SELECT, 1, IN, two brackets and a literal; two for each literal more.
  const fits = `SELECT 1 IN (1${",1".repeat(24_997)})`;
  const result = await call([sqliteResource(memoryDatabase())], (mine) => {
    expect(() => mine.get(fits.replace("SELECT 1", "SELECT -1"))).toThrow("more than 50,000 tokens");
    return Object.values(mine.get(fits) ?? {});
  });
  expect(result).toMatchObject({ success: true, value: [1] });
});

test("LIM-9 one literal of 10 MB is one token, and as many tokens as are allowed are run", async () => {
  const rows = 12_000;
  const result = await call([sqliteResource(memoryDatabase())], (mine) => {
    mine.run(`INSERT INTO notes (text) VALUES ('${"a".repeat(tenMegabytes)}')`);
    mine.run(`INSERT INTO notes (text) VALUES ${Array.from({ length: rows }, (_, n) => `('${n}')`).join(",")}`);
    return mine.get("SELECT count(*) AS rows, max(length(text)) AS longest FROM notes");
  });
  expect(result).toMatchObject({ success: true, value: { longest: tenMegabytes } });
});
