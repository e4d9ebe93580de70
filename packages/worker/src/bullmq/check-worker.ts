import { DefinitionError } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import type { WorkerOptions } from "../queue.ts";

/** @throws {DefinitionError} for options of a worker that cannot be. */
export function checkWorker(options: WorkerOptions): void {
  const { concurrency, globalConcurrency, leaseMs, maxAttempts, rate, onSuspended } = options;
  const counts = {
    concurrency,
    globalConcurrency,
    leaseMs,
    maxAttempts,
    "rate.runs": rate?.runs,
    "rate.perMs": rate?.perMs,
  };
  for (const [name, value] of Object.entries(counts)) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) continue;
    throw new DefinitionError(`serveRuns: ${name} must be a whole number, 1 or more, not ${describeValue(value)}.`);
  }
  if (rate !== undefined) checkOptionNames("serveRuns: rate", rate, { runs: true, perMs: true });
  if (onSuspended !== undefined && typeof onSuspended !== "function") {
    throw new DefinitionError(`serveRuns: onSuspended must be a function, not ${describeValue(onSuspended)}.`);
  }
}
