// A worker: takes runs out of the queue, makes one attempt, and puts them where they belong next.
import { DefinitionError, systemClock } from "@proviso/core";
import { untilAborted } from "@proviso/runtime/internal";
import { DelayedError, type Job } from "bullmq";
import { attemptRun, failureOf, waitBeforeAttempt, type AttemptEnd } from "../attempt.ts";
import { keptBudget } from "../kept-budget.ts";
import { kindsByName, type RunKind } from "../kinds.ts";
import type { RunProgress } from "../progress.ts";
import type { WorkerOptions } from "../queue.ts";
import { checkWorker } from "./check-worker.ts";
import { keepGlobalConcurrency } from "./global-concurrency.ts";
import { HeldJob, lossesInVain } from "./held-job.ts";
import { OwnWorker } from "./own-worker.ts";
import { lookForDecision, putAside } from "./put-aside.ts";
import { settledIn } from "./settled-in.ts";
import { jobIdOf, Shelf, type Cancelling, type JobData, type RedisOptions, type Standing } from "./shelf.ts";

const optionNames = {
  concurrency: true,
  globalConcurrency: true,
  rate: true,
  leaseMs: true,
  maxAttempts: true,
  onSuspended: true,
} as const;

const defaults = { concurrency: 16, leaseMs: 30_000, maxAttempts: 10 } as const;
/** A job that Redis has lost is noticed at most so long after, however long a lease is. */
const longestRenewalMs = 10_000;
/** How long a worker waits for Redis as it begins. */
const beginMs = 20_000;
/** How long disposing waits for what is in hand, and for what was waited for to end when it is cut off. */
const [closeMs, cutMs] = [5_000, 1_000];

/**
 * Works on runs of a queue until it is disposed: then what it has in hand is aborted, its steps are kept, and other workers
 * go on with it. Disposing it takes 7 seconds at most, also while Redis is away or hangs. Every worker of a queue takes the
 * same kinds.
 * @throws {DefinitionError} for options that cannot be, no kinds, or two of one prompt name. {QueueError} "unreachable" where
 * no Redis answers, or one does not in 20 seconds.
 */
export async function serveRuns(
  kinds: readonly RunKind<never, unknown>[],
  options: RedisOptions & WorkerOptions,
): Promise<AsyncDisposable> {
  const byName = kindsByName(kinds);
  checkWorker(options);
  const shelf = new Shelf("serveRuns", options, optionNames);
  const worker = new RunWorker(byName, shelf, options);
  try {
    const beginning = worker.begin();
    if (!(await settledIn(beginMs, beginning))) {
      throw shelf.connections.unreachable(new Error(`It is silent for ${beginMs} milliseconds.`));
    }
    await beginning;
    return worker;
  } catch (error) {
    await worker[Symbol.asyncDispose]();
    throw error;
  }
}

/** A run that this worker has in hand. */
interface InHand {
  /** The newest of its jobs: one that Redis lost may have been added again meanwhile. */
  held: HeldJob;
  /** Ends its attempt. */
  readonly controller: AbortController;
  readonly end: Promise<AttemptEnd>;
}

class RunWorker implements AsyncDisposable {
  readonly #kinds: ReadonlyMap<string, RunKind<never, unknown>>;
  readonly #shelf: Shelf;
  readonly #options: WorkerOptions;
  readonly #maxAttempts: number;
  readonly #leaseMs: number;
  /** What this worker has in hand, by the id of the job. */
  readonly #inHand = new Map<string, InHand>();
  /** Looks at the journal for decisions that came while their runs were put aside. */
  readonly #looking = new Set<Promise<void>>();
  /** Fires when what waits for Redis is not waited for any more. */
  readonly #letGo = new AbortController();
  #worker: OwnWorker | undefined;
  #stopKeeping = (): void => {};
  #isDisposed = false;

  constructor(kinds: ReadonlyMap<string, RunKind<never, unknown>>, shelf: Shelf, options: WorkerOptions) {
    this.#kinds = kinds;
    this.#shelf = shelf;
    this.#options = options;
    this.#maxAttempts = options.maxAttempts ?? defaults.maxAttempts;
    this.#leaseMs = options.leaseMs ?? defaults.leaseMs;
  }

