// Attempts that ended before anything had happened that the record did not have: they change nothing of it.
import { systemClock } from "@proviso/core";
import type { EntryOf, JournalEntry } from "./entries.ts";

/** How an attempt ends that counts for nothing. */
export const endedEmpty = { kind: "ended", outcome: "failed", goesOn: true, isEmpty: true } as const;

/** The end of an attempt in which all that happened came from the record. */
export function emptyEnd({ kept: _, ...base }: EntryOf<"resumed">, index: number): EntryOf<"ended"> {
  const at = Math.max(base.at, systemClock.now());
  return { ...base, index, at, ...endedEmpty };
}

/** Whether it is the end of an attempt that added nothing. */
export function isEmptyEnd(entry: JournalEntry): boolean {
  return entry.kind === "ended" && entry.isEmpty === true;
}

/** The places of the entries that belong to attempts which add nothing: they ended so, or the next one came at once. */
export function emptyAttempts(entries: readonly JournalEntry[]): ReadonlySet<number> {
  const empty = new Set<number>();
  let begun: number | undefined;
  for (const [place, entry] of entries.entries()) {
    if (entry.kind === "resumed") {
      if (begun === place - 1) empty.add(begun);
      begun = place;
    } else if (isEmptyEnd(entry)) {
      for (let at = begun ?? place; at <= place; at++) empty.add(at);
    }
  }
  return empty;
}
