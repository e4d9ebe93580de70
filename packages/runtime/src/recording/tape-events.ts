// The events of a recorded evaluation: compared with those of the record, then numbered and appended.
import type { AppEvent } from "@proviso/core";
import { frozenJson, toJsonValue } from "@proviso/core/internal";
import type { Run } from "../run.ts";
import type { UnnumberedEvent } from "../session/session-core.ts";
import { differenceIn, isSameJson } from "./compare.ts";
import type { NumberedEvent } from "./contract.ts";
import type { EntryContent, JournalEntry, RecordedEvent } from "./entries.ts";
import type { PendingEvent } from "../transactions/transaction.ts";
import { TapeFault } from "./fault.ts";
import { goesOnWith, isOfShortening, isOfSummary, type HistoryStep } from "./history-steps.ts";
import { emitEntry } from "./kept-calls.ts";
import { TapeEntries } from "./tape-entries.ts";

/** Events that a record does not hold: they follow from its deltas. */
const derived = new Set(["text.delta", "text.reset", "output.delta", "reasoning.delta"]);

function isDerived({ type }: { readonly type: string }): boolean {
  return derived.has(type);
}

/** What is counted anew in each attempt. */
const ofEach = ["seq", "sessionId", "at"] as const;

/**
 * What an event says of the surroundings of its attempt: it may differ in the next one. How many messages are sent is one
 * more where the adapter puts the files of tools into a message of their own; the conversation is compared by its hashes.
 */
const ofAttempt: ReadonlyMap<unknown, ReadonlySet<string>> = new Map([
  ["prompt.rendered", new Set([...ofEach, "limits"])],
  ["provider.requested", new Set([...ofEach, "messages"])],
]);
const ofAttemptElse: ReadonlySet<string> = new Set(ofEach);

export class TapeEvents extends TapeEntries {
  /** Whether a limit was met. Before the end of what stands nothing more is emitted then: the record stays as it is. */
  isStopped = false;

  number(run: Pick<Run, "core" | "evaluationId" | "isInside">, filled: object): NumberedEvent | undefined {
    if (this.fault !== undefined || (this.isStopped && !this.isLive && !this.isReplay)) return undefined;
    const event = filled as UnnumberedEvent & { at: number };
    const follows = isDerived(event);
    if (!this.isLive && !run.isInside) {
      if (follows) {
        event.at = this.now;
        return { event: run.core.number(event), isEmitted: this.isReplay };
      }
      if (event.type === "provider.requested") this.#passHistory(isOfShortening, event.type);
      if (event.type === "history.compacted") this.#passHistory(isOfSummary, event.type);
      const recorded = this.prefix.peek();
      if (recorded !== undefined) return this.#keptEvent(run, event, recorded);
      this.goLive();
    }
    event.at = follows ? this.now : this.tick();
    const numbered = run.core.number(event);
    if (!follows) this.appendEvent(numbered as RecordedEvent);
    return { event: numbered, isEmitted: true };
  }

  announced({ isInside }: Pick<Run, "isInside">): void {
    if (this.isLive || isInside || this.isStopped || this.fault !== undefined) return;
    if (this.sendsNothing || this.prefix.peek() !== undefined) this.prefix.passResumption();
    else this.goLive();
  }

  keepsHistory(run: Run, step: HistoryStep): boolean {
    const next = this.#adoptedNext(run);
    if (next === undefined || next.kind === "stopped" || goesOnWith[step](next)) return false;
    this.differ(next, { what: "event", path: "type", recorded: next.kind, now: "history.compacted" });
    return true;
  }

  repeats(run: Run): boolean {
    const next = this.#adoptedNext(run);
    return next !== undefined && isOfShortening(next);
  }

