import { JournalError } from "@proviso/core";
import { inTransaction, makePrivate, pragmaOf, sqliteModule } from "@proviso/node/internal";
import type { DatabaseSync } from "node:sqlite";
import { frameRows, tables, type FrameRows } from "./sqlite-rows.ts";

/** "PvJo" in the file's header. Source: https://www.sqlite.org/fileformat2.html#application_id */
const applicationId = 0x50764a6f;
const version = 1;

/** A file of frames that is open. */
export interface FrameFile {
  readonly database: DatabaseSync;
  readonly rows: FrameRows;
  close(): void;
}

/** @throws {JournalError} "foreign", "newer", "damaged"; SQLite's own error where another process prepares the file now. */
export function openFrameFile(file: string, durability: "process" | "power" | "read-only"): FrameFile {
  if (durability === "read-only") return openToRead(file);
  makePrivate(file);
  const database = new (sqliteModule().DatabaseSync)(file);
  try {
    database.exec("PRAGMA busy_timeout = 0");
    if (!isPrepared(database, file)) prepare(database, file);
    // The first change to a file that was there already.
    const synchronous = durability === "power" ? "FULL" : "NORMAL";
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};`);
    return { database, rows: frameRows(database), close: () => database.close() };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens a file that is there already; nothing is written to it. */
function openToRead(file: string): FrameFile {
  const database = new (sqliteModule().DatabaseSync)(file, { readOnly: true });
  try {
    if (!isPrepared(database, file)) {
      throw new JournalError(`The file ${file} is no journal: it is empty.`, { reason: "foreign" });
    }
    return { database, rows: frameRows(database), close: () => database.close() };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** false: the file is new. @throws {JournalError} for one that is not ours. */
function isPrepared(database: DatabaseSync, file: string): boolean {
  const owner = pragmaOf(database, "application_id");
  if (owner === 0 && database.prepare("SELECT name FROM sqlite_schema LIMIT 1").get() === undefined) return false;
  if (owner !== applicationId) {
    throw new JournalError(`The journal ${file} is a database of something else. It was left alone.`, {
      reason: "foreign",
    });
  }
  const found = pragmaOf(database, "user_version");
  if (found !== version) {
    throw new JournalError(
      `The journal ${file} has version ${found}; this is for version ${version}. It was left alone.`,
      {
        reason: found > version ? "newer" : "damaged",
      },
    );
  }
  return true;
}

function prepare(database: DatabaseSync, file: string): void {
  inTransaction(database, () => {
    // Another process may have been first.
    if (isPrepared(database, file)) return;
    database.exec(`${tables} PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version};`);
  });
}
