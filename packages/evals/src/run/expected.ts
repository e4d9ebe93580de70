import type { BudgetTracker, Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import type { AttemptRecord } from "../results.ts";

type Amount = "inputTokens" | "outputTokens" | "totalTokens" | "costUsd";
const amounts: readonly Amount[] = ["inputTokens", "outputTokens", "totalTokens", "costUsd"];

/** Attempts of a variant that an expectation is made of: the last ones. */
const mostSeen = 100;

/** What an attempt is expected to spend at most: the p90 of its variant's attempts so far. */
export class Expected {
  readonly #seen = new Map<string, Usage[]>();
  #inFlight: Usage = noUsage;

  add({ variant, usage, judgeUsage }: AttemptRecord): void {
    const seen = this.#seen.get(variant) ?? [];
    seen.push(addUsage(usage, judgeUsage));
    if (seen.length > mostSeen) seen.shift();
    this.#seen.set(variant, seen);
  }

  /** Nothing where no attempt of the variant has ended yet: then the budget itself is the bound. */
  of(variant: string): Usage {
    const seen = this.#seen.get(variant) ?? [];
    if (seen.length === 0) return noUsage;
    const p90 = (amount: Amount): number => {
      const sorted = seen.map((usage) => usage[amount] ?? 0).toSorted((a, b) => a - b);
      return sorted[Math.ceil(0.9 * sorted.length) - 1] ?? 0;
    };
    const costUsd = p90("costUsd");
    return {
      ...noUsage,
      inputTokens: p90("inputTokens"),
      outputTokens: p90("outputTokens"),
      totalTokens: p90("totalTokens"),
      ...(costUsd === 0 ? {} : { costUsd }),
      estimated: true,
    };
  }

  begin(usage: Usage): void {
    this.#inFlight = addUsage(this.#inFlight, usage);
  }

  end(usage: Usage): void {
    const less = (amount: Amount): number => Math.max(0, (this.#inFlight[amount] ?? 0) - (usage[amount] ?? 0));
    this.#inFlight = {
      ...this.#inFlight,
      inputTokens: less("inputTokens"),
      outputTokens: less("outputTokens"),
      totalTokens: less("totalTokens"),
      costUsd: less("costUsd"),
    };
  }

  /** Whether what is spent, in flight and wanted fits the budget. */
  fits(budget: BudgetTracker | undefined, wanted: Usage): boolean {
    if (budget === undefined) return true;
    if (budget.exceeded() !== undefined) return false;
    const { consumed } = budget;
    const limits: Readonly<Record<Amount, number | undefined>> = {
      inputTokens: budget.budget.maxInputTokens,
      outputTokens: budget.budget.maxOutputTokens,
      totalTokens: budget.budget.maxTotalTokens,
      costUsd: budget.budget.maxCostUsd,
    };
    return amounts.every((amount) => {
      const limit = limits[amount];
      const sum = (consumed[amount] ?? 0) + (this.#inFlight[amount] ?? 0) + (wanted[amount] ?? 0);
      return limit === undefined || sum <= limit;
    });
  }
}
