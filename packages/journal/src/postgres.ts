import { checkOptions } from "./check-options.ts";
import { journalOptionNames, makeJournal } from "./create-journal.ts";
import type { Journal, JournalOptions } from "./journal.ts";
import { machineProcesses } from "./node-processes.ts";
import { postgresStore, type PostgresClient } from "./postgres-store.ts";

export type { PostgresClient } from "./postgres-store.ts";

/** What `postgresJournal` takes beside the client. */
export interface PostgresJournalOptions extends JournalOptions {
  /** What the names of the two tables begin with: `^[a-z_]{1,40}$`. Default "proviso". */
  readonly prefix?: string | undefined;
}

/**
 * Opens a journal in a Postgres database, for workers on several machines. Its tables `<prefix>_runs` and
 * `<prefix>_frames` are made when it is first used. The client stays the caller's.
 * @throws {DefinitionError} for options that cannot be. When first used: {JournalError} for tables of a newer version or of
 * something else.
 */
export function postgresJournal(client: PostgresClient, options: PostgresJournalOptions = {}): Journal {
  checkOptions("postgresJournal", options, { ...journalOptionNames, prefix: true });
  const { prefix, ...others } = options;
  return makeJournal(postgresStore(client, { prefix }), others, { processes: machineProcesses });
}
