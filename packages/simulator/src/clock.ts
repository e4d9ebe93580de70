/** Where the simulator's time comes from. */
export interface SimulatorClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** May end or reject when the signal fires, and need not. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A timer of more milliseconds fires at once. */
const longestTimerMs = 2 ** 31 - 1;

/** The only timer and the only wall clock of the simulator. */
export const systemClock: SimulatorClock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(ms, longestTimerMs));
      signal?.addEventListener("abort", done, { once: true });
    }),
};

/**
 * Waits for milliseconds. The wait ends early, without an error, when the signal aborts, even where the clock ignores
 * the signal.
 */
export async function pause(clock: SimulatorClock, ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return;
  let wake = (): void => {};
  const woken = new Promise<void>((resolve) => (wake = resolve));
  signal.addEventListener("abort", wake, { once: true });
  try {
    await Promise.race([clock.sleep(ms, signal), woken]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", wake);
  }
}
