// Attempts that ended before anything had happened that the record did not have: they change nothing of it.
import { systemClock } from "@proviso/core";
import type { EntryOf, JournalEntry } from "./entries.ts";

/** The end of an attempt in which all that happened came from the record. */
export function emptyEnd({ kept: _, ...base }: EntryOf<"resumed">, index: number): EntryOf<"ended"> {
  const at = Math.max(base.at, systemClock.now());
  return { ...base, index, at, kind: "ended", outcome: "failed", goesOn: true, isEmpty: true };
}

/** Whether it is the end of an attempt that added nothing. */
export function isEmptyEnd(entry: JournalEntry): boolean {
  return entry.kind === "ended" && entry.isEmpty === true;
}
