// 1. One signal for the whole evaluation: it fires once, at the deadline or when the caller's own fires.
// 2. `close` takes the timer and the listeners away; nothing of the limits outlives the evaluation.
// 3. After the signal has fired, `check` fails: nothing begins any more.
import type { Budget, BudgetTracker, Clock, Deadline, Usage } from "@proviso/core";
import { setAlarm, type EvaluationPhase } from "@proviso/core/internal";
import { onAbort, over } from "./abort.ts";
import type { Wanted } from "./budget-room.ts";
import { openBudgets, type Budgets, type Granted } from "./budgets.ts";
import { abortedFailure, deadlineFailure, type Failure, type LimitFailure } from "./failures.ts";
import { ignoreRejection } from "./logging.ts";
import type { World } from "./environment.ts";

export interface Limits {
  readonly signal: AbortSignal;
  readonly deadline: Deadline | undefined;
  readonly budget: BudgetTracker | undefined;
  /** The limit that is passed, if one is: nothing begins any more. */
  check(phase: EvaluationPhase): Failure | undefined;
  /** Like `check`, but before a request, which a budget with nothing left forbids too. */
  checkRequest(): Failure | undefined;
  /** Why a usage without a cost cannot be held against a limit in dollars, where there is one. */
  unpriced(usage: Usage): Failure | undefined;
  /** A budget limits the cost. */
  readonly limitsCost: boolean;
  /** Whether the tracker is one of those that the evaluation spends from. */
  spendsFrom(tracker: BudgetTracker): boolean;
  /** Holds what a request wants in every budget, waiting for others if need be, or says which has no room for it. */
  reserve(wanted: Wanted | undefined): Granted | Failure | Promise<Granted | Failure>;
  /** Why the signal fired, as a failure of this phase; undefined while it has not. */
  stopped(phase: EvaluationPhase): LimitFailure | undefined;
  /**
   * The promise, or the failure as soon as the signal fires: what was begun is left behind. `onStop` is called with the
   * failure before anything goes on after it.
   */
  race<T>(
    work: Promise<T>,
    phase: EvaluationPhase,
    onStop?: (failure: LimitFailure) => void,
  ): Promise<T | LimitFailure>;
  close(): void;
}

export interface LimitOptions {
  readonly deadline?: Deadline | undefined;
  readonly budget?: Budget | BudgetTracker | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * `inherited` are the limits around a nested evaluation: they hold for it too.
 * @throws {DefinitionError} for a budget without a limit, or with one that is not positive.
 */
export function openLimits(options: LimitOptions, clock: Clock, inherited: LimitOptions = {}): Limits {
  return new OpenLimits(options, clock, inherited);
}

/** A class: each evaluation has limits, and a closure for each of these would cost more. */
class OpenLimits implements Limits {
  readonly signal: AbortSignal;
  readonly deadline: Deadline | undefined;
  readonly #budgets: Budgets;
  readonly #controller = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #stopListening: (() => void)[] = [];
  #firedBy: LimitFailure | undefined;

