// A worker: takes runs out of the queue, makes one attempt, and puts them where they belong next.
import { DefinitionError, systemClock, type RunError } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { DelayedError, Queue, WaitingError, Worker, type Job } from "bullmq";
import { attemptRun, failureOf, waitBeforeAttempt, type AttemptEnd } from "../attempt.ts";
import { kindsByName, type RunKind } from "../kinds.ts";
import type { RunProgress } from "../progress.ts";
import type { WorkerOptions } from "../queue.ts";
import { patient } from "./connections.ts";
import { makeDue } from "./due.ts";
import { jobIdOf, Shelf, type Cancelling, type JobData, type RedisOptions } from "./shelf.ts";

const optionNames = {
  concurrency: true,
  globalConcurrency: true,
  rate: true,
  leaseMs: true,
  maxAttempts: true,
  onSuspended: true,
} as const;

const defaults = { concurrency: 16, leaseMs: 30_000, maxAttempts: 10 } as const;
/** A run that waits without end for a decision is looked at once a year: BullMQ knows no later moment. */
const asLongAsNeededMs = 365 * 24 * 3_600_000;
/** How long a run waits whose token could not be sent. */
const sendAgainMs = 60_000;

/**
 * Works on runs of a queue until it is disposed: then what it has in hand is aborted, its steps are kept, and other workers
 * go on with it. Every worker of a queue takes the same kinds.
 * @throws {DefinitionError} for options that cannot be, no kinds, or two of one prompt name. {QueueError} "unreachable".
 */
export async function serveRuns(
  kinds: readonly RunKind<never, unknown>[],
  options: RedisOptions & WorkerOptions,
): Promise<AsyncDisposable> {
  const byName = kindsByName(kinds);
  checkWorker(options);
  const shelf = new Shelf("serveRuns", options, optionNames);
  try {
    const worker = new RunWorker(byName, shelf, options);
    await worker.begin();
    return worker;
  } catch (error) {
    await shelf[Symbol.asyncDispose]();
    throw error;
  }
}

class RunWorker implements AsyncDisposable {
  readonly #kinds: ReadonlyMap<string, RunKind<never, unknown>>;
  readonly #shelf: Shelf;
  readonly #options: WorkerOptions;
  readonly #maxAttempts: number;
  /** What this worker has in hand, by id: what ends its attempt. */
  readonly #inHand = new Map<string, AbortController>();
  #worker: Worker<JobData> | undefined;

  constructor(kinds: ReadonlyMap<string, RunKind<never, unknown>>, shelf: Shelf, options: WorkerOptions) {
    this.#kinds = kinds;
    this.#shelf = shelf;
    this.#options = options;
    this.#maxAttempts = options.maxAttempts ?? defaults.maxAttempts;
  }

