// What calls had dispatched, reduced again where it was reduced: a log, or another reducer, may have seen it there.
import type { AppEvent, FrameworkEvent } from "@proviso/core";
import { frozenInDepth } from "@proviso/core/internal";
import type { SessionCore } from "../session/session-core.ts";
import type { EntryOf, JournalEntry } from "./entries.ts";

type Dispatched = EntryOf<"dispatched"> | EntryOf<"undone">;

/** An application's event that is delivered when its call counts. */
export interface Delivered {
  readonly event: AppEvent;
  /** Whether a call inside of that one dispatched it: the stream does not have it. */
  readonly isInside: boolean;
}

/** The application's events among these entries that calls had dispatched. */
export class Dispatches {
  /** Events that were reduced before another one than the end of their call, the last one first. */
  readonly #early: Dispatched[] = [];
  /** What was read of an entry: the same object for session, listeners and record. */
  readonly #events = new Map<number, AppEvent>();
  readonly #core: SessionCore;

  /** `isUndone`: whether a dispatch was undone although its call counts. */
  constructor(entries: readonly JournalEntry[], core: SessionCore, isUndone: (entry: JournalEntry) => boolean) {
    this.#core = core;
    for (const entry of entries) {
      if (entry.kind === "undone" || (entry.kind === "dispatched" && entry.before !== undefined)) {
        const { event, before = 0 } = entry;
        this.#early.push(isUndone(entry) ? { ...entry, kind: "undone", event, before } : entry);
      }
    }
    this.#early.sort((a, b) => (b.before ?? 0) - (a.before ?? 0) || b.index - a.index);
  }

  /** Reduces what was reduced before the event of this number. */
  reduceBefore(seq: number): void {
    for (let next = this.#early.at(-1); next !== undefined && (next.before ?? 0) <= seq; next = this.#early.at(-1)) {
      this.#early.pop();
      const event = this.#eventOf(next);
      const { evaluationId } = next;
      if (next.kind === "undone") reduceInLogs(this.#core, event, evaluationId);
      else this.#core.reduce(event, { evaluationId, callId: next.callId });
    }
  }

  /** Reduces the rest of what a call had dispatched, and returns all of it in its order. `after`: the entries behind its end. */
  ended(callId: string, after: Iterable<JournalEntry>): readonly Delivered[] {
    const delivered: Delivered[] = [];
    for (const entry of after) {
      if (entry.kind !== "dispatched" || entry.callId !== callId) break;
      const event = this.#eventOf(entry);
      delivered.push({ event, isInside: entry.isInside === true });
      if (entry.before === undefined) this.#core.reduce(event, { evaluationId: entry.evaluationId, callId });
    }
    return delivered;
  }

  #eventOf({ index, ...entry }: Dispatched): AppEvent {
    const known = this.#events.get(index);
    const event = known ?? frozenInDepth(entry.event);
    this.#events.set(index, event);
    return event;
  }
}

/** Reduces an event and takes it back: logs keep what is rolled back. */
export function reduceInLogs(core: SessionCore, event: AppEvent | FrameworkEvent, evaluationId: string): void {
  const mark = core.mark();
  core.open(mark, evaluationId);
  core.reduce(event, { evaluationId });
  core.rollback(mark);
  core.close(mark);
}
