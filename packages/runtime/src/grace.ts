import type { World } from "./environment.ts";
import { over, type Limits } from "./limits.ts";
import type { Run } from "./run.ts";

/**
 * Milliseconds that closing and restoring may take, all together, after a limit has ended the evaluation. What is nested
 * has less of it: it is over before what is around it.
 */
export const graceMs = (depth: number): number => 60 / (depth + 1);

/** Waits for work within the limits, then for so many milliseconds in all; what still goes on is in `behind`. */
export function graceful(
  { clock }: World,
  limits: Limits,
  ms: number,
  behind: Set<Promise<unknown>>,
): Run["withinGrace"] {
  let until: number | undefined;
  return async (work, onError) => {
    const settled = work.catch(onError);
    behind.add(settled);
    void settled.finally(() => behind.delete(settled));
    if (!limits.signal.aborted) {
      const done = await limits.race(
        settled.then(() => "done" as const),
        "tool",
      );
      if (done === "done") return;
    }
    until ??= clock.now() + ms;
    const waiting = new AbortController();
    await Promise.race([settled, clock.sleep(Math.max(0, until - clock.now()), waiting.signal).catch(() => {})]);
    waiting.abort(over);
  };
}
