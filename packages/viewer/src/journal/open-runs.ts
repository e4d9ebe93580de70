import type { RunReader } from "@proviso/core";
import { storeToRead } from "@proviso/journal/internal";
import { storeSource } from "./entry-source.ts";
import { checkReadOptions, readerOf, type ReadOptions } from "./journal-runs.ts";

/**
 * Opens the journal in an SQLite file, or in a folder, to look at its runs. Nothing is written to it, and it may be in use.
 * @throws {DefinitionError} for options that cannot be. {JournalError} for a path with nothing there, and for a file that is
 * damaged, of a newer version or of something else, and for a folder that has files and none of a run.
 */
export function openRuns(path: string, options: ReadOptions = {}): RunReader & AsyncDisposable {
  checkReadOptions("openRuns", options);
  const store = storeToRead(path);
  return Object.freeze({
    ...readerOf(storeSource(store), options),
    [Symbol.asyncDispose]: () => store.close(),
  });
}
