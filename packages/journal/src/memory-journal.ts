import { makeJournal } from "./create-journal.ts";
import type { Journal, JournalOptions } from "./journal.ts";
import { memoryStore } from "./memory-store.ts";

/**
 * Makes a journal in memory, for tests and forks in one process; it is gone with it.
 * @throws {DefinitionError} for options that cannot be.
 */
export function memoryJournal(options: JournalOptions = {}): Journal {
  return makeJournal(memoryStore(), options);
}
