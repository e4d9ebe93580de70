// What calls had dispatched, reduced again where it was reduced: a log, or another reducer, may have seen it there.
import type { AppEvent, FrameworkEvent } from "@proviso/core";
import { frozenInDepth } from "@proviso/core/internal";
import type { SessionCore } from "../session/session-core.ts";
import type { EntryOf, JournalEntry } from "./entries.ts";

type Dispatched = EntryOf<"dispatched"> | EntryOf<"undone">;

/** What a call had dispatched, and where. */
interface Placed {
  readonly entry: Dispatched;
  readonly isUndone: boolean;
  readonly before: number;
  readonly order: number;
}

/** The application's events among these entries that calls had dispatched. */
export class Dispatches {
  /** Events that are not reduced yet, the last one first. */
  readonly #waiting: Placed[] = [];
  /** What was read of an entry: the same object for session, listeners and record. */
  readonly #events = new Map<number, AppEvent>();
  readonly #core: SessionCore;

  /** `isUndone`: whether a dispatch was undone although its call counts. */
  constructor(entries: readonly JournalEntry[], core: SessionCore, isUndone: (entry: JournalEntry) => boolean) {
    this.#core = core;
    let end = 0;
    for (const entry of entries) {
      if (entry.kind === "event" && entry.event.type === "tool.invoked") end = entry.event.seq;
      const isOfCall = entry.kind === "undone" || (entry.kind === "dispatched" && entry.callId !== undefined);
      if (!isOfCall) continue;
      const { before = end, order = 0 } = entry;
      this.#waiting.push({ entry, isUndone: entry.kind === "undone" || isUndone(entry), before, order });
    }
    this.#waiting.sort((a, b) => b.before - a.before || b.order - a.order || b.entry.index - a.entry.index);
  }

  /** Reduces what was reduced before the event of this number, and there before this turn. */
  reduceBefore(seq: number, order: number): void {
    const isBefore = (next: Placed): boolean => next.before < seq || (next.before === seq && next.order < order);
    for (let next = this.#waiting.at(-1); next !== undefined && isBefore(next); next = this.#waiting.at(-1)) {
      this.#waiting.pop();
      const { entry, isUndone } = next;
      const { evaluationId } = entry;
      const event = this.eventOf(entry);
      if (isUndone) reduceInLogs(this.#core, event, evaluationId);
      else this.#core.reduce(event, { evaluationId, callId: "callId" in entry ? entry.callId : undefined });
    }
  }

  /** The event of an entry, as it was reduced. */
  eventOf({ index, event }: Dispatched): AppEvent {
    const known = this.#events.get(index) ?? frozenInDepth(event);
    this.#events.set(index, known);
    return known;
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
