import { makeJournal } from "./create-journal.ts";
import { folderStore } from "./folder-store.ts";
import type { Journal, JournalOptions } from "./journal.ts";
import { machineProcesses } from "./node-processes.ts";

/**
 * Opens a journal in a folder, with a file of JSON Lines for each run (`<id>.jsonl`, `/` as `%2F`): to read, to compare, to
 * commit. One process at a time may write to it. The folder is made with the first run.
 * @throws {DefinitionError} for what is no path, and for options that cannot be.
 */
export function folderJournal(folder: string, options: JournalOptions = {}): Journal {
  return makeJournal(folderStore(folder), options, { processes: machineProcesses });
}
