// What a fork begins with: the entries of another run up to a step.
import { DefinitionError, JournalError, type ToolReturn, type ToolResult } from "@proviso/core";
import { returnedResult, shortHash, toJsonValue } from "@proviso/core/internal";
import { namedValue } from "@proviso/runtime/internal";
import { entriesToStep, fixedAt, standingEntries, withDecisions, type JournalEntry } from "@proviso/runtime/recording";
import type { ReadRun } from "./reading.ts";

/** A step of a run. */
export interface ForkPoint {
  readonly id: string;
  readonly at: number;
  readonly result: ToolReturn<unknown> | undefined;
}

/**
 * Returns the entries of a fork, numbered anew. `all`: those of its origin.
 * @throws {JournalError} "not_found" for a step that is not there. {DefinitionError} for a result of a step that is no call.
 */
export function forkedEntries(all: readonly JournalEntry[], { id, at, result }: ForkPoint): readonly JournalEntry[] {
  const kept = entriesToStep(standingEntries(all), at);
  if (kept === undefined) throw noStep(id, at);
  const decided = withDecisions(kept, all);
  const entries = result === undefined ? decided : withResult(decided, { id, at, result });
  return entries.map((entry, index) => ({ ...withoutUnanswered(entry), index, attempt: 1 }));
}

/** What its origin had spent beside the steps is not the fork's. */
function withoutUnanswered(entry: JournalEntry): JournalEntry {
  if (entry.kind !== "event" || entry.event.type !== "run.resumed") return entry;
  const { unanswered: _, ...event } = entry.event;
  return { ...entry, event };
}

/** Where a fork begins, as its summary keeps it. */
export interface SavedFork {
  readonly id: string;
  readonly at: number;
  /** The hash of the result that was put in place of the step's own. Left out: none was. */
  readonly result?: string | undefined;
  /** When it was begun, in epoch milliseconds. Left out: a build that did not keep it has made it. */
  readonly begunAt?: number | undefined;
}

export function savedFork({ id, at, result }: ForkPoint): SavedFork {
  return result === undefined ? { id, at } : { id, at, result: shortHash(resultOf(result)) };
}

/** Whether a run began as this fork: it is gone on with then, as a run is. */
export function isForkOf({ forkOf }: Pick<ReadRun, "forkOf">, from: ForkPoint): boolean {
  const { id, at, result } = savedFork(from);
  return forkOf !== undefined && forkOf.id === id && forkOf.at === at && forkOf.result === result;
}

export function noStep(id: string, step: number | undefined): JournalError {
  return new JournalError(`The run "${id}" has no step ${step}.`, { reason: "not_found", run: id });
}

/** Puts another result in place of what the last step, a call, came to. */
function withResult(entries: readonly JournalEntry[], { id, at, result }: ForkPoint): readonly JournalEntry[] {
  const own = entries[0]?.evaluationId;
  const last = entries.findLast((entry) => entry.evaluationId === own && callIdOf(entry) !== undefined);
  const isCall = last !== undefined && !isAnswer(entries.findLast((entry) => isAnswer(entry) || entry === last));
  const callId = isCall ? callIdOf(last) : undefined;
  if (callId === undefined) throw new DefinitionError(`Step ${at} of the run "${id}" is no call, so it has no result.`);
  const shown = resultOf(result as ToolReturn<unknown>);
  // Ids of calls repeat from turn to turn.
  const turnBegins = entries.findLastIndex((entry) => entry.evaluationId === own && isAnswer(entry));
  const others = entries.flatMap((entry, place): JournalEntry[] => {
    if (place < turnBegins || entry.evaluationId !== own) return [entry];
    // What the call had dispatched and changed is part of what it came to.
    if ((entry.kind === "dispatched" || entry.kind === "changed") && entry.callId === callId) return [];
    if (entry.kind === "committed" && entry.callIds.includes(callId)) {
      const callIds = entry.callIds.filter((each) => each !== callId);
      return callIds.length === 0 ? [] : [{ ...entry, callIds }];
    }
    if (entry.kind !== "event" || entry.event.type !== "tool.invoked" || entry.event.callId !== callId) return [entry];
    return [fixedAt(entry), { ...entry, event: { ...entry.event, result: shown } }];
  });
  const { turn } = entries.findLast((entry) => "turn" in entry) as { readonly turn: number };
  const { index, attempt, at: time, evaluationId, isVoid } = last as JournalEntry;
  const base = { index, attempt, at: time, evaluationId, isVoid };
  return shown.success ? [...others, { ...base, kind: "committed", turn, callIds: [callId] }] : others;
}

const isAnswer = (entry: JournalEntry | undefined): boolean => entry?.kind === "answered";

/** The call that ends with an entry; undefined: none does. */
function callIdOf(entry: JournalEntry): string | undefined {
  if (entry.kind === "committed") return entry.callIds.at(-1);
  return entry.kind === "event" && entry.event.type === "tool.invoked" ? entry.event.callId : undefined;
}

/** A result as an event has it. */
function resultOf(given: ToolReturn<unknown>): ToolResult {
  const made = returnedResult(given);
  if (made?.success === false) return { success: false, message: made.message };
  const returned: unknown = made === undefined ? given : made.value;
  const { message = "", hideValue = false } = made ?? {};
  const value = toJsonValue(returned)?.value ?? null;
  const result = { success: true, message, value, hideValue } as const;
  return returned === undefined ? result : namedValue(result);
}
