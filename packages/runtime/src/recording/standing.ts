// What of a record stands: the entries that the last attempt went on from, and where the next one may go on.
import type { ToolInvoked } from "@proviso/core";
import { emptyAttempts } from "./empty-attempts.ts";
import type { EntryOf, JournalEntry } from "./entries.ts";
import type { LostCall, UnknownCall } from "./run-source.ts";
import { endOfStep, StepCounter } from "./steps.ts";
import { isCut } from "./unanswered.ts";

/**
 * Returns the entries that stand, in order: those that an attempt did not go on from are left out, and so is what a call
 * had emitted that was run again. An attempt that added nothing changes nothing.
 */
export function standingEntries(entries: readonly JournalEntry[]): readonly JournalEntry[] {
  let standing: JournalEntry[] = [];
  const empty = emptyAttempts(entries);
  for (const [place, entry] of entries.entries()) {
    if (empty.has(place)) continue;
    if (entry.kind === "resumed") standing = keptOf(standing.filter(({ index }) => index < entry.kept));
    standing.push(entry);
  }
  return standing;
}

/** Returns the entries that a replay goes through: an attempt that is at its beginning has added nothing yet. */
export function entriesToReplay(entries: readonly JournalEntry[]): readonly JournalEntry[] {
  return standingEntries(entries.slice(0, entries.findLastIndex(({ kind }) => kind !== "resumed") + 1));
}

/** Leaves out what open calls, and evaluations inside them, had done: they are run again. */
function keptOf(entries: readonly JournalEntry[]): JournalEntry[] {
  const open = openCalls(entries);
  if (open.length === 0) return [...entries];
  const dropped = new Set<JournalEntry>();
  for (const { from, callId, evaluationId } of open) {
    const inside = new Set<string>();
    for (const entry of entries.slice(from)) {
      const parent = entry.kind === "event" ? entry.event.parent : undefined;
      if (
        parent !== undefined &&
        (inside.has(parent.evaluationId) || (parent.evaluationId === evaluationId && parent.callId === callId))
      )
        inside.add(entry.evaluationId);
      const isOwn = entry.evaluationId === evaluationId && callIdOf(entry) === callId;
      if (isOwn || inside.has(entry.evaluationId)) dropped.add(entry);
    }
  }
  return entries.filter((entry) => !dropped.has(entry));
}

interface OpenCall {
  readonly callId: string;
  readonly from: number;
  readonly evaluationId: string;
}

/** The calls of the run's own evaluation that were announced and have no end. */
function openCalls(entries: readonly JournalEntry[]): readonly OpenCall[] {
  const own = entries[0]?.evaluationId;
  const open = new Map<string, OpenCall>();
  for (const [from, entry] of entries.entries()) {
    if (entry.evaluationId !== own) continue;
    if (entry.kind === "committed") for (const id of entry.callIds) open.delete(id);
    if (entry.kind !== "event") continue;
    const { event } = entry;
    if (event.type === "tool.requested") {
      open.set(event.callId, { callId: event.callId, from, evaluationId: own });
    }
    if (event.type === "tool.invoked" && !event.result.success) open.delete(event.callId);
  }
  return [...open.values()];
}

/** The id of the call that an entry is about; undefined: it is about none. */
export function callIdOf(entry: JournalEntry): string | undefined {
  if (entry.kind === "event") return "callId" in entry.event ? entry.event.callId : undefined;
  return "callId" in entry ? entry.callId : undefined;
}

/** Where the next attempt goes on. */
export interface Cut {
  /** The entries that stand, up to the last step. */
  readonly entries: readonly JournalEntry[];
  /** How many entries of the record are before the cut. */
  readonly kept: number;
}

/** Whether nothing more comes of the last attempt: it has ended, or waits for a decision. */
export function isAtRest(entries: readonly JournalEntry[]): boolean {
  const last = entries.at(-1);
  if (last?.kind === "event") return last.event.type === "run.suspended";
  return last?.kind === "ended" || last?.kind === "suspended" || last?.kind === "resolved";
}

/** Returns the end of a record that is given again; undefined: it has none, or one that its run goes on after. */
export function lastingEnd(standing: readonly JournalEntry[]): EntryOf<"ended"> | undefined {
  const last = standing.findLast((entry) => entry.kind === "ended" || entry.kind === "resumed");
  return last?.kind === "ended" && last.goesOn !== true ? last : undefined;
}

