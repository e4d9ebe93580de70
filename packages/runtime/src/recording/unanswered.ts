// What requests cost that have no answer: those that were cut off or refused. No step stands for them, so a later attempt
// begins without them, and has to count what they cost all the same.
import type { RunResumed, Usage } from "@proviso/core";
import { addUsage, noUsage, SpentByRun } from "@proviso/core/internal";
import type { UsageEstimate } from "./contract.ts";
import type { JournalEntry } from "./entries.ts";

/** What requests without an answer cost: those of the run's own evaluation, and those of evaluations inside its calls. */
export type Unanswered = NonNullable<RunResumed["unanswered"]>;

/** What an entry "drew" may hold of what a request costs. */
export interface DrawnNumbers {
  readonly costUsd?: number;
  /** The time at which the evaluation went on from its answer, where the cost was kept later. Epoch milliseconds. */
  readonly answeredAt?: number;
  readonly estimate?: UsageEstimate;
  readonly tries?: Usage;
  /** What a request without an answer cost in all. */
  readonly unanswered?: Usage;
}

/** Returns the numbers that an entry holds by name; undefined: it holds none. */
export function drawnNumbers(entry: JournalEntry | undefined): DrawnNumbers | undefined {
  if (entry?.kind !== "drew" || typeof entry.value !== "object" || entry.value === null) return undefined;
  return entry.value;
}

/** Whether the budget cut an answer short: it is asked for again where the run goes on, and was paid for all the same. */
export function isCut(entry: JournalEntry): boolean {
  return entry.kind === "stopped" && entry.by === "cut";
}

function answeredUsage(entry: JournalEntry): Usage | undefined {
  return entry.kind === "event" && entry.event.type === "provider.responded" ? entry.event.usage : undefined;
}

/** Sums what requests without an answer cost in the entries of a record that an attempt does not go on from; undefined: nothing. */
export function unansweredBefore(
  entries: readonly JournalEntry[],
  standing: readonly JournalEntry[],
): Unanswered | undefined {
  const own = entries[0]?.evaluationId;
  const stands = new Set(standing);
  let [ofOwn, inside] = [noUsage, noUsage];
  let wasCut = false;
  for (const entry of entries) {
    if (entry.evaluationId === own) wasCut = isCut(entry) || (wasCut && entry.kind === "event");
    const usage = stands.has(entry)
      ? undefined
      : (drawnNumbers(entry)?.unanswered ?? (wasCut ? answeredUsage(entry) : undefined));
    if (usage === undefined) continue;
    if (entry.evaluationId === own) ofOwn = addUsage(ofOwn, usage);
    else inside = addUsage(inside, usage);
  }
  return ofOwn === noUsage && inside === noUsage ? undefined : { own: ofOwn, inside };
}

/**
 * Returns what a run has spent that its evaluation does not come to again: requests without an answer, and all that
 * evaluations inside its calls did which stand. `own` are the evaluations whose entries it takes itself.
 */
export function spentBefore(
  standing: readonly JournalEntry[],
  own: ReadonlySet<string>,
  unanswered: Unanswered | undefined,
): Usage {
  const inside = new SpentByRun();
  for (const entry of standing) {
    if (entry.kind === "event" && !own.has(entry.evaluationId)) inside.add(entry.event, entry.evaluationId);
  }
  const spent = inside.total();
  return unanswered === undefined ? spent : addUsage(spent, addUsage(unanswered.own, unanswered.inside));
}

/** Returns what the attempt counted that went on last, as its own first event says it; undefined: nothing. */
export function countedUnanswered(standing: readonly JournalEntry[]): Unanswered | undefined {
  for (const entry of standing.toReversed()) {
    if (entry.kind === "event" && entry.event.type === "run.resumed") return entry.event.unanswered;
  }
  return undefined;
}
