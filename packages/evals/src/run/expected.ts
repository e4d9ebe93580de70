import type { BudgetTracker, Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import type { AttemptRecord } from "../results.ts";

type Amount = "inputTokens" | "outputTokens" | "totalTokens" | "costUsd";
const amounts: readonly Amount[] = ["inputTokens", "outputTokens", "totalTokens", "costUsd"];

/** Attempts of a variant that an expectation is made of: the last ones. */
const mostSeen = 100;

/** The amounts of a variant's last attempts: as they came, and each in order, so that a p90 is looked up and not sorted. */
class Seen {
  readonly #usages: Usage[] = [];
  readonly #sorted: Readonly<Record<Amount, number[]>> = {
    inputTokens: [],
    outputTokens: [],
    totalTokens: [],
    costUsd: [],
  };

  add(usage: Usage): void {
    this.#usages.push(usage);
    const oldest = this.#usages.length > mostSeen ? this.#usages.shift() : undefined;
    for (const amount of amounts) {
      const sorted = this.#sorted[amount];
      if (oldest !== undefined) sorted.splice(placeOf(sorted, oldest[amount] ?? 0), 1);
      const value = usage[amount] ?? 0;
      sorted.splice(placeOf(sorted, value), 0, value);
    }
  }

  p90(amount: Amount): number {
    const sorted = this.#sorted[amount];
    return sorted[Math.ceil(0.9 * sorted.length) - 1] ?? 0;
  }
}

/** The first place whose value is not below this one. */
function placeOf(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What an attempt is expected to spend at most: the p90 of its variant's attempts so far. */
export class Expected {
  readonly #seen = new Map<string, Seen>();
  #inFlight: Usage = noUsage;

  add({ variant, usage, judgeUsage }: AttemptRecord): void {
    let seen = this.#seen.get(variant);
    if (seen === undefined) this.#seen.set(variant, (seen = new Seen()));
    seen.add(addUsage(usage, judgeUsage));
  }

  /** Nothing where no attempt of the variant has ended yet: then the budget itself is the bound. */
  of(variant: string): Usage {
    const seen = this.#seen.get(variant);
    if (seen === undefined) return noUsage;
    const costUsd = seen.p90("costUsd");
    return {
      ...noUsage,
      inputTokens: seen.p90("inputTokens"),
      outputTokens: seen.p90("outputTokens"),
      totalTokens: seen.p90("totalTokens"),
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
