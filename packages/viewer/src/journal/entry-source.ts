// Where a reader's entries come from: a journal, or the store of one that is read without a journal.
import { JournalError, ProvisoError } from "@proviso/core";
import { parseJson } from "@proviso/core/provider";
import { messageOf } from "@proviso/core/internal";
import type { Journal, JournalStore } from "@proviso/journal";
import { keptEntries, machineProcesses, type SavedSummary } from "@proviso/journal/internal";
import type { JournalEntry } from "@proviso/runtime/recording";
import { partsOf, partsThrough, readOn, type RecordParts } from "./read-on.ts";

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
  /** What no other run of the same id began with; undefined: it has not begun, or reading did not begin with its first entry. */
  readonly begunBy: string | undefined;
  /** What to give when it is read on; undefined: there is nothing. */
  readonly mark: string | undefined;
  /** Whether what was read before is of a run that was removed since: nothing of it is here. */
  readonly isOther: boolean;
}

/** Runs and their entries. */
export interface EntrySource {
  list(): AsyncIterable<ListedRun>;
  /** Returns the entries from an index on. `mark`: what reading up to there returned. */
  read(id: string, from: number, mark: string | undefined): Promise<ReadEntries>;
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
    async read(id, from, mark) {
      if (kept === undefined) return readEntries(partsThrough(journal, id), from, mark);
      await kept.settled();
      return { ...(await readEntries(partsOf(kept.store, id), from, mark)), writer: undefined };
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
    read: (id, from, mark) => readEntries(partsOf(store, id), from, mark),
    isGone: (writer) => machineProcesses.lifeOf(writer) === "gone",
  };
}

async function readEntries(parts: RecordParts, from: number, before: string | undefined): Promise<ReadEntries> {
  const { error, ...read } = await readOn(parts, from, before);
  return { ...read, problem: error === undefined ? undefined : problemOf(error) };
}

/** @throws what is no fault of a record: a journal that is closed, a disk that fails. */
function problemOf(error: unknown): string {
  const isRecord = error instanceof JournalError && (error.reason === "damaged" || error.reason === "newer");
  if (!isRecord) throw error instanceof ProvisoError ? error : new Error(messageOf(error), { cause: error });
  return error.message;
}
