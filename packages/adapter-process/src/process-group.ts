import { systemClock } from "@proviso/core";
import { within } from "./within.ts";

/** Milliseconds between SIGTERM and SIGKILL. */
const graceMs = 200;
/** Milliseconds between two looks at a group that was told to end. */
const pollMs = 10;

/** Groups that run: a program that exits in the middle takes them with it. */
const running = new Set<number>();

function killAll(): void {
  for (const leader of running) signalGroup(leader, "SIGKILL");
}

/** Holds a group until `letGo`, by the id of its leader. */
export function holdGroup(leader: number): void {
  if (running.size === 0) process.on("exit", killAll);
  running.add(leader);
}

export function letGo(leader: number): void {
  running.delete(leader);
  if (running.size === 0) process.off("exit", killAll);
}

/** SIGTERM, and SIGKILL for whoever is left after the grace. Resolves when the group is gone or was killed. */
export async function endGroup(leader: number): Promise<void> {
  if (!signalGroup(leader, "SIGTERM")) return;
  if ((await within(graceMs, (over) => gone(leader, over))) === undefined) signalGroup(leader, "SIGKILL");
}

/** Resolves when nobody of the group is left; rejects at `over`. */
async function gone(leader: number, over: AbortSignal): Promise<true> {
  do await systemClock.sleep(pollMs, over);
  while (signalGroup(leader, 0));
  return true;
}

/** false: there is no such group any more. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