/** The place of the answer that the budget of its attempt cut short: it is no step to go on from. undefined: none was. */
function cutAnswerIn(standing: readonly JournalEntry[]): number | undefined {
  const own = standing[0]?.evaluationId;
  const stop = standing.findIndex((entry) => isCut(entry) && entry.evaluationId === own);
  const answer = standing
    .slice(0, Math.max(stop, 0))
    .findLastIndex((entry) => entry.kind === "answered" && entry.evaluationId === own);
  return answer === -1 ? undefined : answer;
}

/**
 * Cuts a record after its last step: an answer of the model, or the end of a call. What a limit ended counts as no step,
 * for the run goes on with other limits.
 */
export function cutAfterLastStep(standing: readonly JournalEntry[]): Cut {
  const own = standing[0]?.evaluationId;
  const stoppedAt = standing.findIndex((entry) => entry.kind === "stopped" && entry.evaluationId === own);
  const end = cutAnswerIn(standing) ?? stoppedAt;
  const before = end === -1 ? standing : standing.slice(0, end);
  const counter = new StepCounter();
  let last = -1;
  for (const [place, entry] of before.entries()) if (counter.add(entry) > 0) last = place;
  last = endOfStep(before, last);
  // What was begun without a step begins again, with its session.
  const entries = before.slice(0, Math.max(last, 0) + 1);
  return { entries: keptOf(entries), kept: (entries.at(-1)?.index ?? -1) + 1 };
}

/**
 * The calls of the run's own evaluation that had begun in any attempt, and whose end was not kept, or that a limit stopped. They are read from the
 * whole record: what an attempt did not go on from may have been done all the same. Those of an agent are not among them:
 * it begins its turn again, and calls anew.
 */
export function unknownCalls(entries: readonly JournalEntry[]): readonly UnknownCall[] {
  return followedCalls(entries).open;
}

/**
 * The indexes of the ends of calls that were not known to be done, and that a later attempt did not run again: a policy
 * refused that, or nothing was known. They may have been done all the same.
 */
export function endsNotKnown(entries: readonly JournalEntry[]): ReadonlySet<number> {
  return followedCalls(entries).refused;
}

function followedCalls(entries: readonly JournalEntry[]): {
  readonly open: readonly UnknownCall[];
  readonly refused: ReadonlySet<number>;
} {
  const refused = new Set<number>();
  const own = entries[0]?.evaluationId;
  const counter = new StepCounter();
  // Ids of calls repeat from turn to turn.
  const keyOf = (turn: number, callId: string): string => `${turn} ${callId}`;
  const names = new Map<string, string>();
  const begun = new Map<string, UnknownCall>();
  const stops = new AttemptStops();
  for (const entry of entries) {
    counter.add(entry);
    stops.add(entry);
    if (entry.evaluationId !== own || counter.isInTurn) continue;
    if (entry.kind === "started" || entry.kind === "finished") {
      const { turn, callId } = entry;
      const key = keyOf(turn, callId);
      const isFinished = entry.kind === "finished" || begun.get(key)?.isFinished === true;
      begun.set(key, { turn, callId, name: names.get(key) ?? "", isFinished, isStopped: false });
    } else if (entry.kind === "committed") {
      for (const callId of entry.callIds) begun.delete(keyOf(entry.turn, callId));
    } else if (entry.kind === "suspended") {
      for (const [key, call] of Array.from(begun)) begun.set(key, { ...call, isStopped: true });
    } else if (entry.kind === "event") {
      const { event } = entry;
      if (event.type === "tool.requested") names.set(keyOf(event.turn, event.callId), event.name);
      if (event.type !== "tool.invoked" || event.result.success) continue;
      const key = keyOf(event.turn, event.callId);
      const call = begun.get(key);
      if (call !== undefined && !event.ran && !stops.hasBegun(event)) refused.add(entry.index);
      if (!stops.leftOpen(event)) begun.delete(key);
      else if (call !== undefined) begun.set(key, { ...call, isStopped: true });
    }
  }
  return { open: [...begun.values()], refused };
}

/** Follows a record, and knows the calls that a limit stopped: they may have been done, whatever the attempt answered. */
export class AttemptStops {
  #own: string | undefined;
  #isStopped = false;
  /** Calls that began in this attempt. */
  readonly #begun = new Set<string>();

