// 1. One signal for the whole evaluation: it fires once, at the deadline or when the caller's own fires.
// 2. `close` takes the timer and the listener away; nothing of the limits outlives the evaluation.
// 3. After the signal has fired, `check` fails: nothing begins any more.
import {
  trackBudget,
  type Budget,
  type BudgetDimension,
  type BudgetTracker,
  type Clock,
  type Deadline,
  type EvaluationPhase,
} from "@proviso/core";
import { abortedFailure, budgetFailure, deadlineFailure, type Failure, type LimitFailure } from "./failures.ts";

export interface Limits {
  readonly signal: AbortSignal;
  readonly deadline: Deadline | undefined;
  readonly budget: BudgetTracker | undefined;
  /** The limit that is passed, if one is: nothing begins any more. */
  check(phase: EvaluationPhase): Failure | undefined;
  /** The same before a request, which a budget with nothing left forbids too. */
  checkRequest(): Failure | undefined;
  /** Why the signal fired, told for this phase; undefined while it has not. */
  stopped(phase: EvaluationPhase): LimitFailure | undefined;
  /** The promise, or the failure as soon as the signal fires: what was begun is left behind. */
  race<T>(work: Promise<T>, phase: EvaluationPhase): Promise<T | LimitFailure>;
  close(): void;
}

export interface LimitOptions {
  readonly deadline?: Deadline | undefined;
  readonly budget?: Budget | BudgetTracker | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** @throws {DefinitionError} for a budget without a limit, or with one that is not positive. */
export function openLimits(options: LimitOptions, clock: Clock): Limits {
  const budget = trackerOf(options.budget);
  const deadline = earliest(options.deadline, budget?.budget.deadline);
  const controller = new AbortController();
  const { signal } = controller;
  const closing = new AbortController();
  let firedBy: LimitFailure | undefined;

  const fire = (failure: LimitFailure, reason: unknown): void => {
    firedBy ??= failure;
    controller.abort(reason);
  };
  const abort = (): void => fire(abortedFailure(options.signal?.reason, "request"), options.signal?.reason);
  if (options.signal?.aborted === true) abort();
  options.signal?.addEventListener("abort", abort, { once: true });
  if (deadline !== undefined) {
    const left = Math.max(0, deadline.remainingMs());
    clock.sleep(left, closing.signal).then(
      () => {
        const failure = deadlineFailure(deadline, "request");
        fire(failure, new DOMException(failure.message, "TimeoutError"));
      },
      () => {},
    );
  }

  const stopped = (phase: EvaluationPhase): LimitFailure | undefined => {
    if (firedBy !== undefined) return { ...firedBy, phase };
    if (deadline === undefined || deadline.remainingMs() > 0) return undefined;
    return deadlineFailure(deadline, phase);
  };
  return {
    signal,
    deadline,
    budget,
    stopped,
    check: (phase) => stopped(phase) ?? budgetStop(budget?.exceeded(), phase),
    checkRequest: () => stopped("request") ?? budgetStop(budget && exhausted(budget), "request"),
    async race(work, phase) {
      const fired = firing(signal);
      try {
        const first = await Promise.race([work, fired.promise]);
        // What was stopped by the signal may settle first, with an error of its own.
        return firedBy === undefined ? (first as Awaited<typeof work>) : { ...firedBy, phase };
      } finally {
        fired.release();
      }
    },
    close() {
      options.signal?.removeEventListener("abort", abort);
      closing.abort();
    },
  };
}

/** A promise that resolves when the signal fires, and a way to forget it. */
export function firing(signal: AbortSignal): { readonly promise: Promise<void>; release(): void } {
  if (signal.aborted) return { promise: Promise.resolve(), release() {} };
  const { promise, resolve } = Promise.withResolvers<void>();
  const fire = (): void => resolve();
  signal.addEventListener("abort", fire, { once: true });
  return { promise, release: () => signal.removeEventListener("abort", fire) };
}

function earliest(a: Deadline | undefined, b: Deadline | undefined): Deadline | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.expiresAt <= b.expiresAt ? a : b;
}

function trackerOf(budget: Budget | BudgetTracker | undefined): BudgetTracker | undefined {
  if (budget === undefined) return undefined;
  return "reserve" in budget ? budget : trackBudget(budget);
}

function budgetStop(dimension: BudgetDimension | undefined, phase: EvaluationPhase): Failure | undefined {
  return dimension === undefined ? undefined : budgetFailure(dimension, phase);
}

/** Nothing left: a request would only begin to pass the limit. */
function exhausted(budget: BudgetTracker): BudgetDimension | undefined {
  const { totalTokens, inputTokens, outputTokens, costUsd } = budget.remaining();
  if (totalTokens <= 0) return "total_tokens";
  if (inputTokens <= 0) return "input_tokens";
  if (outputTokens <= 0) return "output_tokens";
  return costUsd <= 0 ? "cost" : undefined;
}
