import { systemClock } from "@proviso/core";
import { within } from "./within.ts";

/** Milliseconds between SIGTERM and SIGKILL. */
const graceMs = 200;
/** Milliseconds between two looks at a group after it was asked to end. */
const pollMs = 10;

/** Groups that run: a program that exits in the middle, or is ended by a signal, takes them with it. */
const running = new Set<number>();
/** Signals that end a program without a listener for them; Ctrl-C is the first. */
const endingSignals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];

function killAll(): void {
  for (const leader of running) signalGroup(leader, "SIGKILL");
}

/**
 * Ends the program as the signal would without us, where no other code listens to it. Otherwise the other listeners
 * decide. We do not listen meanwhile, or two libraries that each look for other listeners would both leave the end to
 * the other.
 */
function onSignal(signal: NodeJS.Signals): void {
  process.off(signal, onSignal);
  if (process.listenerCount(signal) === 0) {
    killAll();
    process.kill(process.pid, signal);
  } else queueMicrotask(() => running.size > 0 && listenTo(signal));
}

function listenTo(signal: NodeJS.Signals): void {
  process.off(signal, onSignal);
  // Our listener comes first, because a listener that was added with `once` is removed when it is called.
  process.prependListener(signal, onSignal);
}

/** Holds a group until `letGo`, by the id of its leader. */
export function holdGroup(leader: number): void {
  if (running.size === 0) {
    process.on("exit", killAll);
    for (const signal of endingSignals) listenTo(signal);
  }
  running.add(leader);
}

/** Holds the group no longer: its processes are gone, or are no longer ours to end. */
export function letGo(leader: number): void {
  running.delete(leader);
  if (running.size > 0) return;
  process.off("exit", killAll);
  for (const signal of endingSignals) process.off(signal, onSignal);
}

/** Sends SIGTERM, and SIGKILL to what is left after the grace. Resolves when the group is gone or was killed. */
export async function endGroup(leader: number): Promise<void> {
  if (!signalGroup(leader, "SIGTERM")) return;
  if ((await within(graceMs, (over) => gone(leader, over))) === undefined) signalGroup(leader, "SIGKILL");
}

/** Resolves when no process of the group is left; rejects at `over`. */
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
