// 1. One signal for the whole evaluation: it fires once, at the deadline or when the caller's own fires.
// 2. `close` takes the timer and the listeners away; nothing of the limits outlives the evaluation.
// 3. After the signal has fired, `check` fails: nothing begins any more.
// 4. A deadline that is inherited is met for all evaluations under it at once, the outermost first: none inside ends with it
//    while what is around it goes on.
import type { Budget, BudgetTracker, Clock, Deadline, Usage } from "@proviso/core";
import { setAlarm, type EvaluationPhase } from "@proviso/core/internal";
import { onAbort, over } from "./abort.ts";
import type { Wanted } from "./budget-room.ts";
import { openBudgets, type Budgets, type Granted } from "./budgets.ts";
import { abortedFailure, deadlineFailure, type Failure, type LimitFailure, type OnStop } from "./failures.ts";
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
   * Fires the signal where the deadline has passed, and returns why it fired, now or before: an evaluation inside may look
   * before a timer of this one could fire.
   */
  meetDeadline(): LimitFailure | undefined;
  /**
   * The promise, or the failure as soon as the signal fires: what was begun is left behind. `onStop` is called once,
   * with the failure, before anything goes on after it. Its result replaces the failure; what it throws, the promise
   * rejects with.
   */
  race<T>(work: Promise<T>, phase: EvaluationPhase, onStop?: OnStop): Promise<T | LimitFailure>;
  /**
   * The limits for waits that are no step of the evaluation: for a restore, a release or a close. A record has no entry of
   * a limit that ends such a wait. Left out: nothing is recorded.
   */
  readonly unrecorded?: Limits;
  close(): void;
}

export interface LimitOptions {
  readonly deadline?: Deadline | undefined;
  readonly budget?: Budget | BudgetTracker | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The limits of the evaluation around, and the signal of the call that an evaluation is inside of. */
export interface InheritedLimits {
  readonly limits: Limits;
  readonly signal: AbortSignal;
}

/**
 * `inherited` are the limits around a nested evaluation: they hold for it too. `alsoAbortedBy`: further signals that abort it.
 * @throws {DefinitionError} for a budget without a limit, or with one that is not positive.
 */
export function openLimits(
  options: LimitOptions,
  clock: Clock,
  inherited?: InheritedLimits,
  alsoAbortedBy: readonly AbortSignal[] = none,
): Limits {
  return new OpenLimits(options, clock, inherited, alsoAbortedBy);
}

const none: readonly never[] = Object.freeze([]);

/** A class: each evaluation has limits, and a closure for each of these would cost more. */
class OpenLimits implements Limits {
  readonly signal: AbortSignal;
  readonly deadline: Deadline | undefined;
  readonly #budgets: Budgets;
  readonly #controller = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #stopListening: (() => void)[] = [];
  /** The limits whose deadline this one has: it is theirs to meet. undefined: it has a deadline of its own, or none. */
  readonly #deadlineOf: Limits | undefined;
  #firedBy: LimitFailure | undefined;

  constructor(
    options: LimitOptions,
    clock: Clock,
    inherited: InheritedLimits | undefined,
    alsoAbortedBy: readonly AbortSignal[],
  ) {
    const around = inherited?.limits;
    this.#budgets = openBudgets(options.budget, around?.budget);
    const own = earliest(options.deadline, this.#budgets.deadline);
    const deadline = earliest(own, around?.deadline);
    this.deadline = deadline;
    const isInherited =
      deadline !== undefined && deadline.expiresAt.getTime() === around?.deadline?.expiresAt.getTime();
    this.#deadlineOf = isInherited ? around : undefined;
    this.signal = this.#controller.signal;
    for (const signal of [options.signal, inherited?.signal, ...alsoAbortedBy]) {
      if (signal === undefined) continue;
      this.#stopListening.push(onAbort(signal, (reason) => this.#abort(reason, signal === inherited?.signal)));
    }
    if (deadline !== undefined && !isInherited) {
      this.#stopListening.push(alarmAt(deadline, clock, (failure, reason) => this.#fire(failure, reason)));
    }
  }

  #abort(reason: unknown, isInherited: boolean): void {
    // The outer evaluation's signal may fire a little before this clock has reached the deadline.
    const around = isInherited ? this.#deadlineOf?.meetDeadline() : undefined;
    if (around?.stop === "deadline") return this.#fire(around, reason);
    const { deadline } = this;
    this.#fire(isPast(deadline) ? deadlineFailure(deadline, "request") : abortedFailure(reason, "request"), reason);
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
    if (this.#firedBy === undefined) this.#deadlineOf?.meetDeadline();
    if (this.#firedBy !== undefined) return { ...this.#firedBy, phase };
    return isPast(this.deadline) ? deadlineFailure(this.deadline, phase) : undefined;
  }

  meetDeadline(): LimitFailure | undefined {
    this.#deadlineOf?.meetDeadline();
    if (this.#firedBy === undefined && isPast(this.deadline)) this.#fire(...deadlineMet(this.deadline));
    return this.#firedBy;
  }

  race<T>(work: Promise<T>, phase: EvaluationPhase, onStop?: OnStop): Promise<T | LimitFailure> {
    return new Promise((resolve, reject) => {
      let isStopped = false;
      const stop = (): void => {
        if (isStopped) return;
        isStopped = true;
        const fired: LimitFailure = { ...(this.#firedBy as LimitFailure), phase };
        try {
          resolve(onStop?.(fired) ?? fired);
        } catch (error) {
          // The signal wakes all that wait, one after another.
          reject(error as Error);
        }
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
  return setAlarm(clock, leftMs > 0 ? leftMs : 0, () => fire(...deadlineMet(deadline)));
}

/** The failure, and the reason of the signal. */
function deadlineMet(deadline: Deadline): [failure: LimitFailure, reason: DOMException] {
  const failure = deadlineFailure(deadline, "request");
  return [failure, new DOMException(failure.message, "TimeoutError")];
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

/** The deadline that comes first. */
export function earliest(a: Deadline | undefined, b: Deadline | undefined): Deadline | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.expiresAt <= b.expiresAt ? a : b;
}

/**
 * Milliseconds that closing and restoring may take, all together, after a limit has ended the evaluation. A nested
 * evaluation gets less of it, so that it ends before the outer one.
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
      const done = await (limits.unrecorded ?? limits).race(
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
