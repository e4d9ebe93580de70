// Where a reader's entries come from: a journal, or the store of one that is read without a journal.
import { JournalError, ProvisoError } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import type { Journal, JournalStore, RunSummary as JournalSummary } from "@proviso/journal";
import {
  keptEntries,
  machineProcesses,
  newestSummary,
  readSummary,
  type SavedSummary,
} from "@proviso/journal/internal";
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
  /** The summary of the run, as it was read with its last entry; undefined: there is none. */
  readonly summary: string | undefined;
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
  /** What the list says of one run; undefined: there is none. */
  listed(id: string): Promise<ListedRun | undefined>;
  /** What the list says of a run with this summary; undefined: it is none. Left out: entries come without a summary. */
  readonly listedBy?: ((id: string, summary: string) => ListedRun | undefined) | undefined;
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
      for await (const run of journal.list()) yield listedByJournal(run);
    },
    async listed(id) {
      if (kept === undefined) {
        const run = await journal.describe(id);
        return run && listedByJournal(run);
      }
      await kept.settled();
      const summary = await newestSummary(kept.store, id);
      return summary === undefined ? undefined : listedSo(id, summary, versionOf);
    },
    listedBy: kept && ((id, summary) => listedSo(id, summary, versionOf)),
    async read(id, from, mark) {
      if (kept === undefined) return readEntries(partsThrough(journal, id), from, mark);
      await kept.settled();
      return { ...(await readEntries(partsOf(kept.store, id), from, mark)), writer: undefined };
    },
    isGone: () => false,
  };
}

/** A run as a journal describes it. */
function listedByJournal({ startedAt, updatedAt, ...run }: JournalSummary): ListedRun {
  const times = { startedAt: startedAt.getTime(), updatedAt: updatedAt.getTime() };
  return { ...run, ...times, version: versionOf({ ...run, ...times }) };
}

/** A run as the list shows one with this summary, which may be none. */
function listedSo(id: string, summary: string, version: (saved: SavedSummary) => string): ListedRun | undefined {
  const saved = readSummary(summary);
  return saved && { ...saved, id, version: version(saved) };
}

function versionOf({
  updatedAt,
  steps,
  attempts,
  state,
}: Pick<SavedSummary, "updatedAt" | "steps" | "attempts" | "state">): string {
  return `${updatedAt} ${steps} ${attempts} ${state}`;
}

/** Reads a store as it is. */
export function storeSource(store: JournalStore): EntrySource {
  const listedBy = (id: string, summary: string): ListedRun | undefined => listedSo(id, summary, () => summary);
  return {
    async *list() {
      for await (const { run, summary } of store.list()) {
        const listed = listedBy(run, summary);
        if (listed !== undefined) yield listed;
      }
    },
    async listed(id) {
      const summary = await newestSummary(store, id);
      return summary === undefined ? undefined : listedBy(id, summary);
    },
    listedBy,
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
