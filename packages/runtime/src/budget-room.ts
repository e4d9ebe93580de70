// What a budget has room for: amounts that are left, and the answer that fits into them.
import type { BudgetDimension, BudgetTracker } from "@proviso/core";
import type { BudgetAmounts } from "@proviso/core/internal";
import { budgetFailure, type Failure } from "./failures.ts";

/** What a request asks of a budget. */
export interface Wanted {
  /** An estimate. */
  readonly inputTokens: number;
  /** Reserved for the answer where there is room for it. */
  readonly outputTokens: number;
  /** The least room for an answer that makes a request worth sending. */
  readonly leastOutputTokens: number;
  /** US dollars; undefined where the price is not known. */
  readonly costOf: ((inputTokens: number, outputTokens: number) => number) | undefined;
  /** What a refusal calls it. Default: "the request". */
  readonly name?: string;
  /** What the request has spent of the budget before, and still holds: a refusal counts it as spent. Left out: nothing. */
  readonly spent?: SpentSoFar | undefined;
}

/** How long an answer may be before it passes the limit named. */
export interface Room {
  /** Whole tokens; negative where not even the input fits. */
  readonly tokens: number;
  readonly dimension: BudgetDimension;
  readonly tracker: BudgetTracker;
}

/** An estimate of what a request has spent so far. */
export type SpentSoFar = Parameters<BudgetTracker["reserve"]>[0];

export const noneSpent: SpentSoFar = Object.freeze({ inputTokens: 0, outputTokens: 0, costUsd: 0 });

export function sumOf(a: SpentSoFar, b: SpentSoFar): SpentSoFar {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    costUsd: (a.costUsd ?? 0) + (b.costUsd ?? 0),
  };
}

/** What `a` has beyond `b` of each amount. */
export function differenceOf(a: SpentSoFar, b: SpentSoFar): SpentSoFar {
  return {
    inputTokens: Math.max(0, a.inputTokens - b.inputTokens),
    outputTokens: Math.max(0, a.outputTokens - b.outputTokens),
    costUsd: Math.max(0, (a.costUsd ?? 0) - (b.costUsd ?? 0)),
  };
}

/** Lowers each amount to what is left. */
export function atMost(left: BudgetAmounts, { inputTokens, outputTokens, costUsd = 0 }: SpentSoFar): SpentSoFar {
  const least = (...amounts: readonly number[]): number => Math.max(0, Math.min(...amounts));
  const input = Math.floor(least(inputTokens, left.inputTokens, left.totalTokens));
  const output = Math.floor(least(outputTokens, left.outputTokens, left.totalTokens - input));
  return { inputTokens: input, outputTokens: output, costUsd: least(costUsd, left.costUsd) };
}

/** What is left once so much more is spent, where so much that is reserved is free again. */
export function leftAfter(left: BudgetAmounts, reserved: SpentSoFar, spent: SpentSoFar): BudgetAmounts {
  const inputTokens = reserved.inputTokens - spent.inputTokens;
  const outputTokens = reserved.outputTokens - spent.outputTokens;
  return {
    totalTokens: left.totalTokens + inputTokens + outputTokens,
    inputTokens: left.inputTokens + inputTokens,
    outputTokens: left.outputTokens + outputTokens,
    costUsd: left.costUsd + (reserved.costUsd ?? 0) - (spent.costUsd ?? 0),
  };
}

/** What would be left if no request was under way. */
export function unspent({ budget, consumed }: BudgetTracker): BudgetAmounts {
  return {
    totalTokens: leftOf(budget.maxTotalTokens, consumed.totalTokens),
    inputTokens: leftOf(budget.maxInputTokens, consumed.inputTokens),
    outputTokens: leftOf(budget.maxOutputTokens, consumed.outputTokens),
    costUsd: leftOf(budget.maxCostUsd, consumed.costUsd ?? 0),
  };
}

/** What is no number counts only where there is a limit. */
export function leftOf(limit: number | undefined, spent: number): number {
  return limit === undefined ? Infinity : limit - spent;
}

/** Returns the room under the limit that leaves the least. What cannot be compared is the least. */
export function roomIn(left: BudgetAmounts, wanted: Wanted, tracker: BudgetTracker): Room {
  const { inputTokens } = wanted;
  const input = left.inputTokens >= inputTokens ? Infinity : -1;
  const output = Math.floor(left.outputTokens);
  const paid = tokensFor(left.costUsd, wanted);
  let tokens = Math.floor(left.totalTokens - inputTokens);
  let dimension: BudgetDimension = "total_tokens";
  if (!(input >= tokens)) [tokens, dimension] = [input, "input_tokens"];
  if (!(output >= tokens)) [tokens, dimension] = [output, "output_tokens"];
  if (!(paid >= tokens)) [tokens, dimension] = [paid, "cost"];
  return { tokens, dimension, tracker };
}

/** How many tokens of an answer the money is enough for. */
function tokensFor(leftUsd: number, { costOf, inputTokens }: Wanted): number {
  if (leftUsd === Infinity) return Infinity;
  if (costOf === undefined) return leftUsd > 0 ? Infinity : -1;
  const input = costOf(inputTokens, 0);
  if (!(leftUsd > 0) || !(input <= leftUsd)) return -1;
  const perToken = (costOf(inputTokens, 1_000) - input) / 1_000;
  const tokens = perToken === 0 ? Infinity : Math.floor((leftUsd - input) / perToken + 1e-6);
  const fits = (count: number): boolean => costOf(inputTokens, count) <= leftUsd + 1e-9 * Math.abs(leftUsd);
  return fits(Math.min(tokens, mostTokens)) ? tokens : mostThatFits(Math.min(tokens, mostTokens), fits);
}

/** More than any model answers. */
const mostTokens = 1e9;

/** The price of a token may rise with their number: at one of several models, the dearest of which counts. */
function mostThatFits(tooMany: number, fits: (count: number) => boolean): number {
  let [least, most] = [0, tooMany];
  while (most - least > 1) {
    const half = Math.floor((least + most) / 2);
    if (fits(half)) least = half;
    else most = half;
  }
  return least;
}

export function refused(
  { dimension, tracker }: Room,
  { inputTokens, leastOutputTokens, costOf, name = "the request", spent = noneSpent }: Wanted,
  beside = "",
): Failure {
  const wanted = {
    total_tokens: inputTokens + leastOutputTokens,
    input_tokens: inputTokens,
    output_tokens: leastOutputTokens,
    cost: costOf?.(inputTokens, leastOutputTokens),
  };
  return budgetFailure(`has no room for ${name}${beside}`, "request", {
    dimension,
    tracker,
    wanted: wanted[dimension],
    ownSpent: { ...spent, totalTokens: spent.inputTokens + spent.outputTokens, costUsd: spent.costUsd ?? 0 },
  });
}
