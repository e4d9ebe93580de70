import type { BudgetDimension, BudgetTracker } from "@proviso/core";
import type { BudgetAmounts } from "@proviso/core/internal";
import { queueOf, type OpenReservation } from "./budget-queue.ts";
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
}

/** How long an answer may be before it passes the limit named. */
export interface Room {
  /** Whole tokens; negative where not even the input fits. */
  readonly tokens: number;
  readonly dimension: BudgetDimension;
  readonly tracker: BudgetTracker;
}

/** A request that holds its place in a budget. */
export interface Placed {
  readonly reservation: OpenReservation;
  /** The room beside all other reservations; its own reservation is part of it. */
  readonly room: Room;
}

/**
 * Reserves what is wanted. Where that does not fit beside other reservations it returns undefined, to try again when
 * one of them settles. Without other reservations it takes what is left, down to the least; what does not fit even then
 * is refused.
 */
export function placed(tracker: BudgetTracker, wanted: Wanted): Placed | Failure | undefined {
  const room = roomIn(tracker.remaining(), wanted, tracker);
  if (!(room.tokens >= wanted.outputTokens)) {
    const alone = roomIn(unspent(tracker), wanted, tracker);
    if (!(alone.tokens >= wanted.leastOutputTokens)) return refused(alone, wanted);
    if (!queueOf(tracker).isEmpty()) return undefined;
  }
  return taken(room, wanted) ?? refused(room, wanted);
}

/** Reserves what is wanted, or what others have left of it, down to the least: for a request that cannot wait. */
export function placedBeside(tracker: BudgetTracker, wanted: Wanted): Placed | Failure {
  const room = roomIn(tracker.remaining(), wanted, tracker);
  return taken(room, wanted) ?? refused(room, wanted, " beside the one in whose code it begins");
}

/** undefined: the room is too small. */
function taken(room: Room, wanted: Wanted): Placed | undefined {
  const { inputTokens, costOf, leastOutputTokens } = wanted;
  if (!(room.tokens >= leastOutputTokens)) return undefined;
  const { tracker } = room;
  const outputTokens = Math.min(wanted.outputTokens, room.tokens);
  // The room was divided by the price: what it comes to may be a rounding error more.
  const costUsd = costOf && Math.min(costOf(inputTokens, outputTokens), tracker.remaining().costUsd);
  const reservation = tracker.reserve({ inputTokens, outputTokens, costUsd });
  return reservation && { reservation: queueOf(tracker).opened(reservation), room };
}

/** The limit that nothing is left of, whatever is reserved. */
export function exhausted(tracker: BudgetTracker): BudgetDimension | undefined {
  const { totalTokens, inputTokens, outputTokens, costUsd } = unspent(tracker);
  if (!(totalTokens > 0)) return "total_tokens";
  if (!(inputTokens > 0)) return "input_tokens";
  if (!(outputTokens > 0)) return "output_tokens";
  return costUsd > 0 ? undefined : "cost";
}

/** What would be left if no request was under way. */
function unspent({ budget, consumed }: BudgetTracker): BudgetAmounts {
  return {
    totalTokens: leftOf(budget.maxTotalTokens, consumed.totalTokens),
    inputTokens: leftOf(budget.maxInputTokens, consumed.inputTokens),
    outputTokens: leftOf(budget.maxOutputTokens, consumed.outputTokens),
    costUsd: leftOf(budget.maxCostUsd, consumed.costUsd ?? 0),
  };
}

/** What is no number counts only where there is a limit. */
function leftOf(limit: number | undefined, spent: number): number {
  return limit === undefined ? Infinity : limit - spent;
}

/** Returns the room under the limit that leaves the least. */
function roomIn(left: BudgetAmounts, wanted: Wanted, tracker: BudgetTracker): Room {
  const { inputTokens } = wanted;
  let tokens = Math.floor(left.totalTokens - inputTokens);
  let dimension: BudgetDimension = "total_tokens";
  const lower = (to: number, by: BudgetDimension): void => {
    // What cannot be compared is the least.
    if (!(to >= tokens)) [tokens, dimension] = [to, by];
  };
  lower(left.inputTokens >= inputTokens ? Infinity : -1, "input_tokens");
  lower(Math.floor(left.outputTokens), "output_tokens");
  lower(tokensFor(left.costUsd, wanted), "cost");
  return { tokens, dimension, tracker };
}

/** How many tokens of an answer the money is enough for. */
function tokensFor(leftUsd: number, { costOf, inputTokens }: Wanted): number {
  if (leftUsd === Infinity) return Infinity;
  if (costOf === undefined) return leftUsd > 0 ? Infinity : -1;
  const input = costOf(inputTokens, 0);
  if (!(leftUsd > 0) || !(input <= leftUsd)) return -1;
  const perToken = (costOf(inputTokens, 1_000) - input) / 1_000;
  return perToken === 0 ? Infinity : Math.floor((leftUsd - input) / perToken + 1e-6);
}

function refused(
  { dimension, tracker }: Room,
  { inputTokens, leastOutputTokens, costOf }: Wanted,
  beside = "",
): Failure {
  const wanted = {
    total_tokens: inputTokens + leastOutputTokens,
    input_tokens: inputTokens,
    output_tokens: leastOutputTokens,
    cost: costOf?.(inputTokens, leastOutputTokens) ?? 0,
  };
  return budgetFailure(`has no room for the request${beside}`, "request", {
    dimension,
    tracker,
    wanted: wanted[dimension],
  });
}

/** No model in use answers with more, so a limit above it would limit nothing. */
const longestAnswer = 131_072;

/** The models with the shortest answers stop here; who refuses an even smaller limit takes none at all. */
const shortestMaximum = 4_096;

/** The limits of an answer that a model takes, as far as it has shown. */
export interface OutputLimits {
  takes(tokens: number): boolean;
  /**
   * Records that the model refused a request with this limit and took it without one: the model's own maximum is lower.
   */
  refused(tokens: number): void;
}

export function outputLimits(): OutputLimits {
  let refusedFrom = longestAnswer;
  return {
    takes: (tokens) => tokens < refusedFrom,
    refused(tokens) {
      refusedFrom = Math.min(refusedFrom, tokens < shortestMaximum ? 0 : tokens);
    },
  };
}
