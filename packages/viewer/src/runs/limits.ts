import type { Budget, RunRecord, ToldLimits } from "@proviso/core"; // oxlint-disable-line proviso/plain-words -- a public name
import { addUsage, noUsage, SpentByRun } from "@proviso/core/internal";

/** The limits of a run, when a record of it was written. */
export interface RunLimits {
  /** The whole time from the start to the deadline, and what is left of it; left out: the run has no deadline. */
  readonly deadline?: { readonly totalMs: number; readonly leftMs: number } | undefined;
  /** Each limit of the budget, and what was spent of it; none: the run has no budget. */
  readonly budget: readonly {
    readonly name: keyof Omit<Budget, "deadline">;
    readonly limit: number;
    readonly spent: number;
  }[];
}

const spentBy = {
  maxTotalTokens: "totalTokens",
  maxInputTokens: "inputTokens",
  maxOutputTokens: "outputTokens",
  maxCostUsd: "costUsd",
} as const;

/**
 * Returns what was spent and what is left of the limits when record `n` was written. Requests that were refused and other
 * evaluations on the same budget are not in the records, so neither are their tokens; what an evaluation's own refused
 * requests spent is known from its end on.
 */
export function limitsAt(records: Iterable<RunRecord>, n: number): RunLimits {
  let limits: ToldLimits | undefined; // oxlint-disable-line proviso/plain-words -- a public name
  let startedAt = 0;
  let now = 0;
  const spent = new SpentByRun();
  let before = noUsage;
  for (const record of records) {
    if (record.n > n) break;
    now = record.at;
    if (record.kind !== "event") continue;
    const { event } = record;
    if (event.type === "prompt.rendered" && limits === undefined) {
      limits = event.limits;
      startedAt = event.at;
      before = limits.budget?.consumed ?? noUsage;
    }
    spent.add(event);
  }
  const usage = addUsage(before, spent.total());
  const { deadline, budget = {} } = limits ?? {};
  return {
    ...(deadline === undefined
      ? {}
      : { deadline: { totalMs: deadline - startedAt, leftMs: Math.max(0, deadline - now) } }),
    budget: (Object.keys(spentBy) as (keyof typeof spentBy)[]).flatMap((name) => {
      const limit = (budget as Budget)[name];
      return limit === undefined ? [] : [{ name, limit, spent: usage[spentBy[name]] ?? 0 }];
    }),
  };
}
