// Functions of the program may never settle: they are waited for until the run is aborted, or their time is over.
import { systemClock, type Binding, type Clock } from "@proviso/core";
import { setAlarm } from "@proviso/core/internal";
import { openResources } from "@proviso/runtime";
import { trackerOf } from "@proviso/runtime/internal";
import type { RunOptions } from "./run/options.ts";

/** The resources of one attempt. */
export type OwnResources = Awaited<ReturnType<typeof openResources>>;

/** Milliseconds that a function of an attempt has where the definition says nothing, and a judge for one verdict. */
export const defaultTimeoutMs = 600_000;

/** Milliseconds that resources have to close. */
export const closingMs = 10_000;

/** How long a function of the program is waited for. */
export interface Bounds {
  readonly clock: Clock;
  /** undefined: an abort does not end it. */
  readonly signal?: AbortSignal | undefined;
  readonly ms: number;
}

/** The bounds of what a run reads before its first attempt: those of an attempt, and the deadline of its budget. */
export function boundsOf(
  { clock = systemClock, signal, budget }: Pick<RunOptions, "clock" | "signal" | "budget">,
  ms: number | undefined = defaultTimeoutMs,
): Bounds {
  const deadline = trackerOf(budget)?.budget.deadline;
  return { clock, signal, ms: deadline === undefined ? ms : Math.min(ms, deadline.remainingMs()) };
}

/** A function of the program did not settle in time, or before the run was aborted. */
export class Unsettled extends Error {
  readonly why: "aborted" | "late";
  constructor(why: Unsettled["why"], message: string) {
    super(message);
    this.why = why;
  }
}

/**
 * Resolves with what the work comes to. What goes on behind it is left alone. `idle`: what is waited for before it is given
 * up, because it settles by itself and costs something.
 * @throws {Unsettled}
 */
export async function bounded<T>(
  work: PromiseLike<T>,
  { clock, signal, ms }: Bounds,
  idle: () => Promise<unknown> = async () => {},
): Promise<T> {
  let endAlarm: (() => void) | undefined;
  let onAbort: (() => void) | undefined;
  const over = new Promise<Unsettled>((end) => {
    onAbort = () => end(new Unsettled("aborted", "The run was aborted."));
    if (signal?.aborted === true) return onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    if (ms < Infinity)
      endAlarm = setAlarm(clock, ms, () => end(new Unsettled("late", `It did not settle within ${ms} milliseconds.`)));
  });
  const givenUp = over.then(async (why): Promise<never> => {
    await idle();
    // Work that ends because its evaluations did comes first, however many promises stand between the two.
    await systemClock.sleep(1);
    throw why;
  });
  try {
    return await Promise.race([work, givenUp]);
  } finally {
    endAlarm?.();
    if (onAbort !== undefined) signal?.removeEventListener("abort", onAbort);
  }
}

/** Opens the resources of an attempt. What is opened too late is closed again. */
export async function openedWithin(bounds: Bounds, bindings: readonly Binding[]): Promise<OwnResources> {
  const opening = openResources(bindings);
  try {
    return await bounded(opening, bounds);
  } catch (error) {
    opening.then((late) => late[Symbol.asyncDispose]()).then(undefined, () => {});
    throw error;
  }
}
