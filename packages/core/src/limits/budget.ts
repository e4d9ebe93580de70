// 1. `consumed` is the sum of what was restored and of all settled usages; it never shrinks.
// 2. A reservation counts until it settles, and settles once. With none open, nothing is reserved: exactly zero.
// 3. consumed + reserved never passes a limit through `reserve`.
// 4. Every number of theirs is finite and from 0: what is given is checked first, and comparisons fail closed.
import { DefinitionError } from "../errors.ts";
import { checkOptionNames, type OptionNames } from "../option-names.ts";
import { isDeadline, type Deadline } from "./clock.ts";
import { addUsage, countUsage, type BudgetDimension, type ReportedUsage, type Usage, noUsage, sumOf } from "./usage.ts";
import { describeValue, isRecord } from "../values.ts";

/** Limits in tokens and US dollars; at least one, all positive. */
export interface Budget {
  /** Input and output tokens together. Default: no limit. */
  readonly maxTotalTokens?: number | undefined;
  /** Input tokens. Default: no limit. */
  readonly maxInputTokens?: number | undefined;
  /** Output tokens. Default: no limit. */
  readonly maxOutputTokens?: number | undefined;
  /** US dollars. It needs a model whose price is known. Default: no limit. */
  readonly maxCostUsd?: number | undefined;
  /** The latest moment at which an evaluation on this budget ends. Default: none. */
  readonly deadline?: Deadline | undefined;
}

/** Tokens and US dollars, one number for each limit of a budget. */
export interface BudgetAmounts {
  readonly totalTokens: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

/** What a request holds of a budget while it is under way. */
export interface BudgetReservation {
  /** Puts the real usage in the reservation's place. Once; a second call does nothing. */
  settle(actual: Usage): void;
}

/**
 * Shared by every evaluation that must stay within one budget. `trackBudget` makes one; you may make your own, over a
 * store that several processes share for example. Requests of one process wait for each other's reservations on either.
 */
export interface BudgetTracker {
  /** The limits. */
  readonly budget: Budget;
  /** What has been spent so far. It changes while evaluations run. */
  readonly consumed: Usage;
  /** What is left beside spent and reserved; Infinity where there is no limit. */
  remaining(): BudgetAmounts;
  /** The limit that is passed, if one is. */
  exceeded(): BudgetDimension | undefined;
  /**
   * Reserves what a request may cost at most. Returns undefined where that would pass a limit, or where a number is not
   * valid: tokens must be whole numbers from 0, dollars finite numbers from 0. A reservation of zero always succeeds.
   * Leave `costUsd` out where the price is not known. Call `settle` once to replace the reservation by the real usage;
   * a token count that is missing or not valid counts as reserved.
   */
  reserve(worstCase: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly costUsd?: number | undefined;
  }): BudgetReservation | undefined;
}

/** What `toJSON` of a tracker returns, and `trackBudget` takes as its second argument. */
export interface SavedBudget {
  /** What had been spent when it was saved. */
  readonly consumed: Usage;
}

/** What `toJSON` of a tracker returned, or as much of it as is known. */
interface GivenSavedBudget {
  /** What was spent before; counts that are left out are 0. */
  readonly consumed?: (ReportedUsage & { readonly estimated?: boolean | undefined }) | undefined;
}

/** A tracker of `trackBudget`. */
export interface TrackedBudget extends BudgetTracker {
  /** What was spent so far, for `trackBudget` or `countSpending` after a restart. Requests that are under way are not in it. */
  toJSON(): SavedBudget;
}

const budgetNames = {
  maxTotalTokens: true,
  maxInputTokens: true,
  maxOutputTokens: true,
  maxCostUsd: true,
  deadline: true,
} as const satisfies OptionNames<Budget>;
const limitNames = ["maxTotalTokens", "maxInputTokens", "maxOutputTokens", "maxCostUsd"] as const;

/**
 * Counts against one budget what all evaluations spend that are given it, those inside their tools too. `saved.consumed` is
 * what was spent before, as `toJSON` of an earlier tracker returned it; counts that are left out are 0.
 * @example
 * ```ts
 * import { trackBudget } from "@proviso/core";
 *
 * const budget = trackBudget({ maxTotalTokens: 10_000 });
 * // Several evaluations share it: adapter.evaluate(prompt, { budget }).
 * console.log(budget.remaining().totalTokens); // 10000
 * ```
 * @throws {DefinitionError} when the budget has no limit, or one that is not a positive number, and for a saved count
 * that is negative or not finite.
 */
export function trackBudget(budget: Budget, saved: GivenSavedBudget = {}): TrackedBudget {
  return trackerOf(budget, checkedLimits(budget), saved);
}

/**
 * Counts what all evaluations spend that are given it as their budget, those inside their tools too, and limits nothing.
 * `saved.consumed` is what was spent before, as `toJSON` of an earlier tracker returned it.
 * @example
 * ```ts
 * import { countSpending } from "@proviso/core";
 *
 * const month = countSpending({ consumed: { inputTokens: 1_000, outputTokens: 200 } });
 * // Several evaluations share it: adapter.evaluate(prompt, { budget: month }).
 * console.log(month.consumed.totalTokens); // 1200
 * ```
 * @throws {DefinitionError} for a saved count that is negative or not finite.
 */
export function countSpending(saved: GivenSavedBudget = {}): TrackedBudget {
  return trackerOf({}, unlimited, saved);
}

