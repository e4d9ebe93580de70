import { AbortedError, BudgetExceededError, DeadlineExceededError } from "@proviso/core";
import { messageOf, isA } from "@proviso/core/internal";
import { failure, failureBehind, type Failure } from "../failures.ts";
import { startPatience } from "../resources/closing.ts";
import type { Run } from "../run.ts";
import { LockFault } from "../transactions/endless-wait.ts";

/**
 * What ends the evaluation: a wait for a lock that ended badly, a limit of the evaluation's own that a nested evaluation
 * met, or a limit that the handler keeps itself. A narrower limit that a nested evaluation set for itself ends nothing.
 */
export function stopBehind(run: Run, error: unknown): Failure | undefined {
  if (isA(error, LockFault)) return error.failure;
  const behind = failureBehind(error);
  if (behind === undefined) return ownLimitBehind(error);
  // The evaluation inside may have met the deadline before a timer of this one could fire.
  if (behind.stop === "deadline" || behind.stop === "aborted") return run.limits.stopped("tool");
  if (behind.stop !== "budget" || behind.tracker === undefined || !run.limits.spendsFrom(behind.tracker))
    return undefined;
  // The text is the nested evaluation's answer, not this one's.
  return { ...behind, phase: "tool", text: undefined, cause: error };
}

/** An error of a limit that no evaluation rejected with: the handler made it. */
function ownLimitBehind(error: unknown): Failure | undefined {
  const why = { phase: "tool", message: messageOf(error), cause: error } as const;
  if (isA(error, DeadlineExceededError)) return failure({ stop: "deadline", expiresAt: error.expiresAt, ...why });
  if (isA(error, AbortedError)) return failure({ stop: "aborted", ...why });
  if (isA(error, BudgetExceededError)) {
    const { dimension, limit, spent, reserved, wanted } = error;
    return failure({ stop: "budget", dimension, limit, spent, reserved, wanted, tracker: undefined, ...why });
  }
  return undefined;
}

/**
 * A handler that goes on although the end of a body has aborted its evaluation may write yet: it is undone with the body,
 * which waits for it, as long as a close is waited for.
 */
export function leaveBehind(run: Run, work: Promise<unknown>): void {
  let outermost = run;
  while (outermost.nesting !== undefined) outermost = outermost.nesting.run;
  const ending = outermost.enclosing.among.filter(({ signal }) => signal.aborted);
  if (ending.length === 0) return;
  const patience = startPatience(run.world.clock);
  const waited = patience.wait(work).finally(() => patience.end());
  for (const evaluations of ending) evaluations.add(waited);
}
