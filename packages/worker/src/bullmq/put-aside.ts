// A run that waits for a decision is put aside: its job is delayed, and a slot is free for another run.
import { systemClock, type RunError } from "@proviso/core";
import type { Journal } from "@proviso/journal";
import type { WorkerOptions } from "../queue.ts";
import type { HeldJob } from "./held-job.ts";

/** A run that waits without end for a decision is looked at once a year: BullMQ knows no later moment. */
const asLongAsNeededMs = 365 * 24 * 3_600_000;
/** How long a run waits whose token could not be sent. */
const sendAgainMs = 60_000;

/** Sends the token and puts the run aside. Returns for how many milliseconds. */
export async function putAside(
  { pending }: RunError,
  held: HeldJob,
  onSuspended: WorkerOptions["onSuspended"],
): Promise<number> {
  let waitMs = asLongAsNeededMs;
  if (pending?.expiresAt !== undefined) waitMs = Math.max(0, pending.expiresAt.getTime() - systemClock.now());
  try {
    if (pending !== undefined) await onSuspended?.({ id: held.data.id, pending });
  } catch {
    waitMs = Math.min(waitMs, sendAgainMs);
  }
  await held.setStanding({ state: "suspended" });
  await held.delay(waitMs);
  return waitMs;
}

/** Makes the run due where its decision came before it was put aside. A worker that has taken it up since keeps it. */
export async function lookForDecision(journal: Journal, held: HeldJob, waitMs: number): Promise<void> {
  const isKnown = await journal.describe(held.data.id).then(
    async (known) => {
      if (known?.state !== "suspended") await held.makeDue();
      return true;
    },
    () => false,
  );
  if (!isKnown) await held.changeDelay(Math.min(waitMs, sendAgainMs));
}
