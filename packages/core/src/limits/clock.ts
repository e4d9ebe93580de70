import { DefinitionError } from "../errors.ts";
import { describeValue, isRecord } from "../values.ts";

/** Time from outside: epoch milliseconds, and a way to wait. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /**
   * Resolves after `ms` milliseconds; rejects with the signal's reason when that fires first. Leaves no timer and no
   * listener behind.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A timer fires at once beyond this. */
const longestTimerMs = 2 ** 31 - 1;

/** The only timers and the only wall clock of the project. */
export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    for (let left = ms; left > 0; left -= longestTimerMs) await wait(Math.min(left, longestTimerMs), signal);
    signal?.throwIfAborted();
  },
};

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/**
 * Returns a function to call between two steps of long work: once so many milliseconds have passed, it returns a promise
 * that resolves after timers and sockets have been served. On another clock than the system's it returns none, so what a
 * test or a simulation sees depends on no time.
 */
export function pausesOf(clock: Clock, longestMs: number): () => Promise<void> | undefined {
  if (clock !== systemClock) return () => undefined;
  let since = clock.now();
  return () => {
    if (Math.abs(clock.now() - since) < longestMs) return undefined;
    return clock.sleep(1).then(() => void (since = clock.now()));
  };
}

/** Why a sleep is not needed any more: the default reason, an error with a stack, costs more than the timer. */
const over = "over";

/**
 * Calls `ring` once, when so many milliseconds of this clock have passed, unless what is returned is called before. On
 * the system's clock it is a timer and nothing else: a sleep would add a signal, a listener and three promises.
 */
export function setAlarm(clock: Clock, ms: number, ring: () => void): () => void {
  if (clock !== systemClock) {
    const stopped = new AbortController();
    clock.sleep(ms, stopped.signal).then(ring, () => {});
    return () => stopped.abort(over);
  }
  if (ms > longestTimerMs) return setLongAlarm(ms, ring);
  // One timer waits for each request: nothing but the timer is kept.
  const timer = setTimeout(ring, ms);
  return () => clearTimeout(timer);
}

function setLongAlarm(ms: number, ring: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const wait = (left: number): void => {
    timer = setTimeout(
      () => (left > longestTimerMs ? wait(left - longestTimerMs) : ring()),
      Math.min(left, longestTimerMs),
    );
  };
  wait(ms);
  return () => clearTimeout(timer);
}

/** A moment by which an evaluation has settled. */
export interface Deadline {
  /** The moment at which it is met. */
  readonly expiresAt: Date;
  /** Milliseconds left; zero or less when it has passed. */
  remainingMs(): number;
}

/**
 * A deadline `ms` milliseconds from now.
 * @throws {DefinitionError} unless `ms` is a finite number.
 */
export function deadlineIn(ms: number, clock: Clock = systemClock): Deadline {
  if (!Number.isFinite(ms))
    throw new DefinitionError(`A deadline needs a finite number of milliseconds, not ${describeValue(ms)}.`);
  return deadlineAt(new Date(clock.now() + ms), clock);
}

/**
 * A deadline at a moment.
 * @throws {DefinitionError} when it is no Date, or an invalid one.
 */
export function deadlineAt(at: Date, clock: Clock = systemClock): Deadline {
  const expiresAt = new Date(typeof (at as Partial<Date> | undefined)?.getTime === "function" ? at.getTime() : NaN);
  if (Number.isNaN(expiresAt.getTime())) {
    throw new DefinitionError(`deadlineAt needs a valid Date, not ${describeValue(at)}.`);
  }
  return Object.freeze({ expiresAt, remainingMs: () => expiresAt.getTime() - clock.now() });
}

/** Whether it has a valid Date and a way to ask what is left; a moment of another library is no Date. Never throws. */
export function isDeadline(value: unknown): value is Deadline {
  try {
    if (!isRecord(value) || typeof value["remainingMs"] !== "function") return false;
    return !Number.isNaN(Date.prototype.getTime.call(value["expiresAt"] as Date));
  } catch {
    return false;
  }
}
