import type { BudgetTracker, PromptRendered } from "@proviso/core";
import { partsOf } from "./joined-tracker.ts";
import type { Run } from "./run.ts";

type Limits = PromptRendered["limits"];

/** The limits of an evaluation as its first event shows them: of several budgets the one that leaves the fewest tokens. */
export function shownLimits({ limits, maxTurns }: Pick<Run, "limits" | "maxTurns">): Limits {
  const { deadline, budget } = limits;
  const trackers = partsOf(budget).filter(limitsMoreThanTime);
  const [narrowest] = trackers.length > 1 ? trackers.toSorted(byRoom) : trackers;
  const left = narrowest && budgetOf(narrowest);
  if (deadline === undefined) return left === undefined ? { maxTurns } : { budget: left, maxTurns };
  const until = deadline.expiresAt.getTime();
  return left === undefined ? { deadline: until, maxTurns } : { deadline: until, budget: left, maxTurns };
}

function limitsMoreThanTime({ budget }: BudgetTracker): boolean {
  for (const name in budget) if (name !== "deadline") return true;
  return false;
}

function budgetOf({ budget, consumed }: BudgetTracker): Limits["budget"] {
  // A spread is several times faster than one that leaves something out.
  if (!("deadline" in budget)) return { ...budget, consumed: { ...consumed } };
  const { deadline: _, ...limits } = budget;
  return { ...limits, consumed: { ...consumed } };
}

/** The one that leaves the fewest tokens first; among those that limit dollars alone, the one that leaves the fewest. */
function byRoom(a: BudgetTracker, b: BudgetTracker): number {
  const [left, other] = [a.remaining(), b.remaining()];
  const tokens = tokensIn(left);
  const others = tokensIn(other);
  return tokens === others ? Math.sign(left.costUsd - other.costUsd) || 0 : Math.sign(tokens - others);
}

function tokensIn({ totalTokens, inputTokens, outputTokens }: ReturnType<BudgetTracker["remaining"]>): number {
  return Math.min(totalTokens, inputTokens, outputTokens);
}
