// What is known of attempts that the budget cut short: each needs more than it had, whenever it is made again.
import type { BudgetTracker } from "@proviso/core";
import { contentHash, noUsage } from "@proviso/core/internal";
import type { AttemptRecord, Fingerprint } from "../results.ts";
import type { NotRun, PlannedAttempt } from "./attempt.ts";
import type { KeptRecords } from "./kept-records.ts";
import type { MissingAttempt } from "./missing.ts";

const amountOf = {
  maxInputTokens: "inputTokens",
  maxOutputTokens: "outputTokens",
  maxTotalTokens: "totalTokens",
  maxCostUsd: "costUsd",
} as const;
type Limit = keyof typeof amountOf;

/** Where the record of an attempt that was cut short is kept: beside those of attempts, as that of a pair is. */
function keyOf({
  rowId,
  variant,
  repetition,
}: PlannedAttempt): Pick<AttemptRecord, "rowId" | "variant" | "repetition"> {
  return { rowId, variant: JSON.stringify(["cut", variant]), repetition };
}

/** Another prompt, row, variant or scorer may need less. */
function subjectOf({ subjectHash, variant }: PlannedAttempt, { scorers }: Fingerprint): string {
  return contentHash(["cut", subjectHash, variant, scorers]);
}

/** Keeps that an attempt needs more than the budget had for it. undefined: something else ended it. */
export function cutRecord(
  planned: PlannedAttempt,
  { notRun, usage }: NotRun,
  budget: BudgetTracker | undefined,
  fingerprint: Fingerprint,
): AttemptRecord | undefined {
  const limit = budget === undefined || notRun !== "budget" ? undefined : shortest(budget);
  if (budget === undefined || limit === undefined) return undefined;
  const amount = amountOf[limit];
  const left = Math.max(0, (budget.budget[limit] ?? 0) - (budget.consumed[amount] ?? 0));
  const had = (usage[amount] ?? 0) + left;
  const needed = amount === "costUsd" ? had * 1.000_001 : Math.floor(had) + 1;
  return {
    ...keyOf(planned),
    rowHash: planned.row.hash,
    subjectHash: subjectOf(planned, fingerprint),
    status: "answered",
    output: null,
    scores: {},
    usage: { ...noUsage, [amount]: needed, estimated: true },
    judgeUsage: noUsage,
    model: undefined,
    turns: 0,
    durationMs: 0,
  };
}

/** The limit of which the largest share is spent. */
function shortest({ budget, consumed }: BudgetTracker): Limit | undefined {
  const share = (limit: Limit): number =>
    (consumed[amountOf[limit]] ?? 0) / Math.max(budget[limit] ?? 0, Number.MIN_VALUE);
  const limits = (Object.keys(amountOf) as Limit[]).filter((limit) => budget[limit] !== undefined);
  return limits.toSorted((a, b) => share(b) - share(a))[0];
}

/** What attempts that are missing need at least, because an earlier run could not pay for them. */
export function cutBefore(
  missing: readonly MissingAttempt[],
  kept: KeptRecords,
  fingerprint: Fingerprint,
): readonly Pick<AttemptRecord, "variant" | "usage" | "judgeUsage">[] {
  if (kept.isEmpty) return [];
  return missing.flatMap(({ planned, kept: answer }) => {
    if (answer !== undefined) return [];
    const about = { rowHash: planned.row.hash, subjectHash: subjectOf(planned, fingerprint) };
    const cut = kept.get({ ...keyOf(planned), ...about });
    return cut === undefined ? [] : [{ ...cut, variant: planned.variant }];
  });
}
