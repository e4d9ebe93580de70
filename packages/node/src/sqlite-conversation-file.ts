import { DefinitionError } from "@proviso/core";
import type { DatabaseSync } from "node:sqlite";
import { conversationRows, type ConversationRows } from "./sqlite-conversation-rows.ts";
import { makePrivate } from "./private-file.ts";
import { sqliteModule } from "./sqlite-module.ts";
import { pragmaOf, rollBack } from "./sqlite-rows.ts";

/** "PvCo" in the file's header. Source: https://www.sqlite.org/fileformat2.html#application_id */
const applicationId = 0x5076436f;
const version = 1;

// A lease is a row of its own: it changes often, and a conversation's row is long.
const schema = `
  CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    saved_at INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE TABLE leases (
    id TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${version};
`;

/** A file of conversations that is open. */
export interface ConversationFile {
  readonly rows: ConversationRows;
  close(): void;
}

/** @throws {DefinitionError} for a file that is not ours; SQLite's own error where another process prepares it now. */
export function openConversationFile(file: string): ConversationFile {
  makePrivate(file);
  const database = new (sqliteModule().DatabaseSync)(file);
  try {
    database.exec("PRAGMA busy_timeout = 0");
    if (!isPrepared(database, file)) prepare(database, file);
    const rows = conversationRows(database);
    // The first change to a file that was there already.
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;");
    return { rows, close: () => database.close() };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** false: the file is new. @throws {DefinitionError} for one that is not ours. */
function isPrepared(database: DatabaseSync, file: string): boolean {
  const refuse = (why: string): DefinitionError =>
    new DefinitionError(`The file of conversations ${file} ${why}. It was left alone.`);
  const owner = pragmaOf(database, "application_id");
  if (owner === 0 && database.prepare("SELECT name FROM sqlite_schema LIMIT 1").get() === undefined) return false;
  if (owner !== applicationId) throw refuse("is a database of something else");
  const found = pragmaOf(database, "user_version");
  if (found !== version) throw refuse(`has version ${found}; this is for version ${version}`);
  return true;
}

function prepare(database: DatabaseSync, file: string): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have been first.
    if (!isPrepared(database, file)) database.exec(schema);
    database.exec("COMMIT");
  } catch (error) {
    rollBack(database);
    throw error;
  }
}
