import type { World } from "./environment.ts";
import { over } from "./abort.ts";
import type { Limits } from "./limits.ts";

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
