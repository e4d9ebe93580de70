// Where a reader's entries come from: a journal, or the store of one that is read without a journal.
import { JournalError, ProvisoError } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import type { Journal, JournalStore, RunSummary as JournalSummary } from "@proviso/journal";
import {
  entriesOf,
  keptEntries,
  machineProcesses,
  markOf,
  newestSummary,
  readFrames,
  readSummary,
  type SavedSummary,
} from "@proviso/journal/internal";
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
  /** The place of the last of them, which no other run of the same id has; undefined: there is none. */
  readonly mark: string | undefined;
  /** Whether what was read before is of a run that was removed since: nothing of it is here. */
  readonly isOther: boolean;
}

/** Runs and their entries. */
export interface EntrySource {
  list(): AsyncIterable<ListedRun>;
  /** What the list says of one run; undefined: there is none. */
  listed(id: string): Promise<ListedRun | undefined>;
  /** Returns the entries from an index on. `mark`: that of the entries before it, which have to be there still. */
  read(id: string, from: number, mark: string | undefined): Promise<ReadEntries>;
  /** Whether the process of a writer is known to be gone. */
  isGone(writer: string): boolean;
}

/** Reads through a journal. Whether the process behind a run lives is not known. */
export function journalSource(journal: Journal): EntrySource {
  const kept = keptEntries(journal);
  return {
    async *list() {
      for await (const run of journal.list()) yield listedBy(run);
    },
    async listed(id) {
      if (kept === undefined) {
        const run = await journal.describe(id);
        return run && listedBy(run);
      }
      await kept.settled();
      const saved = savedIn(await newestSummary(kept.store, id));
      return saved && { ...saved, id, version: versionOf(saved) };
    },
    async read(id, from, mark) {
      if (kept === undefined) return readThrough(journal, id, from, mark);
      await kept.settled();
      return { ...(await readStore(kept.store, id, from, mark)), writer: undefined };
    },
    isGone: () => false,
  };
}

/** A run as a journal describes it. */
function listedBy({ startedAt, updatedAt, ...run }: JournalSummary): ListedRun {
  const times = { startedAt: startedAt.getTime(), updatedAt: updatedAt.getTime() };
  return { ...run, ...times, version: versionOf({ ...run, ...times }) };
}

function versionOf({
  updatedAt,
  steps,
  attempts,
  state,
}: Pick<SavedSummary, "updatedAt" | "steps" | "attempts" | "state">): string {
  return `${updatedAt} ${steps} ${attempts} ${state}`;
}

function savedIn(summary: string | undefined): SavedSummary | undefined {
  return summary === undefined ? undefined : readSummary(summary);
}

/** Reads a store as it is. */
export function storeSource(store: JournalStore): EntrySource {
  return {
    async *list() {
      for await (const { run, summary } of store.list()) {
        const saved = savedIn(summary);
        if (saved !== undefined) yield { ...saved, id: run, version: summary };
      }
    },
    async listed(id) {
      const summary = await newestSummary(store, id);
      const saved = savedIn(summary);
      return saved && { ...saved, id, version: summary ?? "" };
    },
    read: (id, from, mark) => readStore(store, id, from, mark),
    isGone: (writer) => machineProcesses.lifeOf(writer) === "gone",
  };
}

/** Reads with a journal that another copy of the package made. The mark of an entry is the whole of it. */
async function readThrough(
  journal: Journal,
  id: string,
  from: number,
  before: string | undefined,
): Promise<ReadEntries> {
  const entries: JournalEntry[] = [];
  let mark: string | undefined;
  let problem: string | undefined;
  let isSame = before === undefined;
  try {
    for await (const { isVoid: _isVoid, ...entry } of journal.entries(id, { after: isSame ? from - 1 : from - 2 })) {
      mark = JSON.stringify(entry);
      if (!isSame && mark !== before) break;
      isSame = true;
      if (entry.index >= from) entries.push({ ...entry, isVoid: false });
    }
  } catch (error) {
    problem = problemOf(error);
  }
  return { entries, problem, writer: undefined, mark: mark ?? before, isOther: !isSame && problem === undefined };
}

/** Begins with the frame that was read last: it is there still, unless the run was removed. */
async function readStore(
  store: JournalStore,
  id: string,
  from: number,
  before: string | undefined,
): Promise<ReadEntries> {
  const entries: JournalEntry[] = [];
  let writer: string | undefined;
  let mark: string | undefined;
  let problem: string | undefined;
  let isSame = before === undefined;
  try {
    for await (const frame of readFrames(store, id, isSame ? from : from - 1)) {
      mark = markOf(frame);
      if (!isSame && mark !== before) break;
      isSame = true;
      if (frame.first + frame.count <= from) continue;
      for (const entry of entriesOf(frame, store.name)) if (entry.index >= from) entries.push(entry);
      ({ writer } = frame);
    }
  } catch (error) {
    problem = problemOf(error);
  }
  return { entries, problem, writer, mark: mark ?? before, isOther: !isSame && problem === undefined };
}

/** @throws what is no fault of a record: a journal that is closed, a disk that fails. */
function problemOf(error: unknown): string {
  const isRecord = error instanceof JournalError && (error.reason === "damaged" || error.reason === "newer");
  if (!isRecord) throw error instanceof ProvisoError ? error : new Error(messageOf(error), { cause: error });
  return error.message;
}
