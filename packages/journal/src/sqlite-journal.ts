import { DefinitionError } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { folderBlobs } from "@proviso/node";
import { lentConnection, type SqliteLender } from "@proviso/node/internal";
import { resolve } from "node:path";
import { checkOptions } from "./check-options.ts";
import { journalOptionNames, makeJournal } from "./create-journal.ts";
import type { Journal, JournalOptions } from "./journal.ts";
import { machineProcesses } from "./node-processes.ts";
import { checkRetention, type Retention } from "./retention.ts";
import { openSqliteStore } from "./sqlite-store.ts";

/** What `sqliteJournal` takes beside the path. */
export interface SqliteJournalOptions extends JournalOptions {
  /**
   * What a kept entry survives. "process": the end of the process; "power": that of the machine too, for an fsync with each
   * commit. Default "process".
   */
  readonly durability?: "process" | "power" | undefined;
  /** Runs that have ended are removed when the journal is opened, and with every 1,000th run that ends. Default: none is. */
  readonly retention?: Retention | undefined;
}

/** A journal in an SQLite file. `sqliteResource` takes it in place of a path, and both commit together. */
export interface SqliteJournal extends Journal, SqliteLender {
  /** The whole path of the file. */
  readonly file: string;
}

/**
 * Opens a journal in an SQLite file in WAL mode, for several processes of one machine. The folder is made where there is
 * none; a new file can be read by its owner alone (mode 0600). The bytes of files are kept in a folder beside it, `<path>.files`,
 * where an evaluation has no `Blobs` of its own. It needs Node 22.13.
 * @throws {DefinitionError} for options that cannot be. {JournalError} for a file that is damaged, of a newer version or of
 * something else; it is left alone.
 */
export function sqliteJournal(path: string, options: SqliteJournalOptions = {}): SqliteJournal {
  checkOptions("sqliteJournal", options, { ...journalOptionNames, durability: true, retention: true });
  const { durability = "process", retention, ...others } = options;
  if (durability !== "process" && durability !== "power") {
    throw new DefinitionError(`durability has to be "process" or "power", not ${describeValue(durability)}.`);
  }
  if (retention !== undefined) checkRetention(retention);
  const { store, lent } = openSqliteStore(path, { durability });
  const file = resolve(path);
  const properties = { file, [lentConnection]: lent };
  const blobs = folderBlobs(`${file}.files`);
  return makeJournal(store, others, {
    processes: machineProcesses,
    properties,
    lent,
    blobs,
    retention,
  }) as SqliteJournal;
}
