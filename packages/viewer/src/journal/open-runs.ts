import { JournalError, type RunReader } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { folderStore, sqliteStore } from "@proviso/journal/internal";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { storeSource } from "./entry-source.ts";
import { checkReadOptions, readerOf, type ReadOptions } from "./journal-runs.ts";

/**
 * Opens the journal in an SQLite file, or in a folder, to look at its runs. Nothing is written to it, and it may be in use.
 * @throws {DefinitionError} for options that cannot be. {JournalError} for a path with nothing there, and for a file that is
 * damaged, of a newer version or of something else.
 */
export function openRuns(path: string, options: ReadOptions = {}): RunReader & AsyncDisposable {
  checkReadOptions("openRuns", options);
  const store = isFolder(path) ? folderStore(path) : sqliteStore(path, { durability: "read-only" });
  return Object.freeze({
    ...readerOf(storeSource(store), options),
    [Symbol.asyncDispose]: () => store.close(),
  });
}

/** @throws {JournalError} for a path with nothing there. */
function isFolder(path: unknown): boolean {
  const found = typeof path === "string" ? statSync(path, { throwIfNoEntry: false }) : undefined;
  if (found !== undefined) return found.isDirectory();
  const shown = typeof path === "string" ? resolve(path) : describeValue(path);
  throw new JournalError(`There is no journal at ${shown}.`, { reason: "not_found" });
}
