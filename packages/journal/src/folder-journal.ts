import { folderBlobs } from "@proviso/node";
import { join } from "node:path";
import { makeJournal } from "./create-journal.ts";
import { folderStore } from "./folder-store.ts";
import type { Journal, JournalOptions } from "./journal.ts";
import { machineProcesses } from "./node-processes.ts";

/**
 * Opens a journal in a folder, with a file of JSON Lines for each run (`<id>.jsonl`, `/` as `%2F`): to read, to compare, to
 * commit. One process at a time may write to it. The folder is made with the first run. The bytes of files are kept in its
 * folder `files`, where an evaluation has no `Blobs` of its own.
 * @throws {DefinitionError} for what is no path, and for options that cannot be.
 */
export function folderJournal(folder: string, options: JournalOptions = {}): Journal {
  const blobs = folderBlobs(join(folder, "files"));
  return makeJournal(folderStore(folder), options, { processes: machineProcesses, blobs });
}
