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
