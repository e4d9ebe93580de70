import { systemClock } from "@proviso/core";
import { setAlarm } from "@proviso/core/internal";
import type { Shelf } from "./shelf.ts";

/** How often a worker looks whether Redis has lost the number. */
const lookAgainMs = 2_000;

/**
 * Sets how many runs all workers have in hand at once, and sets it again where Redis has lost it; another number that another
 * worker set meanwhile stays. Returns what ends that.
 */
export async function keepGlobalConcurrency(shelf: Shelf, limit: number): Promise<() => void> {
  const [jobs, connection] = [await shelf.jobs(), await shelf.connections.commands()];
  await jobs.setGlobalConcurrency(limit);
  const look = async (): Promise<void> => {
    if ((await jobs.getGlobalConcurrency()) === null) await jobs.setGlobalConcurrency(limit);
  };
  // What fails is made good by the next look.
  const lookNow = (): Promise<void> => look().catch(() => {});
  let isOver = false;
  let stopTimer = (): void => {};
  const lookLater = (): void => {
    stopTimer = setAlarm(systemClock, lookAgainMs, () => {
      void lookNow().then(() => {
        if (!isOver) lookLater();
      });
    });
  };
  lookLater();
  const connected = (): void => void lookNow();
  connection.on("ready", connected);
  return () => {
    isOver = true;
    stopTimer();
    connection.off("ready", connected);
  };
}
