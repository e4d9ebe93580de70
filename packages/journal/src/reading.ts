// A run as it is read: all of its entries, and the last writer.
import type { JournalEntry } from "@proviso/runtime/recording";
import { standingEntries } from "@proviso/runtime/recording";
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
  /** What no other run of the same id has begun with. */
  readonly begunBy: string;
  /** What no other last frame of the same id has. */
  readonly endedBy: string;
  readonly forkOf: SavedSummary["forkOf"];
  /** The summary of what stands. */
  summary(): Summary;
}

/** What no other frame of this id has: a writer is one attempt of one process. */
export function markOf({ first, writer, sum }: Frame): string {
  return `${first} ${writer} ${sum}`;
}

/** Reads a run. @throws {JournalError} "damaged", "newer". */
export async function readRun(store: JournalStore, id: string): Promise<ReadRun> {
  const entries: JournalEntry[] = [];
  let writer = "";
  let attempt = 0;
  let [begunBy, endedBy] = ["", ""];
  let forkOf: SavedSummary["forkOf"];
  const check = frameCheck(store, id);
  for await (const frame of store.read(id)) {
    check(frame);
    const read = entriesOf(frame, store.name);
    endedBy = markOf(frame);
    if (frame.first === 0) begunBy = endedBy;
    for (const entry of read) entries.push(entry);
    ({ writer } = frame);
    attempt = read.at(-1)?.attempt ?? attempt;
    forkOf ??= readSummary(frame.summary)?.forkOf;
  }
  return {
    entries,
    length: entries.length,
    attempt,
    writer,
    begunBy,
    endedBy,
    forkOf,
    summary() {
      const summary = new Summary(forkOf);
      for (const entry of standingEntries(entries)) summary.add(entry);
      return summary;
    },
  };
}

/** Whether nothing has been kept since the run was read, and no other run has its id: its last frame alone is read. */
export async function isAsRead(store: JournalStore, id: string, { length, endedBy }: ReadRun): Promise<boolean> {
  if (length === 0) return false;
  let found = "";
  for await (const frame of store.read(id, length - 1)) found += markOf(frame);
  return found === endedBy;
}