function trackerOf(budget: Budget, limits: BudgetAmounts, saved: GivenSavedBudget): TrackedBudget {
  let consumed = restoredUsage(saved);
  let open = 0;
  let reserved = nothing;

  const remaining = (): BudgetAmounts => ({
    totalTokens: limits.totalTokens - consumed.totalTokens - reserved.totalTokens,
    inputTokens: limits.inputTokens - consumed.inputTokens - reserved.inputTokens,
    outputTokens: limits.outputTokens - consumed.outputTokens - reserved.outputTokens,
    costUsd: limits.costUsd - (consumed.costUsd ?? 0) - reserved.costUsd,
  });
  const release = (held: BudgetAmounts, actual: Usage): void => {
    open -= 1;
    // Sums of fractions of dollars do not come back to zero by themselves.
    reserved = open === 0 ? nothing : sum(reserved, held, -1);
    consumed = addUsage(consumed, actual);
    tracker.consumed = consumed;
  };

  // A plain property: V8 keeps what a getter of a literal closes over until a full collection.
  const tracker: { -readonly [K in keyof TrackedBudget]: TrackedBudget[K] } = {
    budget: Object.freeze({ ...budget }),
    consumed,
    remaining,
    exceeded: () => passed(consumed, limits),
    reserve({ inputTokens, outputTokens, costUsd = 0 }) {
      if (!isCount(inputTokens) || !isCount(outputTokens) || !(costUsd >= 0 && costUsd < Infinity)) return undefined;
      const held = { totalTokens: inputTokens + outputTokens, inputTokens, outputTokens, costUsd };
      if (!isWithin(held, remaining()) && held.totalTokens + costUsd !== 0) return undefined;
      open += 1;
      reserved = sum(reserved, held, 1);
      let settled = false;
      return {
        settle(actual) {
          if (settled) return;
          settled = true;
          release(held, countUsage(actual, held));
        },
      };
    },
    toJSON: () => ({ consumed: { ...consumed } }),
  };
  return tracker;
}

const nothing: BudgetAmounts = { totalTokens: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 };

function sum(a: BudgetAmounts, b: BudgetAmounts, sign: 1 | -1): BudgetAmounts {
  return {
    totalTokens: a.totalTokens + sign * b.totalTokens,
    inputTokens: a.inputTokens + sign * b.inputTokens,
    outputTokens: a.outputTokens + sign * b.outputTokens,
    costUsd: a.costUsd + sign * b.costUsd,
  };
}

/** False for what is no number. */
function isWithin(held: BudgetAmounts, left: BudgetAmounts): boolean {
  return (
    held.totalTokens <= left.totalTokens &&
    held.inputTokens <= left.inputTokens &&
    held.outputTokens <= left.outputTokens &&
    held.costUsd <= left.costUsd &&
    left.costUsd > 0
  );
}

/** What is no number has passed its limit: a comparison that cannot be made does not let anything through. */
function passed(consumed: Usage, limits: BudgetAmounts): BudgetDimension | undefined {
  const isPassed = (spent: number, limit: number): boolean => limit !== Infinity && !(spent <= limit);
  if (isPassed(consumed.totalTokens, limits.totalTokens)) return "total_tokens";
  if (isPassed(consumed.inputTokens, limits.inputTokens)) return "input_tokens";
  if (isPassed(consumed.outputTokens, limits.outputTokens)) return "output_tokens";
  return isPassed(consumed.costUsd ?? 0, limits.costUsd) ? "cost" : undefined;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

const unlimited: BudgetAmounts = {
  totalTokens: Infinity,
  inputTokens: Infinity,
  outputTokens: Infinity,
  costUsd: Infinity,
};

function checkedLimits(budget: Budget): BudgetAmounts {
  recordOf(budget, budgetNames, "A budget");
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
      throw new DefinitionError(`The budget's ${name} must be a positive number, not ${describeValue(value)}.`);
    }
  }
  return {
    totalTokens: budget.maxTotalTokens ?? Infinity,
    inputTokens: budget.maxInputTokens ?? Infinity,
    outputTokens: budget.maxOutputTokens ?? Infinity,
    costUsd: budget.maxCostUsd ?? Infinity,
  };
}

const usageNames = {
  inputTokens: true,
  outputTokens: true,
  totalTokens: true,
  cachedInputTokens: true,
  cacheWriteTokens: true,
  reasoningTokens: true,
  costUsd: true,
  unpricedTokens: true,
  estimated: true,
} as const satisfies OptionNames<Usage>;

/**
 * What was spent before a restart, read back from wherever it was kept; nothing is trusted.
 * @throws {DefinitionError} for a count that is negative or not finite, and for a key that is not known.
 */
function restoredUsage(saved: unknown): Usage {
  const { consumed } = recordOf(saved, { consumed: true }, "The second argument of trackBudget");
  if (consumed === undefined) return noUsage;
  const given = recordOf(consumed, usageNames, "consumed");
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || name === "estimated") continue;
    if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
      throw new DefinitionError(`consumed.${name} must be a number from 0, not ${describeValue(value)}.`);
    }
  }
  const { estimated = false } = given;
  if (typeof estimated !== "boolean") {
    throw new DefinitionError(`consumed.estimated must be true or false, not ${describeValue(estimated)}.`);
  }
  const usage = addUsage(noUsage, { ...noUsage, ...defined(given as Partial<Usage>), estimated });
  // A total that is smaller than its parts would give some of the budget back.
  const totalTokens = Math.max(usage.totalTokens, sumOf(usage.inputTokens, usage.outputTokens));
  return Object.freeze({ ...usage, totalTokens });
}

function recordOf(value: unknown, names: object, what: string): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw new DefinitionError(`${what} must be an object, not ${describeValue(value)}.`);
  checkOptionNames(what, value, names);
  return value;
}

function defined<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}
