// The job of a run that a worker has in hand. Redis may refuse a write for a moment, or lose the job: neither ends the run.
import { systemClock } from "@proviso/core";
import type { Job } from "bullmq";
import { makeDue } from "./due.ts";
import { jobIdOf, type JobData, type Shelf, type Standing } from "./shelf.ts";

/** Milliseconds before what Redis refused is asked again: the first time, and at most. */
const [soonMs, laterMs] = [100, 5_000];
/** What BullMQ answers where there is no such job: a number below zero, as all that says how a job stands. */
const isMissing = -1;

/** A job of BullMQ, with the lock that this worker has on it. */
export class HeldJob {
  readonly #shelf: Shelf;
  readonly #job: Job<JobData>;
  readonly #token: string;
  readonly #letGo: AbortSignal;
  #isPutBack = false;

  /** `letGo` ends what waits for Redis: the job is left to its lease. */
  constructor(shelf: Shelf, job: Job<JobData>, token: string, letGo: AbortSignal) {
    this.#shelf = shelf;
    this.#job = job;
    this.#token = token;
    this.#letGo = letGo;
  }

  get data(): JobData {
    return this.#job.data;
  }

  /** Whether Redis had lost the job, and this worker put it back: it is no one's then, and due when this worker is silent. */
  get isPutBack(): boolean {
    return this.#isPutBack;
  }

  /**
   * Returns whether the run is this worker's although the lock of its job could not be renewed. So it is where Redis has lost
   * the job: the journal refuses a second writer, and the job is put back for the case that this worker is lost.
   */
  async keep(leaseMs: number): Promise<boolean> {
    if (!this.#isPutBack) {
      if ((await (await this.#shelf.jobs()).getJob(jobIdOf(this.data.id))) !== undefined) return false;
      if (await this.#isOver()) return false;
      this.#isPutBack = true;
    } else {
      const code = await this.#job.changeDelay(leaseMs).then(() => 0, answerIn);
      if (code !== isMissing) return code === 0;
    }
    await this.#shelf.addJob(this.#job.name, this.data, leaseMs);
    return true;
  }

  /** Notes it with the job. */
  async update(change: Partial<JobData>): Promise<void> {
    const data = { ...this.data, ...change };
    await this.#insist(() => this.#job.updateData(data).catch(answerIn));
  }

  async setStanding(standing: Standing): Promise<void> {
    await this.#insist(() => this.#shelf.setStanding(this.data.id, standing));
  }

  async setGoing(): Promise<void> {
    await this.#insist(() => this.#shelf.setGoing(this.data.id, this.data.again === true));
  }

  /** The run has ended: takes away what this worker put back. BullMQ removes the job that it handed out. */
  async end(standing: Standing): Promise<void> {
    await this.setStanding(standing);
    if (this.#isPutBack) await this.#insist(() => this.#remove());
  }

  async delay(waitMs: number): Promise<void> {
    await this.#move(() => this.#job.moveToDelayed(systemClock.now() + waitMs, this.#token), waitMs);
  }

  async handBack(): Promise<void> {
    await this.#move(() => this.#job.moveToWait(this.#token), 0);
  }

  /** Makes the job due that was delayed. */
  async makeDue(): Promise<void> {
    await this.#insist(() => makeDue(this.#job));
  }

  /** Sooner than it was delayed to. */
  async changeDelay(waitMs: number): Promise<void> {
    await this.#insist(() => this.#job.changeDelay(waitMs).catch(answerIn));
  }

  /** Moves the job where this worker has it. Another worker's stays; where there is none any more, it is added again. */
  async #move(move: () => Promise<unknown>, waitMs: number): Promise<void> {
    const code = await this.#insist(() => move().then(() => 0, answerIn));
    if (code === 0 || (code !== isMissing && !this.#isPutBack)) return;
    await this.#insist(async () => {
      if (this.#isPutBack) await this.#remove();
      if (await this.#isOver()) return;
      await this.#shelf.addJob(this.#job.name, this.data, waitMs);
    });
  }

  /** Another worker may have ended the run, and its job is no more because of that. */
  async #isOver(): Promise<boolean> {
    const standing = await this.#shelf.standing(this.data.id);
    return standing !== undefined && standing.state !== "suspended";
  }

  /** The job stays where another worker has it. */
  async #remove(): Promise<void> {
    await (await this.#shelf.jobs()).remove(jobIdOf(this.data.id));
  }

  /** Asks until Redis does it. @throws what was refused last, where the job is let go. */
  async #insist<T>(ask: () => Promise<T>): Promise<T> {
    for (let waitMs = soonMs; ; waitMs = Math.min(2 * waitMs, laterMs)) {
      try {
        return await ask();
      } catch (error) {
        if (this.#letGo.aborted) throw error;
      }
      await systemClock.sleep(waitMs, this.#letGo);
    }
  }
}

/** What BullMQ answers about a job that is not where it was. @throws every other error. */
function answerIn(error: unknown): number {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  if (typeof code === "number" && code < 0) return code;
  throw error;
}

/** How many workers were lost since the run last gained a step. */
export function lossesInVain({ stalledCounter, data }: Job<JobData>): number {
  return stalledCounter - (data.gained?.losses ?? 0);
}
