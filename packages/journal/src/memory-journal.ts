import { makeJournal } from "./create-journal.ts";
import type { Journal, JournalOptions } from "./journal.ts";
import { memoryFrames } from "./memory-store.ts";

/**
 * Makes a journal in memory, for tests and forks in one process; it is gone with it.
 * @throws {DefinitionError} for options that cannot be.
 */
export function memoryJournal(options: JournalOptions = {}): Journal {
  const { store, ...surroundings } = memoryFrames();
  return makeJournal(store, options, surroundings);
}
