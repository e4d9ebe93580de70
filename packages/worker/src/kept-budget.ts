import { deadlineAt, type Budget } from "@proviso/core";

/** A budget as it was given, after it went through a queue as JSON: its deadline is a text of a moment there. */
export function keptBudget(budget: Budget | undefined): Budget | undefined {
  const at = new Date((budget?.deadline?.expiresAt as unknown as string | undefined) ?? NaN);
  // What is no moment is refused where the run is evaluated.
  return Number.isNaN(at.getTime()) ? budget : { ...budget, deadline: deadlineAt(at) };
}
