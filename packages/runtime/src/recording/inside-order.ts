// 1. An answer of a record is given to an evaluation inside a call when all that the others inside that call had come to
//    before it has been come to again.
// 2. What waits for longer than it had waited when it was recorded, and a second, while nothing comes, waits in vain.
import { systemClock } from "@proviso/core";
import type { EntryOf, JournalEntry } from "./entries.ts";
import { addTo } from "./queues.ts";
import { isDerived } from "./tape-events.ts";

/** A request of an evaluation inside a call, as the record has it. */
export interface InsideRequest {
  readonly asked: EntryOf<"asked">;
  /** undefined: there was none before the call ended, which had left the evaluation behind. */
  readonly answered: EntryOf<"answered"> | undefined;
  /** How many entries the evaluations inside the call had before the answer, by the evaluation. */
  readonly before: ReadonlyMap<string, number>;
  /** Whether the entry before the answer is an event or a request of another evaluation: something had run meanwhile. */
  readonly isAfterOther: boolean;
  /** Milliseconds that passed before its answer, or before the end of the call. */
  readonly waitedMs: number;
}

/** How long something waits in vain, beside what it had waited when it was recorded. */
const patienceMs = 1_000;

/** Returns the requests of evaluations inside calls, by their key and in their order. */
export function insideRequests(
  entries: readonly JournalEntry[],
  keyOf: (asked: EntryOf<"asked">) => string | undefined,
): Map<string, InsideRequest[]> {
  const own = entries[0]?.evaluationId;
  const requests = new Map<string, InsideRequest[]>();
  const calls = new Map<string, InsideCall>();
  /** The call that each evaluation is inside. */
  const around = new Map<string, InsideCall>();
  for (const entry of entries) {
    const { evaluationId } = entry;
    if (evaluationId === own) {
      if (entry.kind !== "event" || entry.event.type !== "tool.invoked") continue;
      calls.get(entry.event.callId)?.end(entry.at);
      calls.delete(entry.event.callId);
      continue;
    }
    const parent = entry.kind === "event" ? entry.event.parent : undefined;
    if (parent?.callId !== undefined && !around.has(evaluationId)) {
      const outer = around.get(parent.evaluationId) ?? calls.get(parent.callId) ?? new InsideCall();
      if (parent.evaluationId === own) calls.set(parent.callId, outer);
      around.set(evaluationId, outer);
    }
    const key = entry.kind === "asked" ? keyOf(entry) : undefined;
    const made = around.get(evaluationId)?.add(entry);
    if (key !== undefined && made !== undefined) addTo(requests, key, made);
  }
  return requests;
}
