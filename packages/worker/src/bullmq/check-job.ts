import { DefinitionError, trackBudget } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import type { RunJob } from "../kinds.ts";

const jobOptionNames = { id: true, priority: true, delayMs: true, deadline: true, budget: true } as const;
const longestPriority = 2_097_152;

/** @throws {DefinitionError} for a job that cannot be. */
export function checkJob(job: RunJob): void {
  checkOptionNames("RunQueue.add", job, jobOptionNames);
  const { priority, delayMs, deadline, budget } = job;
  if (deadline !== undefined && !Number.isFinite(deadline?.expiresAt?.getTime?.())) {
    throw new DefinitionError(
      `RunQueue.add: deadline must be one that deadlineIn or deadlineAt made, not ${describeValue(deadline)}.`,
    );
  }
  if (budget !== undefined) trackBudget(budget);
  if (priority !== undefined && !(Number.isSafeInteger(priority) && priority >= 0 && priority <= longestPriority)) {
    throw new DefinitionError(
      `RunQueue.add: priority must be a whole number from 0 to ${longestPriority}, not ${describeValue(priority)}.`,
    );
  }
  if (delayMs !== undefined && !(Number.isSafeInteger(delayMs) && delayMs >= 0)) {
    throw new DefinitionError(
      `RunQueue.add: delayMs must be a whole number, 0 or more, not ${describeValue(delayMs)}.`,
    );
  }
}
