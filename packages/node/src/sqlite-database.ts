import { resourceKey, type CallGuard, type ResourceKey, type Snapshotable } from "@proviso/core";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { callOf, guardedBy } from "@proviso/runtime/internal";
import { isReadOnlyFault, SqliteError, sqliteError } from "./sqlite-error.ts";
import { pragmaOf } from "./sqlite-rows.ts";
import { savepoints, type Outermost } from "./sqlite-savepoints.ts";
import { refusalOf } from "./sqlite-statements.ts";

/** What SQLite can hold in a column. */
export type SqliteValue = null | number | bigint | string | Uint8Array;

/** A row, by the names of its columns. */
export type SqliteRow = Readonly<Record<string, SqliteValue>>;
/** Numbered or anonymous parameters in order; named ones as a first object. */
export type SqliteParameters = readonly (SqliteValue | Readonly<Record<string, SqliteValue>>)[];

/** A prepared statement; as its database, it is not usable after the call that prepared it. */
export interface SqliteStatement {
  /** Runs the statement and returns all rows. @throws {SqliteError} with the reason. */
  all<Row extends { [K in keyof Row]: SqliteValue } = SqliteRow>(...parameters: SqliteParameters): readonly Row[];
  /** Runs the statement and returns the first row; undefined where there is none. @throws {SqliteError} with the reason. */
  get<Row extends { [K in keyof Row]: SqliteValue } = SqliteRow>(...parameters: SqliteParameters): Row | undefined;
  /** Runs the statement and returns how many rows it changed. @throws {SqliteError} with the reason. */
  run(...parameters: SqliteParameters): { readonly changes: number; readonly lastInsertRowid: number };
}

/**
 * A SQLite database as tools use it; `Row` is what the SQL promises, and is not checked. In a call all of it raises
 * RevokedError when the call is over.
 * @throws {SqliteError} of each method: wrong SQL, a constraint, a lock, a statement that no tool may run.
 */
export interface SqliteDatabase {
  /** Runs the statement and returns all rows. @throws {SqliteError} with the reason. */
  all<Row extends { [K in keyof Row]: SqliteValue } = SqliteRow>(
    sql: string,
    ...parameters: SqliteParameters
  ): readonly Row[];
  /** Runs the statement and returns the first row; undefined where there is none. @throws {SqliteError} with the reason. */
  get<Row extends { [K in keyof Row]: SqliteValue } = SqliteRow>(
    sql: string,
    ...parameters: SqliteParameters
  ): Row | undefined;
  /** Runs the statement and returns how many rows it changed. @throws {SqliteError} with the reason. */
  run(sql: string, ...parameters: SqliteParameters): { readonly changes: number; readonly lastInsertRowid: number };
  /** Several statements, without parameters. */
  exec(sql: string): void;
  /** The first statement of the text. It lives as long as the call. */
  prepare(sql: string): SqliteStatement;
}

export const SqliteDatabase: ResourceKey<SqliteDatabase> = resourceKey<SqliteDatabase>("SqliteDatabase");

/** The guard of statements that run outside calls: everything is allowed. */
const unguarded: CallGuard = { isReadOnly: () => false, assertLive() {}, assertMayChange() {}, fail() {} };

/** What is special of a connection that someone else has, too. */
export interface SharedConnection {
  readonly outermost?: Outermost | undefined;
  /** Says why a script may not run, beside what no call may run. */
  readonly refusal?: ((sql: string) => string | undefined) | undefined;
}

