// What is tried again because the system says that the fault may pass.
import { lstat } from "node:fs/promises";
import { isPassing } from "./faults.ts";

const mostTries = 5;

/** Tries the work again, up to five times in all, while something is in the way that passes. */
export async function patiently<T>(root: string, work: () => T | Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error) || tries === mostTries) throw error;
      // Waits for a moment, so that others have their turn.
      await lstat(root).catch(() => {});
    }
  }
}

/** Like `patiently`, for work that cannot wait. */
export function patientlyNow<T>(work: () => T): T {
  for (let tries = 1; ; tries++) {
    try {
      return work();
    } catch (error) {
      if (!isPassing(error) || tries === mostTries) throw error;
    }
  }
}
