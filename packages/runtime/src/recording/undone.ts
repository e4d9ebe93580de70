// What of a record does not stand in the state: the events of calls, and of attempts, that were undone.
import type { JournalEntry } from "./entries.ts";

/**
 * What became of an event: "undone" with a failed call, which had emitted it itself or in an evaluation inside it, so that
 * logs alone have it; "vetoed", so that no state has it; undefined: it stands.
 */
export type Fate = "undone" | "vetoed" | undefined;

const none: ReadonlyMap<JournalEntry, Fate> = new Map();

/** The events that do not stand. */
export function undoneAmong(entries: readonly JournalEntry[]): ReadonlyMap<JournalEntry, Fate> {
  return allStand(entries) ? none : fates(entries);
}

/** Whether these are events of one evaluation, with calls that have each begun once and ended once, with success. */
function allStand(entries: readonly JournalEntry[]): boolean {
  const open = new Set<string>();
  let of: string | undefined;
  for (const entry of entries) {
    if (entry.kind !== "event") continue;
    const { event, evaluationId } = entry;
    if (evaluationId !== (of ??= evaluationId) || event.parent !== undefined) return false;
    if (event.type === "evaluation.restarted") return false;
    if (event.type === "tool.requested") {
      if (open.has(event.callId)) return false;
      open.add(event.callId);
    } else if (event.type === "tool.invoked" && !(event.result.success && open.delete(event.callId))) return false;
  }
  return open.size === 0;
}

function fates(entries: readonly JournalEntry[]): ReadonlyMap<JournalEntry, Fate> {
  const keyOf = (evaluationId: string, callId: string): string => JSON.stringify([evaluationId, callId]);
  const parents = new Map<string, { readonly evaluationId: string; readonly callId: string }>();
  for (const entry of entries) {
    if (entry.kind === "event" && entry.event.parent !== undefined) parents.set(entry.evaluationId, entry.event.parent);
  }
  const undone = new Map<JournalEntry, Fate>();
  /** Whether the call whose events come before this place succeeds, by call. */
  const succeeds = new Map<string, boolean>();
  const open = openedAmong(entries, keyOf);
  const restarted = restartedAmong(entries);
  const isUndone = (evaluationId: string, callId: string | undefined, place: number): boolean => {
    if (callId !== undefined) {
      const key = keyOf(evaluationId, callId);
      if (succeeds.get(key) === false || place >= (open.get(key) ?? Infinity)) return true;
    }
    if (restarted.get(evaluationId)?.some(({ from, to }) => from <= place && place < to) === true) return true;
    const parent = parents.get(evaluationId);
    if (parent === undefined || parent.evaluationId === evaluationId) return false;
    return isUndone(parent.evaluationId, parent.callId, place);
  };
  for (let place = entries.length - 1; place >= 0; place--) {
    const entry = entries[place] as JournalEntry;
    if (entry.kind !== "event" || entry.event.type === "run.suspended") continue;
    const { event, evaluationId } = entry;
    const callId = "callId" in event ? event.callId : undefined;
    if (event.type === "tool.invoked") {
      const key = keyOf(evaluationId, event.callId);
      // A success that could not be recorded is followed by its failure.
      const isVetoed = succeeds.has(key);
      if (isVetoed) undone.set(entry, "vetoed");
      else if (isUndone(evaluationId, undefined, place)) undone.set(entry, "undone");
      if (!isVetoed) succeeds.set(key, event.result.success);
      continue;
    }
    if (isUndone(evaluationId, event.type === "feedback.given" ? undefined : callId, place))
      undone.set(entry, "undone");
    if (event.type === "tool.requested" && callId !== undefined) succeeds.delete(keyOf(evaluationId, callId));
  }
  return undone;
}

/** Whether the call that dispatched an event was undone although it had succeeded, with the attempt that it was part of. */
export function dispatchesUndone(
  entries: readonly JournalEntry[],
  undone: ReadonlyMap<JournalEntry, Fate>,
): (entry: JournalEntry) => boolean {
  const gone = new Set<JournalEntry>();
  let isGone = false;
  for (const entry of entries) {
    if (entry.kind === "event" && entry.event.type === "tool.invoked") isGone = undone.has(entry);
    else if (entry.kind === "dispatched" && entry.callId !== undefined && isGone) gone.add(entry);
  }
  return (entry) => gone.has(entry);
}

/** What evaluations did before they began again with another model, by evaluation. */
function restartedAmong(
  entries: readonly JournalEntry[],
): ReadonlyMap<string, readonly { readonly from: number; readonly to: number }[]> {
  const since = new Map<string, number>();
  const restarted = new Map<string, { readonly from: number; readonly to: number }[]>();
  for (const [place, entry] of entries.entries()) {
    if (entry.kind !== "event") continue;
    const { event, evaluationId } = entry;
    const isAgain = event.type === "evaluation.restarted";
    if (isAgain) {
      const before = restarted.get(evaluationId) ?? [];
      restarted.set(evaluationId, [...before, { from: since.get(evaluationId) ?? 0, to: place }]);
    }
    if (isAgain || event.type === "prompt.rendered") since.set(evaluationId, place + 1);
  }
  return restarted;
}

/** The calls that have no end, and where they begin: what a suspended run, or a process that ended, had begun is undone. */
function openedAmong(
  entries: readonly JournalEntry[],
  keyOf: (evaluationId: string, callId: string) => string,
): ReadonlyMap<string, number> {
  const open = new Map<string, number>();
  for (const [place, entry] of entries.entries()) {
    if (entry.kind !== "event") continue;
    const { event, evaluationId } = entry;
    if (event.type === "tool.requested") open.set(keyOf(evaluationId, event.callId), place);
    else if (event.type === "tool.invoked") open.delete(keyOf(evaluationId, event.callId));
  }
  return open;
}