  add(entry: JournalEntry): void {
    this.#own ??= entry.evaluationId;
    if (entry.kind === "resumed") {
      this.#isStopped = false;
      this.#begun.clear();
    }
    if (entry.evaluationId !== this.#own) return;
    if (entry.kind === "stopped") this.#isStopped = true;
    if (entry.kind === "started") this.#begun.add(`${entry.turn} ${entry.callId}`);
  }

  /** What became of a call of which it was kept that its handler begins, and whose end was a failure. */
  effectOf(event: Pick<ToolInvoked, "turn" | "callId" | "ran">): "not-started" | "unknown" | "undone" {
    // The record says that the handler begins, and then it was too late.
    if (!event.ran) return "not-started";
    return this.leftOpen(event) ? "unknown" : "undone";
  }

  /** Whether a call whose end was a failure may have been done: not where it was kept from beginning in this attempt. */
  leftOpen({ turn, callId, ran }: Pick<ToolInvoked, "turn" | "callId" | "ran">): boolean {
    return this.#isStopped && (ran || !this.hasBegun({ turn, callId }));
  }

  /** Whether the call has begun in this attempt. */
  hasBegun({ turn, callId }: Pick<ToolInvoked, "turn" | "callId">): boolean {
    return this.#begun.has(`${turn} ${callId}`);
  }
}

/**
 * The calls of an agent's turn that has no answer, in any attempt since the last one that has: what they did may be there,
 * though the turn does not stand. What a call had undone is not among them.
 */
export function lostCalls(entries: readonly JournalEntry[]): readonly LostCall[] {
  const own = entries[0]?.evaluationId;
  const counter = new StepCounter();
  const stops = new AttemptStops();
  let lost: LostCall[] = [];
  for (const entry of entries) {
    stops.add(entry);
    // An answer ends the turn; a failure leaves it lost.
    if (counter.add(entry) > 0 && entry.kind === "answered") lost = [];
    if (entry.evaluationId !== own || !counter.isInTurn) continue;
    if (entry.kind === "event" && entry.event.type === "tool.requested") {
      const { turn, callId, name } = entry.event;
      lost.push({ turn, callId, name, isStarted: false, isFinished: false });
    }
    const end = entry.kind === "event" && entry.event.type === "tool.invoked" ? entry.event : undefined;
    const ended = end?.result.success === false && !stops.leftOpen(end);
    const callId = callIdOf(entry);
    const last = lost.findLastIndex((call) => call.callId === callId);
    const call = lost[last];
    if (call === undefined) continue;
    if (ended) lost.splice(last, 1);
    else if (entry.kind === "started") lost[last] = { ...call, isStarted: true };
    else if (entry.kind === "finished") lost[last] = { ...call, isFinished: true };
  }
  return lost.filter(({ isStarted }) => isStarted);
}

/** Returns the entries up to a step, without calls that were open then; undefined: there is no such step. 0: the beginning. */
export function entriesToStep(standing: readonly JournalEntry[], step: number): readonly JournalEntry[] | undefined {
  if (step === 0) return standing.slice(0, 1);
  const counter = new StepCounter();
  const cutAnswer = cutAnswerIn(standing);
  let steps = 0;
  for (const [place, entry] of standing.entries()) {
    steps += counter.add(entry);
    if (steps === step && place === cutAnswer) return entriesToStep(standing, step - 1);
    if (steps === step) {
      const kept = standing.slice(0, endOfStep(standing, place) + 1);
      return keptOf(withoutLimits(kept.filter(({ kind }) => kind !== "resumed")));
    }
    if (steps > step) return undefined;
  }
  return undefined;
}

/** What goes on from these entries has limits of its own, but what the old ones made of calls stands. */
function withoutLimits(entries: readonly JournalEntry[]): readonly JournalEntry[] {
  const own = entries[0]?.evaluationId;
  const stop = entries.findIndex(({ kind, evaluationId }) => kind === "stopped" && evaluationId === own);
  if (stop === -1) return entries;
  return entries.flatMap((entry, place): readonly JournalEntry[] => {
    if (place < stop || entry.evaluationId !== own) return [entry];
    if (entry.kind === "stopped") return [];
    return entry.kind === "event" && entry.event.type === "tool.invoked" ? [fixedAt(entry), entry] : [entry];
  });
}

/** Returns the entry which says that a call does not come to its end by its handler, for the entry of that end. */
export function fixedAt({ index, attempt, at, evaluationId, isVoid }: JournalEntry): JournalEntry {
  return { index, attempt, at, evaluationId, isVoid, kind: "fixed" };
}