/** The database that takes part in transactions: what a failed call ran of SQL is undone. */
export function transactional(
  database: DatabaseSync,
  { outermost, refusal }: SharedConnection = {},
): SqliteDatabase & Snapshotable<object> {
  const points = savepoints(database, outermost);
  const assertAllowed = (sql: string): void => {
    const why = refusalOf(sql) ?? refusal?.(sql);
    if (why !== undefined) throw new SqliteError(`The statement is refused: ${why}.`, { reason: "refused" });
  };
  // The application may have turned on `query_only`: then it stays so.
  const isWritable = pragmaOf(database, "query_only") === 0;
  /** Calls that ran something in the transaction: when it is lost, none of them may succeed. */
  const users = new Set<CallGuard>();

  const run = <T>(guard: CallGuard, work: () => T): T => {
    guard.assertLive();
    try {
      points.begin();
      if (points.isMarked()) users.add(callOf(guard));
      return guard.isReadOnly() && isWritable ? withoutWriting(database, work) : work();
    } catch (error) {
      if (guard.isReadOnly() && isReadOnlyFault(error)) guard.assertMayChange("the database");
      const lost = points.lost(error);
      if (lost !== undefined) for (const user of users) user.fail(lost.message);
      throw lost ?? sqliteError(error);
    }
  };
  const view = (guard: CallGuard): SqliteDatabase => viewOf(database, (work) => run(guard, work), assertAllowed);
  const resource: SqliteDatabase & Snapshotable<object> = {
    ...view(unguarded),
    // A database in memory goes with the process.
    durable: isInFile(database),
    changesSince: (snapshot) => points.changesSince?.(snapshot),
    snapshot: points.snapshot,
    restore: points.restore,
    release(snapshot) {
      try {
        return points.release?.(snapshot);
      } finally {
        if (!points.isMarked()) users.clear();
      }
    },
  };
  return guardedBy(resource, view);
}

/** Source: https://www.sqlite.org/pragma.html#pragma_database_list: the file is "" for a database in memory. */
function isInFile(database: DatabaseSync): boolean {
  const main = database.prepare("PRAGMA database_list").get() as { readonly file?: unknown } | undefined;
  return typeof main?.file === "string" && main.file !== "";
}

function viewOf(
  database: DatabaseSync,
  run: <T>(work: () => T) => T,
  assertAllowed: (sql: string) => void,
): SqliteDatabase {
  const prepared = <T>(sql: string, work: (statement: StatementSync) => T): T => {
    assertAllowed(sql);
    return run(() => work(database.prepare(sql)));
  };
  return {
    all: <Row>(sql: string, ...parameters: SqliteParameters) =>
      prepared(sql, (statement) => all(statement, parameters) as Row[]),
    get: <Row>(sql: string, ...parameters: SqliteParameters) =>
      prepared(sql, (statement) => get(statement, parameters) as Row | undefined),
    run: (sql, ...parameters) => prepared(sql, (statement) => change(statement, parameters)),
    exec(sql) {
      assertAllowed(sql);
      run(() => database.exec(sql));
    },
    prepare(sql) {
      const statement = prepared(sql, (made) => made);
      return {
        all: <Row>(...parameters: SqliteParameters) => run(() => all(statement, parameters) as Row[]),
        get: <Row>(...parameters: SqliteParameters) => run(() => get(statement, parameters) as Row | undefined),
        run: (...parameters) => run(() => change(statement, parameters)),
      };
    },
  };
}

/** `StatementSync` distinguishes named parameters from others by the first argument. */
type Inputs = Parameters<StatementSync["run"]>;

function all(statement: StatementSync, parameters: SqliteParameters): unknown[] {
  return statement.all(...(parameters as unknown as Inputs));
}

function get(statement: StatementSync, parameters: SqliteParameters): unknown {
  return statement.get(...(parameters as unknown as Inputs));
}

function change(statement: StatementSync, parameters: SqliteParameters): { changes: number; lastInsertRowid: number } {
  const { changes, lastInsertRowid } = statement.run(...(parameters as unknown as Inputs));
  return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) };
}

function withoutWriting<T>(database: DatabaseSync, work: () => T): T {
  database.exec("PRAGMA query_only = 1");
  try {
    return work();
  } finally {
    database.exec("PRAGMA query_only = 0");
  }
}
