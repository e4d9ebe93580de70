// 1. `consumed` is the sum of all settled usages; it never shrinks.
// 2. A reservation counts until it settles, and settles once.
// 3. consumed + reserved never passes a limit through `reserve`.
// 4. Every number of theirs is finite and from 0: what is given is checked first, and comparisons fail closed.
import { DefinitionError } from "../errors.ts";
import { isDeadline, type Deadline } from "./deadline.ts";
import { addUsage, countUsage, noUsage, type BudgetDimension, type Usage } from "./usage.ts";

/** Limits in tokens and US dollars; at least one, all positive. */
export interface Budget {
  readonly maxTotalTokens?: number | undefined;
  readonly maxInputTokens?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly maxCostUsd?: number | undefined;
  readonly deadline?: Deadline | undefined;
}

/** Shared by every evaluation that must stay within one budget. */
export interface BudgetTracker {
  readonly budget: Budget;
  readonly consumed: Usage;
  /** What is left beside spent and reserved; Infinity where there is no limit. */
  remaining(): {
    readonly totalTokens: number;
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly costUsd: number;
  };
  /** The limit that is passed, if one is. */
  exceeded(): BudgetDimension | undefined;
  /**
   * Before a request: holds its worst case, or undefined when that does not fit; nothing always fits, and what are no
   * whole numbers from 0 never. `settle` puts the real usage in its place; of it, a count of tokens that is none stays
   * what was reserved.
   */
  reserve(worstCase: {
    readonly inputTokens: number;
    readonly outputTokens: number;
  }): { settle(actual: Usage): void } | undefined;
}

const limitNames = ["maxTotalTokens", "maxInputTokens", "maxOutputTokens", "maxCostUsd"] as const;

/**
 * Counts against one budget what all evaluations spend that are given it.
 * @throws {DefinitionError} when the budget has no limit, one that is not a positive number, or a deadline that is none.
 */
export function trackBudget(budget: Budget): BudgetTracker {
  const limits = checkedLimits(budget);
  let consumed = noUsage;
  let reserved = { inputTokens: 0, outputTokens: 0 };

  const remaining = (): ReturnType<BudgetTracker["remaining"]> => ({
    totalTokens: limits.totalTokens - consumed.totalTokens - reserved.inputTokens - reserved.outputTokens,
    inputTokens: limits.inputTokens - consumed.inputTokens - reserved.inputTokens,
    outputTokens: limits.outputTokens - consumed.outputTokens - reserved.outputTokens,
    costUsd: limits.costUsd - (consumed.costUsd ?? 0),
  });

  // A plain property: V8 keeps what a getter of a literal closes over until a full collection.
  const tracker: { -readonly [K in keyof BudgetTracker]: BudgetTracker[K] } = {
    budget: Object.freeze({ ...budget }),
    consumed,
    remaining,
    exceeded() {
      if (!(consumed.totalTokens <= limits.totalTokens)) return "total_tokens";
      if (!(consumed.inputTokens <= limits.inputTokens)) return "input_tokens";
      if (!(consumed.outputTokens <= limits.outputTokens)) return "output_tokens";
      return (consumed.costUsd ?? 0) <= limits.costUsd ? undefined : "cost";
    },
    reserve({ inputTokens, outputTokens }) {
      if (!isCount(inputTokens) || !isCount(outputTokens)) return undefined;
      const left = remaining();
      const nothing = inputTokens === 0 && outputTokens === 0;
      const fits =
        inputTokens + outputTokens <= left.totalTokens &&
        inputTokens <= left.inputTokens &&
        outputTokens <= left.outputTokens &&
        left.costUsd > 0;
      if (!fits && !nothing) return undefined;
      reserved = {
        inputTokens: reserved.inputTokens + inputTokens,
        outputTokens: reserved.outputTokens + outputTokens,
      };
      let settled = false;
      return {
        settle(actual) {
          if (settled) return;
          settled = true;
          reserved = {
            inputTokens: reserved.inputTokens - inputTokens,
            outputTokens: reserved.outputTokens - outputTokens,
          };
          consumed = addUsage(consumed, countUsage(actual, { inputTokens, outputTokens }));
          tracker.consumed = consumed;
        },
      };
    },
  };
  return tracker;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function checkedLimits(budget: Budget): Omit<ReturnType<BudgetTracker["remaining"]>, never> {
  const given = limitNames.filter((name) => budget[name] !== undefined);
  if (given.length === 0 && budget.deadline === undefined) {
    throw new DefinitionError(`A budget needs at least one limit: ${limitNames.join(", ")} or deadline.`);
  }
  if (budget.deadline !== undefined && !isDeadline(budget.deadline)) {
    throw new DefinitionError("The budget's deadline must be deadlineIn(milliseconds) or deadlineAt(date).");
  }
  for (const name of given) {
    const value: unknown = budget[name];
    if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) {
      throw new DefinitionError(`The budget's ${name} must be a positive number, not ${String(value)}.`);
    }
  }
  return {
    totalTokens: budget.maxTotalTokens ?? Infinity,
    inputTokens: budget.maxInputTokens ?? Infinity,
    outputTokens: budget.maxOutputTokens ?? Infinity,
    costUsd: budget.maxCostUsd ?? Infinity,
  };
}
