// What shortened a recorded history, which may not be what shortens it now.
import type { JournalEntry } from "./entries.ts";

/**
 * What an evaluation does to a history that is too long: it asks for a summary, or for a further piece of one; shortens it;
 * or ends, since it cannot be shortened enough.
 */
export type HistoryStep = "summary" | "shortened" | "too-long";

/** Whether a summary of the history made up its id here, or drew how long it waits before it asks again. */
export function isOfSummary(entry: JournalEntry): boolean {
  return entry.kind === "drew" && typeof entry.value !== "object";
}

/** Whether the history was shortened here, without a summary or behind it. */
function isShortening(entry: JournalEntry): boolean {
  return entry.kind === "event" && entry.event.type === "history.compacted";
}

/** Whether a history was shortened here, or summarised for that. */
export function isOfShortening(entry: JournalEntry): boolean {
  return isOfSummary(entry) || isShortening(entry);
}

/**
 * Whether a record that goes on with this entry has such a step there. A history may be shortened where the record has first
 * a summary, or more of one, that there is not now: what was drawn for it is passed.
 */
export const goesOnWith: Readonly<Record<HistoryStep, (next: JournalEntry) => boolean>> = {
  summary: isOfSummary,
  shortened: isOfShortening,
  "too-long": (next) => next.kind === "event" && next.event.type === "prompt.failed",
};
