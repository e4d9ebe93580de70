// A journal that does not answer, whose database hangs for example, holds no evaluation past its limits.
import type { Clock, EvaluateOptions } from "@proviso/core";
import { over } from "../abort.ts";
import { isFailure, type Failure } from "../failures.ts";
import { earliest, openLimits, type LimitOptions, type Limits } from "../limits.ts";

/** Milliseconds for a journal after a limit: restores and closes before it may have had the others of the hundred. */
const graceMs = 40;

/** Returns the limit that was met before the work had ended, and `graceMs` later; undefined: it ended in time. Never rejects. */
export async function limitMetBy(
  work: Promise<unknown>,
  options: EvaluateOptions,
  clock: Clock,
): Promise<Failure | undefined> {
  const done = work.then(
    () => true,
    () => true,
  );
  const limits = limitsOf(options, clock);
  if (limits === undefined) return void (await done);
  const first = await limits.race(done, "render");
  limits.close();
  if (!isFailure(first)) return undefined;
  const waiting = new AbortController();
  const late = clock.sleep(graceMs, waiting.signal).then(
    () => false,
    () => false,
  );
  const isDone = await Promise.race([done, late]);
  waiting.abort(over);
  return isDone ? undefined : first;
}

/** The limits that an evaluation is given; undefined: it has none, or what it has is refused as an option later. */
function limitsOf({ deadline, budget, signal }: EvaluateOptions, clock: Clock): Limits | undefined {
  try {
    const ofBudget = budget !== undefined && "reserve" in budget ? budget.budget.deadline : budget?.deadline;
    const own = earliest(deadline, ofBudget);
    const given: LimitOptions = { deadline: own, signal };
    return own === undefined && signal === undefined ? undefined : openLimits(given, clock);
  } catch {
    return undefined;
  }
}
