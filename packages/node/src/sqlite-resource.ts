import { DefinitionError, provideFactory, systemClock, type Binding, type ResourceKey } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { describeValue } from "@proviso/core/internal";
import { resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { SqliteDatabase, transactional } from "./sqlite-database.ts";
import { SqliteError, sqliteError } from "./sqlite-error.ts";
import { lentConnection, lentDatabase, type SqliteLender } from "./sqlite-lent.ts";
import { sqliteModule } from "./sqlite-module.ts";
import { columnsOf, isOfStore, pragmaOf, rollBack } from "./sqlite-rows.ts";
import { schemaRefusal, transactionWordOf } from "./sqlite-statements.ts";
import { isBusy, whenFree } from "./sqlite-waiting.ts";

/** Milliseconds that opening waits at least for a lock of another connection. */
const openingTimeoutMs = 5_000;

/** What `sqliteResource` takes beside the path or database. */
export interface SqliteOptions {
  /** The key of the resource. Default `SqliteDatabase`; a second database needs one of its own. */
  readonly key?: ResourceKey<SqliteDatabase> | undefined;
  /**
   * Scripts that make the schema, in order: each is run once, in a transaction, and counted in the file's user_version.
   * Only add at the end. Default none. A file that another store keeps (conversations, usage, a journal) is a SqliteError
   * "refused", and left alone; of a journal give the journal itself.
   */
  readonly migrate?: readonly string[] | undefined;
  /**
   * How long a statement waits for a lock that another connection holds, in milliseconds; nothing else runs meanwhile.
   * Default 50. A database that is already open keeps its own setting; in the file of a journal the longest that it was given
   * holds for all. Opening waits up to 5 s, or for so long where that is
   * more, and everything else runs meanwhile.
   */
  readonly busyTimeoutMs?: number | undefined;
}

/**
 * A SQLite database that takes part in transactions: what a failed call ran of SQL is undone, also when the process dies
 * in it. A path (or ":memory:") is opened and closed with the scope of the resources; a database that is open already is
 * never closed here, belongs to one scope at a time, and what is run on it past the resource is at one's own risk. It needs Node 22.13.
 *
 * A journal in a SQLite file (`sqliteJournal`) can be given in place of a path: the tables are in the journal's file then,
 * and what a call changes is one commit with the record that the call was done. While such a call has a transaction open,
 * other entries of the file wait in memory.
 * @example
 * ```ts
 * import { SqliteDatabase, sqliteResource } from "@proviso/node";
 * import { openResources } from "@proviso/runtime";
 *
 * const database = sqliteResource(":memory:", { migrate: ["CREATE TABLE notes (text TEXT)"] });
 * await using resources = await openResources([database]);
 * const notes = await resources.open(SqliteDatabase);
 * notes.run("INSERT INTO notes VALUES (?)", "Buy milk.");
 * console.log(notes.get<{ text: string }>("SELECT text FROM notes")?.text); // Buy milk.
 * ```
 * @throws {DefinitionError} for wrong options. A database that cannot take part is a SqliteError when it is opened.
 */
export function sqliteResource(
  pathOrDatabase: string | DatabaseSync | SqliteLender,
  options: SqliteOptions = {},
): Binding<SqliteDatabase> {
  checkOptionNames("sqliteResource", options, { key: true, migrate: true, busyTimeoutMs: true });
  const { key = SqliteDatabase, migrate = [], busyTimeoutMs = 50 } = options;
  checkOptions(migrate, busyTimeoutMs);
  if (isLender(pathOrDatabase)) {
    const connection = pathOrDatabase[lentConnection];
    return provideFactory(key, () => lentDatabase(connection, { busyTimeoutMs, migrate }), { eager: true });
  }
  checkDatabase(pathOrDatabase);
  // The process may go elsewhere later.
  const isFile = typeof pathOrDatabase === "string" && pathOrDatabase !== ":memory:";
  const source = isFile ? resolve(pathOrDatabase) : pathOrDatabase;
  const opened = new WeakMap<SqliteDatabase, () => void>();
  const make = (): SqliteDatabase => {
    const { database, close } = open(source, busyTimeoutMs, migrate);
    const resource = transactional(database);
    opened.set(resource, close);
    return resource;
  };
  const create = (): SqliteDatabase | Promise<SqliteDatabase> => {
    try {
      return make();
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
    const doing = typeof source === "string" ? `The database ${source}` : "The database";
    return whenFree({ clock: systemClock, busyTimeoutMs: Math.max(openingTimeoutMs, busyTimeoutMs), doing }, make);
  };
  // Made first inside a call that fails it would be discarded, and what was written would stay.
  return provideFactory(key, create, { eager: true, close: (resource) => opened.get(resource)?.() });
}

function isLender(value: string | DatabaseSync | SqliteLender): value is SqliteLender {
  return typeof value === "object" && value !== null && lentConnection in value;
}

function checkDatabase(pathOrDatabase: unknown): void {
  if (pathOrDatabase === "")
    throw new DefinitionError('The path of a database is missing; in memory it is ":memory:".');
  if (typeof pathOrDatabase === "string" && pathOrDatabase.includes("\0"))
    throw new DefinitionError("The path of a database may hold no NUL character.");
  if (typeof pathOrDatabase !== "string" && typeof (pathOrDatabase as Partial<DatabaseSync>)?.prepare !== "function") {
    const given = describeValue(pathOrDatabase);
    throw new DefinitionError(
      `sqliteResource takes the path of a file, a DatabaseSync of node:sqlite or a sqliteJournal, not ${given}.`,
    );
  }
}

function checkOptions(migrate: unknown, busyTimeoutMs: number): void {
  if (!Number.isSafeInteger(busyTimeoutMs) || busyTimeoutMs < 0) {
    throw new DefinitionError(
      `busyTimeoutMs has to be a whole number of milliseconds, not ${describeValue(busyTimeoutMs)}.`,
    );
  }
  if (!Array.isArray(migrate) || !migrate.every((script) => typeof script === "string"))
    throw new DefinitionError('migrate has to be a list of SQL scripts: ["CREATE TABLE …"].');
  for (const [index, script] of migrate.entries()) {
    const word = transactionWordOf(script);
    if (word === undefined) continue;
    throw new DefinitionError(`migrate[${index}] may not hold ${word}: all scripts are run in one transaction.`);
  }
}

interface Opened {
  readonly database: DatabaseSync;
  close(): void;
}

function open(pathOrDatabase: string | DatabaseSync, busyTimeoutMs: number, migrate: readonly string[]): Opened {
  if (typeof pathOrDatabase === "string") {
    const database = openDatabase(pathOrDatabase, busyTimeoutMs, migrate);
    return { database, close: () => database.close() };
  }
  return borrow(pathOrDatabase, migrate);
}

/** Databases that a scope has now: transactions of two would undo each other's changes. */
const borrowed = new WeakSet<DatabaseSync>();

function borrow(database: DatabaseSync, migrate: readonly string[]): Opened {
  if (borrowed.has(database)) {
    const message = "The database is in use by another evaluation: openResources opens it once for both.";
    throw new DefinitionError(message);
  }
  try {
    prepareSchema(database, migrate, "The database");
  } catch (error) {
    throw sqliteError(error);
  }
  borrowed.add(database);
  return { database, close: () => void borrowed.delete(database) };
}

function openDatabase(path: string, busyTimeoutMs: number, migrate: readonly string[]): DatabaseSync {
  const doing = `The database ${path}`;
  let database: DatabaseSync | undefined;
  try {
    database = new (sqliteModule().DatabaseSync)(path);
    // A lock is waited for while others go on.
    database.exec("PRAGMA busy_timeout = 0");
    prepareSchema(database, migrate, doing);
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    return database;
  } catch (error) {
    database?.close();
    throw sqliteError(error, doing);
  }
}

function prepareSchema(database: DatabaseSync, migrate: readonly string[], named: string): void {
  if (migrate.length > 0) migrateSchema(database, migrate, named);
  for (const row of database.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").all()) {
    const [name, sql] = columnsOf(row);
    const why = schemaRefusal(String(sql));
    if (why === undefined) continue;
    throw new SqliteError(`${String(name)} cannot take part in transactions: ${why}.`, { reason: "refused" });
  }
}

function migrateSchema(database: DatabaseSync, scripts: readonly string[], named: string): void {
  if (versionOf(database, named) === scripts.length) return;
  database.exec("BEGIN EXCLUSIVE");
  try {
    // Another process may have been first.
    const version = versionOf(database, named);
    if (version > scripts.length) {
      const message = `The schema is of version ${version}, and this program knows ${scripts.length}: use a later one.`;
      throw new SqliteError(message, { reason: "newer" });
    }
    for (const script of scripts.slice(version)) database.exec(script);
    database.exec(`PRAGMA user_version = ${scripts.length}`);
    database.exec("COMMIT");
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

/** How many scripts were run. @throws {SqliteError} "refused" for a store's file: its user_version counts something else. */
function versionOf(database: DatabaseSync, named: string): number {
  if (isOfStore(database)) {
    const why = "is a database of something else, and its user_version counts no scripts";
    throw new SqliteError(`${named} ${why}. It was left alone.`, { reason: "refused" });
  }
  return pragmaOf(database, "user_version");
}
