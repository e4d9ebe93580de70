// 1. An entry is not changed after it was appended, and it is made whole only where it is written or read.
import type { EntryContent, JournalEntry, RecordedEvent } from "./entries.ts";

/**
 * An entry as a tape makes it, without its index and attempt, which follow from its place. An event says itself when it was
 * and what it belongs to: it is its own entry. A journal in memory keeps these as they are, so each is one object.
 */
export type KeptEntry = MadeEntry | RecordedEvent;

/** An entry that is no event. */
export abstract class MadeEntry {
  /** Epoch milliseconds. A tape says them when it appends the entry; NaN keeps V8 from changing the form of a number. */
  at = Number.NaN;
  /** The evaluation that it belongs to: the run's own, or one inside it. A tape says it when it appends the entry. */
  evaluationId = "";
  abstract readonly kind: EntryContent["kind"];
  /** Whether it is the request of an agent. Left out: false. */
  readonly isAgent?: boolean;
  /** Returns what it holds, made now where it costs something: hashes, say. What it is made of has not changed since. */
  abstract content(): EntryContent;
  /** What it holds, where that costs nothing; undefined: a summary learns nothing from it but its kind. */
  get known(): EntryContent | undefined {
    return undefined;
  }
}

/** An entry whose content was there when it was appended. */
class PlainEntry extends MadeEntry {
  readonly #content: EntryContent;

  constructor(content: EntryContent) {
    super();
    this.#content = content;
  }

  get kind(): EntryContent["kind"] {
    return this.#content.kind;
  }

  override get known(): EntryContent {
    return this.#content;
  }

  content(): EntryContent {
    return this.#content;
  }
}

/** Returns the entry with its time and its evaluation. */
export function entryAt(at: number, evaluationId: string, content: EntryContent | MadeEntry): MadeEntry {
  const entry = content instanceof MadeEntry ? content : new PlainEntry(content);
  entry.at = at;
  entry.evaluationId = evaluationId;
  return entry;
}

/** Returns what an entry holds. */
export function contentOf(entry: JournalEntry | KeptEntry): EntryContent {
  if (entry instanceof MadeEntry) return entry.content();
  return isWhole(entry) ? entry : { kind: "event", event: entry };
}

/** Returns what an entry holds, where nothing has to be made for it; undefined: a summary learns nothing from it. */
export function knownContent(entry: JournalEntry | KeptEntry): EntryContent | undefined {
  return entry instanceof MadeEntry ? entry.known : contentOf(entry);
}

/** Returns the kind of an entry. */
export function kindOf(entry: JournalEntry | KeptEntry): EntryContent["kind"] {
  return entry instanceof MadeEntry || isWhole(entry) ? entry.kind : "event";
}

function isWhole(entry: JournalEntry | RecordedEvent): entry is JournalEntry {
  return "isVoid" in entry;
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
  return entryAt(at, evaluationId, content as EntryContent);
}

/** Returns the id as one piece of text: V8 makes it of twenty, which a record would keep. Reading a letter joins them. */
export function flat(id: string): string {
  id.charCodeAt(0);
  return id;
}
