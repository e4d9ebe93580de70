// What stands of a run, read in order. Entries that the evaluation itself does not come to are passed on the way.
import type { FrameworkEvent } from "@proviso/core";
import type { EntryContent, EntryOf, JournalEntry } from "./entries.ts";
import { isAnnouncement } from "./steps.ts";

/** Kinds that the evaluation comes to by itself, in the order of the record. */
const met = new Set<EntryContent["kind"]>([
  "event",
  "attempt",
  "asked",
  "called",
  "delta",
  "answered",
  "waited",
  "drew",
  "checked",
  "stopped",
]);

function isMet(entry: JournalEntry, own: ReadonlySet<string>): boolean {
  // Older records have limits that evaluations inside calls have met.
  const isOthers = entry.kind === "stopped" && !own.has(entry.evaluationId);
  return met.has(entry.kind) && !isOthers && !isResumption(entry);
}

/** Whether an entry says that the run goes on, which the evaluation itself does not come to. */
function isResumption(entry: JournalEntry): boolean {
  return entry.kind === "resumed" || (entry.kind === "event" && entry.event.type === "run.resumed");
}

/** The entries that stand, and how far the evaluation has come in them. */
export class Prefix {
  readonly entries: readonly JournalEntry[];
  /** The place of the entry that is next. */
  at = 0;
  /** Evaluations that come to their entries themselves: the run's own, and those beside its calls. */
  readonly own = new Set<string>();
  /** Takes an entry that the evaluation does not come to: an event of an evaluation inside, say. */
  readonly #pass: (entry: JournalEntry) => void;
  /** The time of the entry that was taken last. */
  readonly #timed: (at: number) => void;

  constructor(
    entries: readonly JournalEntry[],
    on: { readonly pass: (entry: JournalEntry) => void; readonly timed: (at: number) => void },
  ) {
    this.entries = entries;
    this.#pass = on.pass;
    this.#timed = on.timed;
  }

  /** Returns the entry that the evaluation comes to next, which stays where it is; undefined: there is none. */
  peek(): JournalEntry | undefined {
    let place = this.at;
    for (; place < this.entries.length; place++) {
      const entry = this.entries[place] as JournalEntry;
      if (isMet(entry, this.own) && this.own.has(entry.evaluationId)) return entry;
      // A run goes on when something happens that was not recorded, and not before.
      if (place === this.at && !isResumption(entry)) {
        this.at++;
        this.#pass(entry);
      }
    }
    return undefined;
  }

  /** Returns the event that the evaluation emits next; undefined: another entry comes before. */
  nextEvent(): FrameworkEvent | undefined {
    const next = this.peek();
    return next?.kind === "event" ? next.event : undefined;
  }

  /** Returns the entry that the evaluation comes to next, and passes nothing on the way; undefined: there is none. */
  look(): JournalEntry | undefined {
    for (let place = this.at; place < this.entries.length; place++) {
      const entry = this.entries[place] as JournalEntry;
      if (isMet(entry, this.own) && this.own.has(entry.evaluationId)) return entry;
    }
    return undefined;
  }

  /** Whether the evaluation comes to more than the announcement of the answer that it has. */
  hasMore(): boolean {
    for (let place = this.at; place < this.entries.length; place++) {
      const entry = this.entries[place] as JournalEntry;
      if (isMet(entry, this.own) && this.own.has(entry.evaluationId) && !isAnnouncement(entry)) return true;
    }
    return false;
  }

  /** Passes that the run went on, and with what, where that is next. */
  passResumption(): void {
    for (; this.at < this.entries.length; this.at++) {
      const entry = this.entries[this.at] as JournalEntry;
      if (!isResumption(entry) && entry.kind !== "adopted" && entry.kind !== "given") return;
      this.#timed(entry.at);
      this.#pass(entry);
    }
  }

  /** Whether nothing is left. */
  isEmpty(): boolean {
    return this.at >= this.entries.length;
  }

  /** Takes the next entry where it is of that kind. */
  take<Kind extends EntryContent["kind"]>(kind: Kind): EntryOf<Kind> | undefined {
    const entry = this.peek();
    if (entry?.kind !== kind) return undefined;
    for (
      let passed = this.entries[this.at++];
      passed !== undefined && passed !== entry;
      passed = this.entries[this.at++]
    ) {
      this.#pass(passed);
    }
    this.#timed(entry.at);
    return entry as EntryOf<Kind>;
  }

  /**
   * Takes a limit that was met by this question, where it is the next entry of the run's own evaluation; nothing is passed
   * on the way to another one.
   */
  nextStop(by: string): EntryOf<"stopped"> | undefined {
    let at = this.at;
    while (at < this.entries.length && !isMet(this.entries[at] as JournalEntry, this.own)) at++;
    const next = this.entries[at];
    const isNext = next?.kind === "stopped" && next.by === by && this.own.has(next.evaluationId);
    return isNext && !this.#isAmongCalls(at) ? this.take("stopped") : undefined;
  }

  /** Whether what comes behind is the end of a call: the limit was met when the calls had begun, and is taken with them. */
  #isAmongCalls(place: number): boolean {
    const next = this.entries
      .slice(place + 1)
      .find((entry) => isMet(entry, this.own) && this.own.has(entry.evaluationId));
    return next?.kind === "event" && next.event.type === "tool.invoked";
  }

  /** Takes the deltas that stand before the next entry of another kind. */
  *deltas(): Generator<EntryOf<"delta">> {
    for (let delta = this.take("delta"); delta !== undefined; delta = this.take("delta")) yield delta;
  }
}
