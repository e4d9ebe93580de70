// A run that waits for a decision is a delayed job. What lets it go on is kept in the journal first, and then makes the job
// due: where a process ends between the two, the next one that looks at the run makes good what is missing.
import type { Job } from "bullmq";
import { jobIdOf, type JobData, type Shelf } from "./shelf.ts";

/** Makes a run due that was put aside. One that is due already, that a worker has, or that was removed stays as it is. */
export async function makeDue(job: Job<JobData>): Promise<void> {
  if (!(await job.isDelayed())) return;
  try {
    await job.promote();
  } catch (error) {
    // A worker took it meanwhile, or it was removed.
    if (await job.isDelayed()) throw error;
  }
}

/** Makes a run due that is put aside although it waits for no decision any more: it was decided, has ended or is gone. */
export async function makeDueIfDecided(shelf: Shelf, id: string): Promise<void> {
  if ((await shelf.standing(id))?.state !== "suspended") return;
  if ((await shelf.journal.describe(id))?.state === "suspended") return;
  const job = await (await shelf.jobs()).getJob(jobIdOf(id));
  if (job !== undefined) await makeDue(job);
}