  /** What the record goes on with, where that may differ from what there is now. */
  #adoptedNext({ isInside }: Run): JournalEntry | undefined {
    const next = this.isLive || isInside ? undefined : this.prefix.look();
    return next !== undefined && this.isAdopted(next) ? next : undefined;
  }

  /** Passes what shortened the recorded history, as far as the history is not shortened like that now. */
  #passHistory(isPassed: (entry: JournalEntry) => boolean, now: string): void {
    for (;;) {
      const next = this.prefix.peek();
      if (next === undefined || this.main === undefined || !this.isAdopted(next) || !isPassed(next)) return;
      this.differ(next, { what: "event", path: "type", recorded: next.kind, now });
      this.prefix.take(next.kind);
      emitEntry(next, this.deliveryTo(this.main));
    }
  }

  #keptEvent(
    run: Pick<Run, "core" | "evaluationId">,
    now: UnnumberedEvent & { at: number },
    recorded: JournalEntry,
  ): NumberedEvent {
    if (recorded.kind !== "event") {
      this.diverge({ what: "event", path: "type", recorded: recorded.kind, now: now.type });
    }
    const { event } = recorded;
    // Observers begin a summary a little later than it begins without them.
    if (run.evaluationId !== this.evaluationId && "durationMs" in event && "durationMs" in now) {
      now = { ...now, durationMs: event.durationMs };
    }
    const found = isSameEvent(event, now)
      ? undefined
      : differenceIn(comparable(event), comparable(toJsonValue(now)?.value));
    if (found !== undefined) {
      const difference = { what: "event", ...found, path: `${event.type}: ${found.path}` } as const;
      // Another prompt, model or override may change what an event says, and not which one comes.
      if (now.type === event.type) this.differ(recorded, difference);
      else this.diverge(difference);
    }
    this.prefix.take("event");
    run.core.renumber(event.seq);
    now.at = event.at;
    const isSame = event.sessionId === run.core.session.id;
    const numbered = run.core.number(now);
    return { event: isSame ? frozenJson(event) : numbered, isEmitted: this.isReplay };
  }

  dispatched(run: Run, { event, callId, before, order, by }: PendingEvent): boolean {
    if (!this.isLive) return this.isReplay;
    if (this.fault !== undefined || this.delivering.has(event)) return true;
    this.tick();
    // Listeners receive it later where an attempt is under way.
    if (run.attempt !== undefined) this.delivering.add(event);
    // The last event is the end of the call.
    const place = before === run.core.nextSeq - 1 && order === 0 ? {} : placeOf(before, order);
    this.#keep(run.evaluationId, event, (copy) => ({
      kind: "dispatched",
      event: copy,
      callId,
      ...place,
      ...(by === run ? {} : { isInside: true }),
    }));
    return true;
  }

  undone(run: Run, events: readonly PendingEvent[]): void {
    if (!this.isLive) return;
    for (const { event, before, order } of events) {
      // What counts already is undone with its attempt, and known so.
      if (this.fault !== undefined || this.delivering.has(event) || !run.core.isLogged(event)) continue;
      this.#keep(run.evaluationId, event, (copy) => ({ kind: "undone", event: copy, ...placeOf(before, order) }));
    }
  }

  /** An event of the application, beside the run's calls. */
  protected keepDispatched({ evaluationId, core }: Run, event: AppEvent, order: number): void {
    const place = placeOf(core.nextSeq, order);
    this.#keep(evaluationId, event, (copy) => ({ kind: "dispatched", event: copy, callId: undefined, ...place }));
  }

  /** Keeps a copy: an application's event may hold what changes later. */
  #keep(evaluationId: string, event: AppEvent, content: (copy: AppEvent) => EntryContent): void {
    const copy = toJsonValue(event);
    if (copy === undefined) {
      const message = `The run "${this.runId}" cannot be kept: the event "${event.type}" cannot be written as JSON.`;
      this.fault ??= new TapeFault("journal", message);
      return;
    }
    this.appendAt(evaluationId, content(copy.value as AppEvent));
  }
}

function placeOf(before: number, order: number): { readonly before: number; readonly order?: number } {
  return order === 0 ? { before } : { before, order };
}

/** Whether nothing that has to be the recorded one differs, found without a copy; false: perhaps something does. */
function isSameEvent(recorded: object, now: object): boolean {
  const [before, after] = [recorded, now] as Readonly<Record<string, unknown>>[];
  if (before === undefined || after === undefined) return false;
  const free = ofAttempt.get(before["type"]) ?? ofAttemptElse;
  let fields = 0;
  for (const name in after) {
    if (free.has(name) || after[name] === undefined) continue;
    if (!isSameJson(before[name], after[name])) return false;
    fields += 1;
  }
  for (const name in before) if (!free.has(name)) fields -= 1;
  return fields === 0;
}

/** Returns the fields of an event that have to be the recorded ones. */
function comparable(event: unknown): unknown {
  const fields = event as Readonly<Record<string, unknown>>;
  const free = ofAttempt.get(fields["type"]) ?? ofAttemptElse;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !free.has(name)));
}
