// 1. An entry is not changed after it was made, and it is made whole only where it is written or read.
import type { EntryContent, JournalEntry } from "./entries.ts";

/** Content that costs something to make: hashes, say. It is made where the entry is written. */
export abstract class LazyContent {
  abstract readonly kind: EntryContent["kind"];
  /** Whether it is the request of an agent. Left out: false. */
  readonly isAgent?: boolean;
  /** Returns the content; what it is made of has not changed since. */
  abstract plain(): EntryContent;
}

/**
 * An entry as a tape makes it, without its index and attempt, which follow from its place. Its content stays an object of
 * its own: a copy of all fields into one costs more than all else.
 */
export class KeptEntry {
  /** Epoch milliseconds. */
  readonly at: number;
  /** The evaluation that it belongs to: the run's own, or one inside it. */
  readonly evaluationId: string;
  /** What it holds, as it is or made where it is written. */
  readonly content: EntryContent | LazyContent;

  constructor(at: number, evaluationId: string, content: EntryContent | LazyContent) {
    this.at = at;
    this.evaluationId = evaluationId;
    this.content = content;
  }
}

/** Returns what an entry holds. */
export function contentOf({ content }: KeptEntry): EntryContent {
  return content instanceof LazyContent ? content.plain() : content;
}

/** Returns the entry as readers get it, at its place in the run. */
export function journalEntry(
  kept: KeptEntry,
  { index, attempt }: Pick<JournalEntry, "index" | "attempt">,
): JournalEntry {
  const { at, evaluationId } = kept;
  return { index, attempt, at, evaluationId, isVoid: false, ...contentOf(kept) };
}

/** Returns an entry that was read, or made by a journal, as one of a tape. */
export function keptEntry(entry: JournalEntry): KeptEntry {
  const { index: _index, attempt: _attempt, at, evaluationId, isVoid: _isVoid, ...content } = entry;
  return new KeptEntry(at, evaluationId, content as EntryContent);
}
