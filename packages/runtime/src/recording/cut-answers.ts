// Answers that a budget cut short. The record has why, and the text is that of the answer.
import type { Failure } from "../failures.ts";
import type { Run } from "../run.ts";
import type { EntryContent, JournalEntry } from "./entries.ts";
import { restoredFailure } from "./tape-limits.ts";

/** What an entry "drew" has where a budget cut the answer of an evaluation inside a call short. */
export interface DrawnCut {
  /** The failure, as plain JSON. */
  readonly cut?: unknown;
}

/** The entry of an answer that was cut short. Of an evaluation inside a call it ends nothing of the run. */
export function cutEntry({ isInside }: Pick<Run, "isInside">, failure: unknown): EntryContent {
  return isInside ? { kind: "drew", value: { cut: failure } } : { kind: "stopped", by: "cut", failure };
}

/** The failure that an entry has; undefined: it has none. */
export function drawnCut(entry: JournalEntry): unknown {
  if (entry.kind !== "drew" || typeof entry.value !== "object") return undefined;
  return (entry.value as DrawnCut | null)?.cut;
}

/** The failure that was saved, with the text of its answer; undefined: there was no whole answer. */
export function restoredCut(saved: unknown, text: string | undefined): Failure {
  const why = restoredFailure(saved);
  return why.stop === "budget" ? { ...why, text } : why;
}
