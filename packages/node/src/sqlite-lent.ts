// The connection of a file that someone else keeps, a journal, and that a resource uses too.
import { DefinitionError, type Snapshotable } from "@proviso/core";
import { committedWith, type CommittedWith } from "@proviso/runtime/internal";
import type { DatabaseSync } from "node:sqlite";
import { transactional, type SqliteDatabase } from "./sqlite-database.ts";
import { SqliteError, sqliteError } from "./sqlite-error.ts";
import { columnsOf } from "./sqlite-rows.ts";
import type { Outermost } from "./sqlite-savepoints.ts";

/** The property by which the owner of a file lends its connection. */
export const lentConnection: unique symbol = Symbol.for("@proviso/lent-connection");

/** What `sqliteResource` takes to be in the file of a journal: what `sqliteJournal` returns. */
export interface SqliteLender {
  /** The connection, which `sqliteResource` alone uses. */
  readonly [lentConnection]: LentConnection;
}

/** The connection, and what has to be known of transactions that are not its owner's. */
export interface LentConnection {
  /** @throws SQLite's error where the file cannot be opened. */
  database(): DatabaseSync;
  /** Whether a transaction that is not the owner's is open. */
  isLent(): boolean;
  /** Begins a transaction that is not the owner's. @throws SQLite's error, also where another connection has the lock for longer. */
  begin(busyTimeoutMs: number): void;
  /** @throws SQLite's error; the transaction is still open then, if SQLite did not end it. */
  commit(): void;
  /** Also where none is open. */
  rollBack(): void;
  /** Resolves when it is not lent; undefined: it is not. */
  free(): Promise<void> | undefined;
}

type Shared = SqliteDatabase & Snapshotable<object> & { readonly [committedWith]: CommittedWith };

/** The one instance that a file has, and the longest time that a lock is waited for. */
interface InFile {
  readonly resource: Shared;
  busyTimeoutMs: number;
}

/** Each file has one: the lock of its instance lets one call after another have the connection. */
const resources = new WeakMap<LentConnection, InFile>();

/** The database in a lent file, after its schema was made. */
export async function lentDatabase(
  connection: LentConnection,
  options: { readonly busyTimeoutMs: number; readonly migrate: readonly string[] },
): Promise<SqliteDatabase> {
  await migrateLent(connection, options);
  const known = resources.get(connection);
  if (known !== undefined) {
    known.busyTimeoutMs = Math.max(known.busyTimeoutMs, options.busyTimeoutMs);
    return known.resource;
  }
  const outermost: Outermost = {
    begin: () => connection.begin(inFile.busyTimeoutMs),
    commit() {
      try {
        connection.commit();
      } catch (error) {
        // A scope that is opened later gets a database that can be used.
        resources.delete(connection);
        throw error;
      }
    },
    rollBack: () => connection.rollBack(),
  };
  const place: CommittedWith = { file: connection, isOpen: () => connection.isLent() };
  const database = transactional(connection.database(), { outermost, refusal: ownersRefusal });
  const resource: Shared = Object.assign(database, { [committedWith]: place });
  const inFile: InFile = { resource, busyTimeoutMs: options.busyTimeoutMs };
  resources.set(connection, inFile);
  return resource;
}

/** Names of the owner's tables begin with it; its settings are the file's version and kind. */
function ownersRefusal(sql: string): string | undefined {
  if (/proviso_/iu.test(sql))
    return "names that begin with proviso_ are the journal's; give such a text as a parameter";
  if (/\bPRAGMA\b[^;]*\b(?:user_version|application_id)\b/iu.test(sql))
    return "user_version and application_id are the journal's";
  return undefined;
}

/** Runs the scripts that were not run yet. They are counted in a table, for `user_version` is the owner's. */
async function migrateLent(
  connection: LentConnection,
  { busyTimeoutMs, migrate }: { readonly busyTimeoutMs: number; readonly migrate: readonly string[] },
): Promise<void> {
  if (migrate.length === 0) return;
  const database = connection.database();
  // No call can change it, so that none is waited for: this may run in the code of the one that has its transaction open.
  if (versionIn(database) === migrate.length) return;
  for (let free = connection.free(); free !== undefined; free = connection.free()) await free;
  try {
    connection.begin(busyTimeoutMs);
    database.exec("CREATE TABLE IF NOT EXISTS proviso_migrations (version INTEGER NOT NULL) STRICT");
    // Another process may have been first.
    const version = versionIn(database);
    if (version > migrate.length) {
      const message = `The schema is of version ${version}, and this program knows ${migrate.length}: use a later one.`;
      throw new SqliteError(message, { reason: "newer" });
    }
    for (const script of migrate.slice(version)) database.exec(script);
    database.exec(`DELETE FROM proviso_migrations; INSERT INTO proviso_migrations VALUES (${migrate.length})`);
    connection.commit();
  } catch (error) {
    connection.rollBack();
    throw error instanceof DefinitionError ? error : sqliteError(error, "Making the schema in the journal's file");
  }
}

function versionIn(database: DatabaseSync): number {
  const has = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'proviso_migrations'").get();
  if (has === undefined) return 0;
  const [version = 0] = columnsOf(database.prepare("SELECT max(version) FROM proviso_migrations").get() ?? [0]);
  return Number(version);
}
