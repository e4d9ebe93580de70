// The journal behind a path: one in a folder, or one in an SQLite file.
import { JournalError } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { resolve } from "node:path";
import { folderJournal } from "./folder-journal.ts";
import { isOfSomethingElse } from "./folder-names.ts";
import { folderStore } from "./folder-store.ts";
import type { Journal } from "./journal.ts";
import { sqliteJournal } from "./sqlite-journal.ts";
import { sqliteStore } from "./sqlite-store.ts";
import { statsAt } from "./stats-at.ts";
import type { JournalStore } from "./store.ts";

/**
 * Opens the store at a path to read it: nothing is written there.
 * @throws {JournalError} for a path with nothing there, for a file that is damaged, of a newer version or of something else,
 * and for a folder of something else.
 */
export function storeToRead(path: string): JournalStore {
  const given: unknown = path;
  const found = typeof given === "string" ? statsAt(given) : undefined;
  if (found === undefined) {
    const shown = typeof given === "string" ? resolve(given) : describeValue(given);
    throw new JournalError(`There is no journal at ${shown}.`, { reason: "not_found" });
  }
  if (!found.isDirectory()) return sqliteStore(path, { durability: "read-only" });
  if (isNoJournal(path)) {
    const message = `The folder ${resolve(path)} is no journal: none of its files is that of a run, <id>.jsonl.`;
    throw new JournalError(message, { reason: "foreign" });
  }
  return folderStore(path);
}

/** A folder that cannot be looked into says so when it is read. */
function isNoJournal(folder: string): boolean {
  try {
    return isOfSomethingElse(folder);
  } catch {
    return false;
  }
}

/**
 * Opens the journal at a path to record. Where nothing is there yet a path that ends with a separator is a folder, and any
 * other one an SQLite file.
 * @throws {DefinitionError} {JournalError} as `folderJournal` and `sqliteJournal` do.
 */
export function journalAt(path: string): Journal {
  const isFolder = /[/\\]$/.test(path) || statsAt(path)?.isDirectory() === true;
  return isFolder ? folderJournal(path) : sqliteJournal(path);
}