  constructor(options: LimitOptions, clock: Clock, inherited: LimitOptions) {
    this.#budgets = openBudgets(options.budget, inherited.budget);
    const deadline = earliest(earliest(options.deadline, this.#budgets.deadline), inherited.deadline);
    this.deadline = deadline;
    this.signal = this.#controller.signal;
    for (const signal of [options.signal, inherited.signal]) {
      if (signal === undefined) continue;
      const stop = onAbort(signal, (reason) => {
        const failure = isPast(deadline) ? deadlineFailure(deadline, "request") : abortedFailure(reason, "request");
        this.#fire(failure, reason);
      });
      this.#stopListening.push(stop);
    }
    if (deadline !== undefined) {
      this.#stopListening.push(alarmAt(deadline, clock, (failure, reason) => this.#fire(failure, reason)));
    }
  }

  get budget(): BudgetTracker | undefined {
    return this.#budgets.tracker;
  }

  get limitsCost(): boolean {
    return this.#budgets.limitsCost;
  }

  check(phase: EvaluationPhase): Failure | undefined {
    return this.stopped(phase) ?? this.#budgets.exceeded(phase);
  }

  checkRequest(): Failure | undefined {
    return this.stopped("request") ?? this.#budgets.exhausted();
  }

  unpriced(usage: Usage): Failure | undefined {
    return this.#budgets.unpriced(usage);
  }

  spendsFrom(tracker: BudgetTracker): boolean {
    return this.#budgets.includes(tracker);
  }

  reserve(wanted: Wanted | undefined): Granted | Failure | Promise<Granted | Failure> {
    return this.#budgets.reserve(wanted, this.signal);
  }

  stopped(phase: EvaluationPhase): LimitFailure | undefined {
    if (this.#firedBy !== undefined) return { ...this.#firedBy, phase };
    return isPast(this.deadline) ? deadlineFailure(this.deadline, phase) : undefined;
  }

  race<T>(
    work: Promise<T>,
    phase: EvaluationPhase,
    onStop?: (failure: LimitFailure) => void,
  ): Promise<T | LimitFailure> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        const fired: LimitFailure = { ...(this.#firedBy as LimitFailure), phase };
        onStop?.(fired);
        resolve(fired);
      };
      const settle = (otherwise: () => void): void => {
        this.#waiting.delete(stop);
        // What was stopped by the signal may settle first, in a way of its own.
        if (this.#firedBy === undefined) otherwise();
        else stop();
      };
      if (this.#firedBy === undefined) this.#waiting.add(stop);
      else stop();
      work.then(
        (value) => settle(() => resolve(value)),
        (error: unknown) => settle(() => reject(error)),
      );
    });
  }

  close(): void {
    for (const stop of this.#stopListening) stop();
  }

  #fire(failure: LimitFailure, reason: unknown): void {
    if (this.#firedBy !== undefined) return;
    this.#firedBy = failure;
    this.#controller.abort(reason);
    for (const wake of this.#waiting) wake();
  }
}

/** Returns what cancels it. */
function alarmAt(deadline: Deadline, clock: Clock, fire: (failure: LimitFailure, reason: unknown) => void): () => void {
  const leftMs = remainingMs(deadline);
  return setAlarm(clock, leftMs > 0 ? leftMs : 0, () => {
    const failure = deadlineFailure(deadline, "request");
    fire(failure, new DOMException(failure.message, "TimeoutError"));
  });
}

function isPast(deadline: Deadline | undefined): deadline is Deadline {
  return deadline !== undefined && !(remainingMs(deadline) > 0);
}

/** A deadline that throws has passed: a timer asks it too, and nothing would catch the error there. */
export function remainingMs(deadline: Deadline): number {
  try {
    const left: unknown = deadline.remainingMs();
    if (typeof left === "number") return left;
    ignoreRejection(left);
    return 0;
  } catch {
    return 0;
  }
}

function earliest(a: Deadline | undefined, b: Deadline | undefined): Deadline | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.expiresAt <= b.expiresAt ? a : b;
}

/**
 * Milliseconds that closing and restoring may take, all together, after a limit has ended the evaluation. What is nested
 * has less of it: it is over before what is around it.
 */
export const graceMs = (depth: number): number => 60 / (depth + 1);

/** Waits for the work, but not past the evaluation's end: then the work goes on behind. Never rejects. */
export type WithinGrace = (work: Promise<unknown>, onError: (error: unknown) => void) => Promise<void>;

/** Waits for work within the limits, then for so many milliseconds in all; what still goes on is in `behind`. */
export function graceful({ clock }: World, limits: Limits, ms: number, behind: Set<Promise<unknown>>): WithinGrace {
  let until: number | undefined;
  /** Where the clock or its sleep fails, the grace is over. */
  const restOfGrace = async (signal: AbortSignal): Promise<void> => {
    try {
      until ??= clock.now() + ms;
      await clock.sleep(Math.max(0, until - clock.now()), signal);
    } catch {}
  };
  return async (work, onError) => {
    // What `onError` throws has to leave nothing rejected: it is a broken clock's, and the next event fails with that.
    const settled = work.catch(onError).catch(() => {});
    behind.add(settled);
    void settled.then(() => behind.delete(settled));
    if (!limits.signal.aborted) {
      const done = await limits.race(
        settled.then(() => "done" as const),
        "tool",
      );
      if (done === "done") return;
    }
    const waiting = new AbortController();
    await Promise.race([settled, restOfGrace(waiting.signal)]);
    waiting.abort(over);
  };
}
