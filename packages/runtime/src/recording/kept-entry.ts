// 1. An entry is not changed after it was made, and it is made whole only where it is written or read.
import type { EntryContent, JournalEntry } from "./entries.ts";

/** Content that costs something to make: hashes, say. It is made where the entry is written. */
export abstract class LazyContent {
  abstract readonly kind: EntryContent["kind"];
  /** Returns the content; what it is made of has not changed since. */
  abstract plain(): EntryContent;
}

/** An entry as a tape makes it. A class of two parts: a copy of all fields into one object costs more than all else. */
export class KeptEntry {
  readonly index: number;
  readonly attempt: number;
  readonly at: number;
  readonly evaluationId: string;
  readonly content: EntryContent | LazyContent;

  constructor(
    index: number,
    attempt: number,
    at: number,
    evaluationId: string,
    content: EntryContent | LazyContent,
  ) {
    this.index = index;
    this.attempt = attempt;
    this.at = at;
    this.evaluationId = evaluationId;
    this.content = content;
  }
}

/** Returns what an entry holds. */
export function contentOf({ content }: KeptEntry): EntryContent {
  return content instanceof LazyContent ? content.plain() : content;
}

/** Returns the entry as readers get it. */
export function journalEntry(kept: KeptEntry): JournalEntry {
  const { index, attempt, at, evaluationId } = kept;
  return { index, attempt, at, evaluationId, isVoid: false, ...contentOf(kept) };
}

/** Returns an entry that was read, or made by a journal, as one of a tape. */
export function keptEntry(entry: JournalEntry): KeptEntry {
  const { index, attempt, at, evaluationId, isVoid: _isVoid, ...content } = entry;
  return new KeptEntry(index, attempt, at, evaluationId, content as EntryContent);
}
