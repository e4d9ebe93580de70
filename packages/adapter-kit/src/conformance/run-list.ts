// Runs in lists: what a journal is to an adapter, without a store.
import type { JournalRun } from "@proviso/core";
import { runOf, type JournalEntry } from "@proviso/runtime/recording";

/** Keeps each run as a list of entries. */
export interface RunList {
  /** The option `journal` of an adapter. */
  readonly journal: { run(): JournalRun };
  /** The entries of each run, in the order in which they began. */
  readonly runs: readonly (readonly JournalEntry[])[];
  /** The run at that place again, answered from its entries alone. */
  replay(place: number): JournalRun;
}

export function runList(): RunList {
  const runs: JournalEntry[][] = [];
  const made = (place: number, mode: "run" | "replay"): JournalRun => {
    const entries = (runs[place] ??= []);
    return runOf({
      id: `run ${place}`,
      mode,
      signal: new AbortController().signal,
      open: async () => ({
        // A run appends behind what was read.
        entries: [...entries],
        attempt: 1,
        lastSeq: -1,
        lastAt: 0,
        next: entries.length,
        isEnded: mode === "replay",
        unknown: [],
      }),
      append: (entry) => void entries.push(entry),
      flush: () => undefined,
      close: async () => {},
    });
  };
  return { journal: { run: () => made(runs.length, "run") }, runs, replay: (place) => made(place, "replay") };
}
