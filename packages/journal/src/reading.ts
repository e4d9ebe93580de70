// A run as it is read: all of its entries, and the last writer.
import { JournalError } from "@proviso/core";
import type { JournalEntry } from "@proviso/runtime/recording";
import { entriesToReplay, isEmptyEnd, standingEntries } from "@proviso/runtime/recording";
import { entriesOf } from "./format.ts";
import { frameCheck } from "./read-frames.ts";
import type { Frame, JournalStore } from "./store.ts";
import { readSummary, Summary, type SavedSummary } from "./summary.ts";

/** The record of a run. */
export interface ReadRun {
  readonly entries: readonly JournalEntry[];
  /** How many entries it has. */
  readonly length: number;
  /** The number of the last attempt; 0: there is none. */
  readonly attempt: number;
  /** The writer of the last frame. */
  readonly writer: string;
  /** The writer of the first frame; undefined: there is none. Another run of the same id has another one. */
  readonly begunBy: string | undefined;
  /** The mark of the last frame; undefined: there is none. */
  readonly endedBy: string | undefined;
  readonly forkOf: SavedSummary["forkOf"];
  /** The summary of what stands; with `kept`, that of an attempt which goes on from these entries of it. */
  summary(kept?: readonly JournalEntry[]): Summary;
}

/**
 * What no other frame of this id has, those of runs that were removed included: a writer is one attempt of one process. The
 * id of the evaluation is no such thing, as forks have that of their origin.
 */
export function markOf({ first, writer, sum }: Frame): string {
  return `${first} ${writer} ${sum}`;
}

/**
 * Whether what was read before is of a run that was removed since, whatever has its id now. Both are marks of the same place:
 * the one that was read, and the one that is there now; undefined: nothing was read, nothing is there.
 */
export function isOtherRun(read: string | undefined, now: string | undefined): boolean {
  return read !== undefined && now !== read;
}

/** Reads a run. @throws {JournalError} "damaged", "newer". */
export async function readRun(store: JournalStore, id: string): Promise<ReadRun> {
  const entries: JournalEntry[] = [];
  let writer = "";
  let attempt = 0;
  let [begunBy, endedBy]: (string | undefined)[] = [];
  /** The first summary that can be read: all of them say what the run is a fork of. */
  let saved: SavedSummary | undefined;
  const check = frameCheck(store, id);
  for await (const frame of store.read(id)) {
    check(frame);
    const read = entriesOf(frame, store.name);
    if (frame.first === 0 && read[0]?.kind !== "begun") {
      const message = `The record of the run "${id}" in ${store.name} is damaged: its first entry does not begin it.`;
      throw new JournalError(message, { reason: "damaged", run: id });
    }
    endedBy = markOf(frame);
    for (const entry of read) entries.push(entry);
    ({ writer } = frame);
    begunBy ??= writer;
    attempt = read.at(-1)?.attempt ?? attempt;
    saved ??= readSummary(frame.summary);
  }
  const forkOf = saved?.forkOf;
  const summed = (of: readonly JournalEntry[], before?: SavedSummary): Summary => {
    const summary = new Summary(forkOf, before);
    for (const entry of of) summary.add(entry);
    // An attempt of which nothing stands was one all the same.
    summary.saved.attempts = Math.max(1, attempt);
    return summary;
  };
  return {
    entries,
    length: entries.length,
    attempt,
    writer,
    begunBy,
    endedBy,
    forkOf,
    summary(kept) {
      if (kept === undefined) return summed(standingEntries(entries));
      // Attempts before that were lost at their beginning have changed nothing either.
      return summed(kept, summed(entriesToReplay(entries)).saved);
    },
  };
}

/** Whether nothing has been kept since the run was read, and no other run has its id: its last frame alone is read. */
export async function isAsRead(store: JournalStore, id: string, { length, endedBy }: ReadRun): Promise<boolean> {
  if (length === 0) return false;
  let last: string | undefined;
  for await (const frame of store.read(id, length - 1)) {
    if (last !== undefined) return false;
    last = markOf(frame);
  }
  return !isOtherRun(endedBy, last);
}

/**
 * Returns the number of the last event, -1: there is none; and the time of the last entry of an evaluation, 0: there is none.
 * That a run goes on is written at the time of the system, which may not be that of the evaluation.
 */
export function lastOf(entries: readonly JournalEntry[]): { readonly lastSeq: number; readonly lastAt: number } {
  const seqs = (last: number, entry: JournalEntry): number =>
    entry.kind === "event" ? Math.max(last, entry.event.seq) : last;
  const last = entries.findLast((entry) => entry.kind !== "resumed" && !isEmptyEnd(entry));
  return { lastSeq: entries.reduce(seqs, -1), lastAt: last?.at ?? 0 };
}