  async begin(): Promise<void> {
    const { concurrency = defaults.concurrency, globalConcurrency, rate } = this.#options;
    await this.#shelf.receive<Cancelling>("cancel", ({ id, reason }) => {
      const cancelled = new DOMException(reason ?? "The run was cancelled.", "AbortError");
      this.#inHand.get(jobIdOf(id))?.controller.abort(cancelled);
    });
    if (globalConcurrency !== undefined) {
      this.#stopKeeping = await keepGlobalConcurrency(this.#shelf, globalConcurrency);
    }
    const connection = await this.#shelf.connections.commands();
    // The beginning may have been given up meanwhile.
    if (this.#isDisposed) return this.#stopKeeping();
    const worker = new OwnWorker(this.#shelf.queueName, (job, token) => this.#work(job, token ?? ""), {
      connection,
      concurrency,
      lockDuration: this.#leaseMs,
      lockRenewTime: Math.min(this.#leaseMs / 2, longestRenewalMs),
      stalledInterval: Math.max(1, Math.floor(this.#leaseMs / 2)),
      // Attempts are counted here, where the outcome is kept.
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      ...(rate !== undefined && { limiter: { max: rate.runs, duration: rate.perMs } }),
    });
    worker.on("error", () => {});
    worker.on("lockRenewalFailed", (jobIds) => {
      for (const id of jobIds) void this.#lockWasLost(id);
    });
    this.#worker = worker;
    await worker.waitUntilReady();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#stopKeeping();
    const worker = this.#worker;
    const closed = worker?.closeSoon().then(() => Promise.all(this.#looking));
    const inHand = [...this.#inHand.values()];
    for (const { controller } of inHand) controller.abort();
    const until = systemClock.now() + closeMs;
    await settledIn(closeMs, Promise.all(inHand.map(({ end }) => end)));
    // What waits for Redis here is to hand jobs back. They come back by themselves when their leases have passed.
    if (this.#shelf.connections.areUp) await settledIn(until - systemClock.now(), closed);
    this.#letGo.abort();
    await worker?.cut();
    await this.#shelf[Symbol.asyncDispose]();
    await settledIn(cutMs, closed);
  }

  /** Another worker has the run, unless Redis has lost its job: then it goes on here. */
  async #lockWasLost(jobId: string): Promise<void> {
    const inHand = this.#inHand.get(jobId);
    if (inHand === undefined) return;
    // Where Redis does not answer, the next renewal fails as well.
    const isOurs = await inHand.held.keep(this.#leaseMs).catch(() => true);
    if (!isOurs) inHand.controller.abort();
  }

  /** Never fails: BullMQ drops a job that did. What is thrown here leaves the job where it is, if need be to its lease. */
  async #work(job: Job<JobData>, token: string): Promise<void> {
    const held = new HeldJob(this.#shelf, job, token, this.#letGo.signal);
    const isOver = await untilAborted(this.#letGo.signal, this.#workOn(held, job)).catch(() => false);
    if (!isOver) throw new DelayedError();
  }

  /** Returns whether the run has ended, and BullMQ is to remove its job. */
  async #workOn(held: HeldJob, job: Job<JobData>): Promise<boolean> {
    await this.#noteGained(held, job);
    const attempts = lossesInVain(job) + held.data.failures;
    if (attempts > this.#maxAttempts) return this.#giveUp(held, attempts);
    await held.setGoing();
    const inHand = await this.#take(held, job);
    const end = await inHand.end;
    // The job was added again, and this one is no more.
    if (inHand.held !== held) return false;
    try {
      return await this.#after(end, held, job);
    } finally {
      const jobId = jobIdOf(held.data.id);
      if (this.#inHand.get(jobId) === inHand) this.#inHand.delete(jobId);
    }
  }

  /** Begins an attempt. One that is under way here already goes on under the new job, unless this worker had lost it. */
  async #take(held: HeldJob, job: Job<JobData>): Promise<InHand> {
    const jobId = jobIdOf(held.data.id);
    const earlier = this.#inHand.get(jobId);
    if (earlier !== undefined) {
      earlier.held = held;
      if (job.stalledCounter === 0) return earlier;
      earlier.controller.abort();
      await earlier.end;
    }
    const controller = new AbortController();
    const isClosing = this.#worker?.closing !== undefined;
    const end = isClosing ? Promise.resolve({ kind: "stopped" } as const) : this.#attempt(job, controller.signal);
    const inHand = { held, controller, end };
    this.#inHand.set(jobId, inHand);
    return inHand;
  }

  /** A worker that was lost after the run had gained a step is no failure of the run: it may be lost by a deployment. */
  async #noteGained(held: HeldJob, job: Job<JobData>): Promise<void> {
    if (lossesInVain(job) === 0) return;
    const { id, gained } = held.data;
    const steps = (await this.#shelf.journal.describe(id).catch(() => undefined))?.steps ?? 0;
    if (steps > (gained?.steps ?? 0)) await held.update({ gained: { steps, losses: job.stalledCounter } });
  }

  async #attempt(job: Job<JobData>, signal: AbortSignal): Promise<AttemptEnd> {
    const kind = this.#kinds.get(job.name);
    if (kind === undefined) {
      const error = new DefinitionError(
        `No worker of the queue has a kind with the prompt "${job.name}": give it to serveRuns.`,
      );
      return { kind: "again", error, isInJournal: false, retryAfterMs: undefined };
    }
    const { journal, connections } = this.#shelf;
    const report = (progress: RunProgress): void => {
      // Where Redis is away, progress is lost and the run goes on: what was sent would wait in memory.
      if (progress.state === "open" && !connections.areUp) return;
      void this.#shelf.send("progress", progress).catch(() => {});
    };
    const isLast = job.data.failures + 1 + lossesInVain(job) > this.#maxAttempts;
    const run = { ...job.data, budget: keptBudget(job.data.budget) };
    return attemptRun(kind, run, { journal, signal, wasLost: job.stalledCounter > 0, isLast, report });
  }

  /** Returns whether the run has ended. */
  async #after(end: AttemptEnd, held: HeldJob, job: Job<JobData>): Promise<boolean> {
    switch (end.kind) {
      case "executed":
        return ended(held, { state: "executed" });
      case "cancelled":
        return ended(held, { state: "cancelled", message: end.reason });
      case "failed":
        return failed(held, end);
      case "suspended":
        this.#lookForDecision(held, await putAside(end.error, held, this.#options.onSuspended));
        return false;
      case "again":
        return this.#tryLater(end, held, job);
      case "lost":
        // Another worker has the run, and mostly the lock of its job: where it has not, the run is asked again.
        await held.delay(waitBeforeAttempt(1, undefined));
        return false;
      case "stopped":
        await held.handBack();
        return false;
    }
  }

  async #tryLater(end: AttemptEnd & { readonly kind: "again" }, held: HeldJob, job: Job<JobData>): Promise<boolean> {
    const failures = held.data.failures + 1;
    if (failures + lossesInVain(job) > this.#maxAttempts) return failed(held, end);
    await held.update({ failures });
    await held.delay(waitBeforeAttempt(failures, end.retryAfterMs));
    return false;
  }

  /** The worker was lost with the run again and again: it is ended in the journal, too. */
  async #giveUp(held: HeldJob, attempts: number): Promise<boolean> {
    const message = `Its worker was lost at the same step, or it failed, ${attempts} times.`;
    const { id } = held.data;
    const { journal } = this.#shelf;
    if (await journal.cancel(id, message).catch(() => false)) return ended(held, { state: "cancelled", message });
    const known = await journal.describe(id).catch(() => undefined);
    // The workers were lost as they noted that it had ended.
    if (known?.state === "executed") return ended(held, { state: "executed" });
    return ended(held, { state: "failed", isGivenUp: true, message });
  }

  /** BullMQ may hand the job out again at once, so its slot does not wait for this; disposing does. */
  #lookForDecision(held: HeldJob, waitMs: number): void {
    const looking = untilAborted(this.#letGo.signal, lookForDecision(this.#shelf.journal, held, waitMs))
      .catch(() => {})
      .finally(() => this.#looking.delete(looking));
    this.#looking.add(looking);
  }
}

async function ended(held: HeldJob, standing: Standing): Promise<boolean> {
  await held.end(standing);
  return !held.isPutBack;
}

function failed(held: HeldJob, { error, isInJournal }: AttemptEnd & { readonly kind: "failed" | "again" }) {
  return ended(held, { state: "failed", isGivenUp: !isInJournal, message: failureOf(error) });
}
