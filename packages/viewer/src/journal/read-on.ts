// A record that is read again and again: only what is new, and nothing of another run that has the id by now.
import { entriesOf, isOtherRun, markOf, readFrames } from "@proviso/journal/internal";
import type { Journal, JournalStore } from "@proviso/journal";
import type { JournalEntry } from "@proviso/runtime/recording";

/** Part of a record. */
interface RecordPart {
  /** What no other part at this place has, those of runs that had the id before included. */
  readonly mark: string;
  /** The index behind its last entry. */
  readonly end: number;
  /** undefined: it is not known. */
  readonly writer: string | undefined;
  /** The summary of the run after this part; undefined: it has none. */
  readonly summary: string | undefined;
  entries(): readonly JournalEntry[];
}

/** The parts of a record, beginning with the one that holds an entry; none where it is shorter. */
export type RecordParts = (from: number) => AsyncIterable<RecordPart>;

/** What was read. */
interface ReadOn {
  readonly entries: readonly JournalEntry[];
  /** Why no more can be read; undefined: that is all there is. */
  readonly error: unknown;
  /** The writer of the last entry; undefined: none was read, or it is not known. */
  readonly writer: string | undefined;
  /** The summary behind the last part; undefined: there is none. */
  readonly summary: string | undefined;
  /** The mark of the first part of the run; undefined: reading did not begin there. */
  readonly begunBy: string | undefined;
  /** The mark of the last part; undefined: there is none. */
  readonly mark: string | undefined;
  /** Whether what was read before is of a run that was removed since: nothing of what is there now was read. */
  readonly isOther: boolean;
}

/** Reads the entries from an index on. `mark`: that of the part before it, which has to be there still. */
export async function readOn(parts: RecordParts, from: number, mark: string | undefined): Promise<ReadOn> {
  const entries: JournalEntry[] = [];
  let [writer, first, last, summary]: (string | undefined)[] = [];
  let error: unknown;
  try {
    for await (const part of parts(mark === undefined ? from : from - 1)) {
      first ??= part.mark;
      if (last === undefined && isOtherRun(mark, first)) break;
      last = part.mark;
      ({ summary } = part);
      if (part.end <= from) continue;
      for (const entry of part.entries()) if (entry.index >= from) entries.push(entry);
      ({ writer } = part);
    }
  } catch (thrown) {
    error = thrown;
  }
  const isOther = error === undefined && isOtherRun(mark, first);
  const begunBy = from === 0 ? first : undefined;
  return { entries, error, writer, summary, begunBy, mark: last ?? mark, isOther };
}

/** The frames of a store. */
export function partsOf(store: JournalStore, id: string): RecordParts {
  return async function* parts(from) {
    for await (const frame of readFrames(store, id, from)) {
      const { first, count, writer, summary } = frame;
      const entries = () => entriesOf(frame, store.name);
      yield { mark: markOf(frame), end: first + count, writer, summary, entries };
    }
  };
}

/**
 * The entries of a journal that another copy of the package made, which has no frames to be seen. The mark of an entry is the
 * whole of it, and of the first one also when the run began: forks have that entry of their origin.
 */
export function partsThrough(journal: Journal, id: string): RecordParts {
  return async function* parts(from) {
    const run = from === 0 ? await journal.describe(id) : undefined;
    for await (const { isVoid: _isVoid, ...entry } of journal.entries(id, { after: from - 1 })) {
      const began = entry.index === 0 ? run?.startedAt.getTime() : undefined;
      const entries = () => [{ ...entry, isVoid: false }];
      const mark = JSON.stringify([began, entry]);
      yield { mark, end: entry.index + 1, writer: undefined, summary: undefined, entries };
    }
  };
}
