import type { Clock } from "@proviso/core";
import { SqliteError, sqliteError } from "./sqlite-error.ts";

/** How a statement is waited for that finds the lock of another connection. */
interface Waiting {
  readonly clock: Clock;
  /** Milliseconds after which it is given up. */
  readonly busyTimeoutMs: number;
  /** Begins the message of an error: "Reading the file a.sqlite". */
  readonly doing: string;
}

/** Milliseconds between two tries, at most. */
const longestPauseMs = 50;

/**
 * Runs the work, and runs it again as long as another connection has the lock; the process goes on meanwhile.
 * @throws {SqliteError} "busy" after `busyTimeoutMs`, and what else SQLite refuses. Errors of ours pass as they are.
 */
export async function whenFree<T>({ clock, busyTimeoutMs, doing }: Waiting, work: () => T): Promise<T> {
  let waitedMs = 0;
  for (let pauseMs = 1; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return work();
    } catch (cause) {
      const error = sqliteError(cause, doing);
      if (!isBusy(error) || waitedMs >= busyTimeoutMs) throw error;
      waitedMs += await rested(clock, pauseMs);
    }
  }
}

/** Whether another connection had the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof SqliteError && error.reason === "busy";
}

/** Sleeps, and returns the milliseconds that it took: no fewer where the clock was set back meanwhile. */
async function rested(clock: Clock, ms: number): Promise<number> {
  const restsAt = clock.now();
  await clock.sleep(ms);
  return Math.max(ms, clock.now() - restsAt);
}
