import {
  noUsage,
  trackBudget,
  type Budget,
  type BudgetDimension,
  type BudgetTracker,
  type Deadline,
  type EvaluationPhase,
} from "@proviso/core";
import { budgetFailure, isFailure, type Failure } from "./failures.ts";
import type { Reservation, WorstCase } from "./limits.ts";

/** An evaluation's own budget and the one around it: both are spent from, both hold. */
export interface Budgets {
  readonly deadline: Deadline | undefined;
  /** Both as one, for whoever may look at what is left. */
  readonly tracker: BudgetTracker | undefined;
  exceeded(phase: EvaluationPhase): Failure | undefined;
  /** Nothing left: a request would only begin to pass the limit. */
  exhausted(): Failure | undefined;
  reserve(worstCase: WorstCase): Reservation | Failure;
}

/** @throws {DefinitionError} for a budget without a limit, or with one that is not positive. */
export function openBudgets(given: Budget | BudgetTracker | undefined, around?: Budget | BudgetTracker): Budgets {
  const own = trackerOf(given);
  const outer = trackerOf(around);
  const trackers = [own, outer === own ? undefined : outer].filter((tracker) => tracker !== undefined);
  const stopAt = (
    phase: EvaluationPhase,
    dimensionOf: (tracker: BudgetTracker) => BudgetDimension | undefined,
  ): Failure | undefined => {
    for (const tracker of trackers) {
      const dimension = dimensionOf(tracker);
      if (dimension !== undefined) return budgetFailure(dimension, phase, tracker);
    }
    return undefined;
  };
  const reserve = (worstCase: WorstCase): Reservation | Failure => {
    const held: Reservation[] = [];
    for (const tracker of trackers) {
      const reservation = tracker.reserve(worstCase);
      if (reservation === undefined) {
        for (const other of held) other.settle(noUsage);
        return budgetFailure(withoutRoom(tracker, worstCase), "request", tracker);
      }
      held.push(reservation);
    }
    const [only] = held;
    if (only !== undefined && held.length === 1) return only;
    return { settle: (actual) => held.forEach((reservation) => reservation.settle(actual)) };
  };
  return {
    deadline: own?.budget.deadline,
    tracker: own !== undefined && outer !== undefined && own !== outer ? both(own, outer, reserve) : (own ?? outer),
    exceeded: (phase) => stopAt(phase, (tracker) => tracker.exceeded()),
    exhausted: () => stopAt("request", exhausted),
    reserve,
  };
}

function trackerOf(budget: Budget | BudgetTracker | undefined): BudgetTracker | undefined {
  if (budget === undefined) return undefined;
  return "reserve" in budget ? budget : trackBudget(budget);
}

function both(own: BudgetTracker, outer: BudgetTracker, reserve: Budgets["reserve"]): BudgetTracker {
  return {
    budget: own.budget,
    get consumed() {
      return own.consumed;
    },
    remaining() {
      const [a, b] = [own.remaining(), outer.remaining()];
      return {
        totalTokens: Math.min(a.totalTokens, b.totalTokens),
        inputTokens: Math.min(a.inputTokens, b.inputTokens),
        outputTokens: Math.min(a.outputTokens, b.outputTokens),
        costUsd: Math.min(a.costUsd, b.costUsd),
      };
    },
    exceeded: () => own.exceeded() ?? outer.exceeded(),
    reserve(worstCase) {
      const reservation = reserve(worstCase);
      return isFailure(reservation) ? undefined : reservation;
    },
  };
}

/** Nothing left at all. */
function exhausted(tracker: BudgetTracker): BudgetDimension | undefined {
  return firstOf(tracker, (left) => !(left > 0));
}

/** The limit that so much more would pass. */
function withoutRoom(tracker: BudgetTracker, { inputTokens, outputTokens }: WorstCase): BudgetDimension {
  const needed = { total_tokens: inputTokens + outputTokens, input_tokens: inputTokens, output_tokens: outputTokens };
  return firstOf(tracker, (left, dimension) => !(left >= (dimension === "cost" ? 0 : needed[dimension]))) ?? "cost";
}

function firstOf(
  tracker: BudgetTracker,
  isOut: (left: number, dimension: BudgetDimension) => boolean,
): BudgetDimension | undefined {
  const { totalTokens, inputTokens, outputTokens, costUsd } = tracker.remaining();
  if (isOut(totalTokens, "total_tokens")) return "total_tokens";
  if (isOut(inputTokens, "input_tokens")) return "input_tokens";
  if (isOut(outputTokens, "output_tokens")) return "output_tokens";
  return isOut(costUsd, "cost") ? "cost" : undefined;
}