  async begin(): Promise<void> {
    const { concurrency = defaults.concurrency, globalConcurrency, rate, leaseMs = defaults.leaseMs } = this.#options;
    await this.#shelf.receive<Cancelling>("cancel", ({ id, reason }) => {
      this.#inHand.get(id)?.abort(new DOMException(reason ?? "The run was cancelled.", "AbortError"));
    });
    const connection = { url: this.#shelf.url, ...patient };
    if (globalConcurrency !== undefined) {
      const queue = new Queue(this.#shelf.queueName, { connection });
      queue.on("error", () => {});
      await queue.setGlobalConcurrency(globalConcurrency);
      await queue.close();
    }
    const worker = new Worker<JobData>(this.#shelf.queueName, (job, token) => this.#work(job, token ?? ""), {
      connection,
      concurrency,
      lockDuration: leaseMs,
      stalledInterval: Math.max(1, Math.floor(leaseMs / 2)),
      // Attempts are counted here, where the outcome is kept.
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      ...(rate !== undefined && { limiter: { max: rate.runs, duration: rate.perMs } }),
    });
    worker.on("error", () => {});
    worker.on("lockRenewalFailed", (jobIds) => {
      const lost = new Set(jobIds);
      for (const [id, controller] of this.#inHand) if (lost.has(jobIdOf(id))) controller.abort();
    });
    this.#worker = worker;
    await worker.waitUntilReady();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#worker?.close();
    for (const controller of this.#inHand.values()) controller.abort();
    await closed;
    await this.#shelf[Symbol.asyncDispose]();
  }

  async #work(job: Job<JobData>, token: string): Promise<void> {
    await this.#noteGained(job);
    const { data } = job;
    const attempts = lossesInVain(job) + data.failures;
    if (attempts > this.#maxAttempts) return this.#giveUp(data.id, attempts);
    await this.#shelf.setGoing(data.id, data.again === true);
    const controller = new AbortController();
    this.#inHand.set(data.id, controller);
    try {
      if (this.#worker?.closing !== undefined) controller.abort();
      const end = await this.#attempt(job, controller.signal);
      await this.#after(end, job, token);
    } finally {
      this.#inHand.delete(data.id);
    }
  }

  /** A worker that was lost after the run had gained a step is no failure of the run: it may be lost by a deployment. */
  async #noteGained(job: Job<JobData>): Promise<void> {
    const { data, stalledCounter } = job;
    if (lossesInVain(job) === 0) return;
    const steps = (await this.#shelf.journal.describe(data.id).catch(() => undefined))?.steps ?? 0;
    if (steps <= (data.gained?.steps ?? 0)) return;
    await job.updateData({ ...data, gained: { steps, losses: stalledCounter } });
  }

  async #attempt(job: Job<JobData>, signal: AbortSignal): Promise<AttemptEnd> {
    const kind = this.#kinds.get(job.name);
    if (kind === undefined) {
      const error = new DefinitionError(
        `No worker of the queue has a kind with the prompt "${job.name}": give it to serveRuns.`,
      );
      return { kind: "again", error, isInJournal: false, retryAfterMs: undefined };
    }
    const { journal } = this.#shelf;
    // Where Redis is away, progress is lost and the run goes on.
    const report = (progress: RunProgress): void => void this.#shelf.send("progress", progress).catch(() => {});
    return attemptRun(kind, job.data, { journal, signal, wasLost: job.stalledCounter > 0, report });
  }

  async #after(end: AttemptEnd, job: Job<JobData>, token: string): Promise<void> {
    const { id } = job.data;
    switch (end.kind) {
      case "executed":
        return this.#shelf.setStanding(id, { state: "executed" });
      case "cancelled":
        return this.#shelf.setStanding(id, { state: "cancelled", message: end.reason });
      case "failed":
        return this.#fail(id, end);
      case "suspended":
        return this.#putAside(end.error, job, token);
      case "again":
        return this.#tryLater(end, job, token);
      case "lost":
        // Another worker has the run, and mostly the lock of its job: where it has not, the run is asked again.
        return this.#delay(job, token, waitBeforeAttempt(1, undefined));
      case "stopped":
        await job.moveToWait(token);
        throw new WaitingError();
    }
  }

  async #fail(id: string, { error, isInJournal }: AttemptEnd & { readonly kind: "failed" | "again" }): Promise<void> {
    await this.#shelf.setStanding(id, { state: "failed", isGivenUp: !isInJournal, message: failureOf(error) });
  }

  async #tryLater(end: AttemptEnd & { readonly kind: "again" }, job: Job<JobData>, token: string): Promise<void> {
    const failures = job.data.failures + 1;
    if (failures + lossesInVain(job) > this.#maxAttempts) {
      return this.#fail(job.data.id, end);
    }
    await job.updateData({ ...job.data, failures });
    await this.#delay(job, token, waitBeforeAttempt(failures, end.retryAfterMs));
  }

  /** The worker was lost with the run again and again: it is ended in the journal, too. */
  async #giveUp(id: string, attempts: number): Promise<void> {
    const message = `Its worker was lost at the same step, or it failed, ${attempts} times.`;
    const isCancelled = await this.#shelf.journal.cancel(id, message).catch(() => false);
    await this.#shelf.setStanding(
      id,
      isCancelled ? { state: "cancelled", message } : { state: "failed", isGivenUp: true, message },
    );
  }

  async #putAside({ pending }: RunError, job: Job<JobData>, token: string): Promise<void> {
    const { id } = job.data;
    let waitMs = asLongAsNeededMs;
    if (pending?.expiresAt !== undefined) waitMs = Math.max(0, pending.expiresAt.getTime() - systemClock.now());
    try {
      if (pending !== undefined) await this.#options.onSuspended?.({ id, pending });
    } catch {
      waitMs = Math.min(waitMs, sendAgainMs);
    }
    await this.#shelf.setStanding(id, { state: "suspended" });
    await job.moveToDelayed(systemClock.now() + waitMs, token);
    // The decision may have come before the run was put aside.
    try {
      if ((await this.#shelf.journal.describe(id))?.state !== "suspended") await makeDue(job);
    } catch {
      // Whether the decision has come is not known.
      await job.changeDelay(Math.min(waitMs, sendAgainMs)).catch(() => {});
    }
    throw new DelayedError();
  }

  async #delay(job: Job<JobData>, token: string, waitMs: number): Promise<never> {
    await job.moveToDelayed(systemClock.now() + waitMs, token);
    throw new DelayedError();
  }
}

/** How many workers were lost since the run last gained a step. */
function lossesInVain({ stalledCounter, data }: Job<JobData>): number {
  return stalledCounter - (data.gained?.losses ?? 0);
}

function checkWorker(options: WorkerOptions): void {
  const { concurrency, globalConcurrency, leaseMs, maxAttempts, rate, onSuspended } = options;
  const counts = {
    concurrency,
    globalConcurrency,
    leaseMs,
    maxAttempts,
    "rate.runs": rate?.runs,
    "rate.perMs": rate?.perMs,
  };
  for (const [name, value] of Object.entries(counts)) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) continue;
    throw new DefinitionError(`serveRuns: ${name} must be a whole number, 1 or more, not ${describeValue(value)}.`);
  }
  if (rate !== undefined) checkOptionNames("serveRuns: rate", rate, { runs: true, perMs: true });
  if (onSuspended !== undefined && typeof onSuspended !== "function") {
    throw new DefinitionError(`serveRuns: onSuspended must be a function, not ${describeValue(onSuspended)}.`);
  }
}
