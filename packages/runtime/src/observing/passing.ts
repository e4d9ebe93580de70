// 1. What an observer throws or rejects with is logged, and changes nothing else.
// 2. The work of a step is run once, whatever the observers around it do.
import type { Observer, Step } from "@proviso/core";
import { isThenable, messageOf, surround, type SurroundingObserver } from "@proviso/core/internal";
import type { LogLevel } from "../logging.ts";
import { outsideAttempt } from "../transactions/async-context.ts";
import type { Observers } from "./observers.ts";

/** What the observers of an evaluation need of it. */
export interface Observed {
  log(level: LogLevel, fields: object, message: string): void;
  /** Returns the value without the secrets. */
  hide<T>(value: T): T;
}

/** Runs the work inside the surroundings of every observer from that one on, which is the outermost. */
export function runAround<T>(
  observers: Observers,
  observed: Observed,
  step: Step,
  work: () => T | Promise<T>,
  from = 0,
): T | Promise<T> {
  const observer = observers.all[from];
  if (observer === undefined) return work();
  const isInnermost = from === observers.all.length - 1;
  const inner = isInnermost ? work : () => runAround(observers, observed, step, work, from + 1);
  if (observer[surround] !== undefined) return runSurrounded(observer as SurroundingObserver, observed, step, inner);
  return observer.around === undefined ? inner() : runWatched(observer, observed, step, inner);
}

/** Runs the work inside the surroundings of an observer that does not wait for it. */
function runSurrounded<T>(
  observer: SurroundingObserver,
  observed: Observed,
  step: Step,
  work: () => T | Promise<T>,
): T | Promise<T> {
  let begun: { readonly value: T | Promise<T> } | { readonly error: unknown } | undefined;
  let end: ((error?: unknown) => void) | undefined;
  const begin = (given?: typeof end): void => {
    end ??= given;
    begun ??= outcomeOf(work);
  };
  try {
    observer[surround](step, begin);
  } catch (error) {
    failed(observed, "around", error);
  }
  begin();
  const outcome = begun as NonNullable<typeof begun>;
  if (end !== undefined) return endedBy(end, observed, outcome);
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

function outcomeOf<T>(work: () => T | Promise<T>): { readonly value: T | Promise<T> } | { readonly error: unknown } {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
  }
}

/** Calls the observer's `end` when the step is over, before the step's caller goes on. */
async function endedBy<T>(
  end: (error?: unknown) => void,
  observed: Observed,
  outcome: { readonly value: T | Promise<T> } | { readonly error: unknown },
): Promise<T> {
  const over = (error?: unknown): void => {
    try {
      end(error);
    } catch (thrown) {
      failed(observed, "around", thrown);
    }
  };
  try {
    if ("error" in outcome) throw outcome.error;
    const value = await outcome.value;
    over();
    return value;
  } catch (error) {
    over(observed.hide(error) ?? "error");
    throw error;
  }
}

/** Runs the work inside the surroundings of an observer that sees when it is over. */
function runWatched<T>(observer: Observer, observed: Observed, step: Step, work: () => T | Promise<T>): Promise<T> {
  let outcome: Promise<T> | undefined;
  let end: StepEnd<T> | undefined;
  let isOver = false;
  const run = (): Promise<T> => (outcome ??= promised(work));
  // An observer sees when the step is over, and why it failed, but not what it came to.
  const begin = (): Promise<never> => {
    end ??= endOf(run(), observed);
    // Here no code waits for it any more, so a rejection is left alone.
    if (isOver) end.shown.catch(() => {});
    return end.shown as Promise<never>;
  };
  try {
    const returned: unknown = observer.around?.(step, begin);
    if (outcome === undefined) failed(observed, "around", "It returned before it called the work.");
    // Most observers return what they were given.
    if (returned !== end?.shown && isThenable(returned)) watch(returned, end?.shown, observed);
  } catch (error) {
    failed(observed, "around", error);
  }
  isOver = true;
  // What the observer does when the step is over is done before the step's caller goes on.
  return end === undefined ? run() : end.shown.then(end.value, end.value);
}

/** Logs what an observer's own promise rejects with, where that is not what the step failed with. */
function watch(returned: PromiseLike<unknown>, shown: Promise<unknown> | undefined, observed: Observed): void {
  returned.then(undefined, (error: unknown) => {
    const passedOn = (shown ?? Promise.resolve()).then(
      () => false,
      (own: unknown) => own === error,
    );
    void passedOn.then((isOwn) => (isOwn ? undefined : failed(observed, "around", error)));
  });
}

/** Calls one member of each observer. Nothing waits for what it begins. */
export function callEach(
  observers: Observers,
  observed: Observed,
  member: keyof Observer,
  call: (observer: Observer) => unknown,
): void {
  const callOne = (one: Observer): void => {
    try {
      const returned = call(one);
      if (isThenable(returned)) returned.then(undefined, (error: unknown) => failed(observed, member, error));
    } catch (error) {
      failed(observed, member, error);
    }
  };
  outsideAttempt(() => observers.all.forEach(callOne));
}

async function promised<T>(work: () => T | Promise<T>): Promise<T> {
  return work();
}

/** How a step ended. */
interface StepEnd<T> {
  /** What the observers see. */
  readonly shown: Promise<undefined>;
  /** Returns what the step came to, or throws; to be called when `shown` is settled. */
  value(): T;
}

function endOf<T>(work: Promise<T>, observed: Observed): StepEnd<T> {
  let ended: { readonly value: T } | { readonly error: unknown };
  return {
    shown: work.then(
      (value) => {
        ended = { value };
        return undefined;
      },
      (error: unknown) => {
        ended = { error };
        throw observed.hide(error);
      },
    ),
    value() {
      if ("error" in ended) throw ended.error;
      return ended.value;
    },
  };
}

function failed(observed: Observed, member: keyof Observer, error: unknown): void {
  observed.log("error", { member, error: messageOf(error) }, "observer.failed");
}
