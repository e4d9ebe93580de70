// Where a reader's entries come from: a journal, or the store of one that is read without a journal.
import { JournalError, ProvisoError } from "@proviso/core";
import { parseJson } from "@proviso/core/provider";
import { messageOf } from "@proviso/core/internal";
import type { Journal, JournalStore } from "@proviso/journal";
import { entriesOf, keptEntries, machineProcesses, readFrames, type SavedSummary } from "@proviso/journal/internal";
import type { JournalEntry } from "@proviso/runtime/recording";

/** What a list of runs says of one. */
export type ListedRun = Pick<SavedSummary, "prompt" | "model" | "state" | "startedAt" | "updatedAt" | "usage"> & {
  readonly id: string;
  readonly forkOf?: { readonly id: string; readonly at: number } | undefined;
  /** Changes with each entry that is kept. */
  readonly version: string;
};

/** Entries that were read. */
export interface ReadEntries {
  readonly entries: readonly JournalEntry[];
  /** Why no more can be read; undefined: that is all there is. */
  readonly problem: string | undefined;
  /** The writer of the last of them; undefined: none was read, or it is not known. */
  readonly writer: string | undefined;
}

/** Runs and their entries. */
export interface EntrySource {
  list(): AsyncIterable<ListedRun>;
  /** Returns the entries from an index on. */
  read(id: string, from: number): Promise<ReadEntries>;
  /** Whether the process of a writer is known to be gone. */
  isGone(writer: string): boolean;
}

/** Reads through a journal. Whether the process behind a run lives is not known. */
export function journalSource(journal: Journal): EntrySource {
  const kept = keptEntries(journal);
  return {
    async *list() {
      for await (const { startedAt, updatedAt, ...run } of journal.list()) {
        const [began, changed] = [startedAt.getTime(), updatedAt.getTime()];
        yield {
          ...run,
          startedAt: began,
          updatedAt: changed,
          version: `${changed} ${run.steps} ${run.attempts} ${run.state}`,
        };
      }
    },
    async read(id, from) {
      if (kept !== undefined) {
        await kept.settled();
        return { ...(await readStore(kept.store, id, from)), writer: undefined };
      }
      const entries: JournalEntry[] = [];
      try {
        for await (const { isVoid: _isVoid, ...entry } of journal.entries(id, { after: from - 1 })) {
          entries.push({ ...entry, isVoid: false });
        }
        return { entries, problem: undefined, writer: undefined };
      } catch (error) {
        return { entries, problem: problemOf(error), writer: undefined };
      }
    },
    isGone: () => false,
  };
}

/** Reads a store as it is. */
export function storeSource(store: JournalStore): EntrySource {
  return {
    async *list() {
      for await (const { run, summary } of store.list()) {
        const read = parseJson(summary);
        if (!read.ok) continue;
        const saved = read.value as SavedSummary;
        yield { ...saved, id: run, version: summary };
      }
    },
    read: (id, from) => readStore(store, id, from),
    isGone: (writer) => machineProcesses.lifeOf(writer) === "gone",
  };
}

async function readStore(store: JournalStore, id: string, from: number): Promise<ReadEntries> {
  const entries: JournalEntry[] = [];
  let writer: string | undefined;
  try {
    for await (const frame of readFrames(store, id, from)) {
      for (const entry of entriesOf(frame, store.name)) if (entry.index >= from) entries.push(entry);
      ({ writer } = frame);
    }
    return { entries, problem: undefined, writer };
  } catch (error) {
    return { entries, problem: problemOf(error), writer };
  }
}

/** @throws what is no fault of a record: a journal that is closed, a disk that fails. */
function problemOf(error: unknown): string {
  const isRecord = error instanceof JournalError && (error.reason === "damaged" || error.reason === "newer");
  if (!isRecord) throw error instanceof ProvisoError ? error : new Error(messageOf(error), { cause: error });
  return error.message;
}
