import { systemClock } from "@proviso/core";
import { spawn } from "node:child_process";
import { once } from "node:events";

/** Milliseconds that a process takes to begin, do nothing and be known to have ended. */
async function oneProcess(): Promise<number> {
  const startedAt = performance.now();
  await once(spawn("/bin/sh", ["-c", ":"], { stdio: "ignore" }), "close");
  return performance.now() - startedAt;
}

/**
 * How slow the machine is while `work` goes on: the longest that a process which does nothing took, in ms. What waits
 * for processes is measured against it, since a bound in plain time fails where others keep the machine busy.
 */
export async function whileMeasuring<T>(
  work: () => Promise<T>,
): Promise<{ readonly value: T; readonly slowest: number }> {
  let slowest = 0;
  let isOver = false;
  const measure = async (): Promise<void> => {
    while (!isOver) {
      slowest = Math.max(slowest, await oneProcess());
      await systemClock.sleep(50);
    }
  };
  const measured = measure();
  const value = await work().finally(() => (isOver = true));
  await measured;
  return { value, slowest };
}
