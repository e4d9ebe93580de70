// The run's side: hands attempts out, and waits for what comes of them.
import { DefinitionError, systemClock } from "@proviso/core";
import { contentHash, setAlarm } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { systemId } from "@proviso/runtime/internal";
import { Queue, QueueEvents, type Job } from "bullmq";
import type { AttemptRecord } from "../results.ts";
import type { AttemptJob, AttemptWorkers } from "../run/workers.ts";
import { OwnRedis } from "./connection.ts";
import { aliveKey, checkedRedis, queued, type AttemptAnswer, type QueuedAttempt, type RedisOptions } from "./jobs.ts";

export type { RedisOptions } from "./jobs.ts";

/** How often a run says that it lives, and how long it is believed. */
const [beatMs, believedMs] = [3_000, 15_000];
/** How long a job stays after its end: the run may just be reading it. */
const keptSeconds = 600;

/**
 * Hands the attempts of a run to the processes that `serveAttempts`, over BullMQ and Redis. The run keeps order, budget,
 * store and statistics; when it ends, or its process is gone, the workers drop what they have of it.
 * @throws {DefinitionError} for options that cannot be; of an attempt, where no Redis answers.
 */
export function redisWorkers(options: RedisOptions): AttemptWorkers {
  checkOptionNames("redisWorkers", options, { url: true, queue: true, leaseMs: true });
  return new RedisWorkers(checkedRedis("redisWorkers", options));
}

interface Open {
  readonly queue: Queue<QueuedAttempt, AttemptAnswer>;
  readonly events: QueueEvents;
}

class RedisWorkers implements AttemptWorkers {
  readonly #options: ReturnType<typeof checkedRedis>;
  readonly #run = systemId();
  readonly #redis: OwnRedis;
  #made: Promise<Open> | undefined;
  #opening: Promise<Open> | undefined;
  #hasEnded = false;
  #stopBeat: (() => void) | undefined;

  constructor(options: ReturnType<typeof checkedRedis>) {
    this.#options = options;
    this.#redis = new OwnRedis(options.url);
  }

  async run(job: AttemptJob, signal: AbortSignal): Promise<AttemptRecord> {
    signal.throwIfAborted();
    if (this.#hasEnded) throw new DefinitionError("These redisWorkers were closed by an earlier run: make new ones.");
    const open = await this.#opened();
    for (let handedOut = 1; ; handedOut++) {
      const answer = await this.#handedOut(job, handedOut, { ...open, signal });
      if ("record" in answer) return answer.record;
      if (signal.aborted && answer.cut !== undefined) return answer.cut;
      if (answer.hasEnded !== true || this.#hasEnded) throw new Error(answer.refused);
      // The run lives: its process stood still for longer than it is believed to live.
      await this.#beat();
    }
  }

  /** The first record of a key counts: BullMQ keeps one job of an id. */
  async #handedOut(
    job: AttemptJob,
    time: number,
    { queue, events, signal }: Open & { readonly signal: AbortSignal },
  ): Promise<AttemptAnswer> {
    const { rowId, variant, repetition } = job.key;
    const jobId = `${this.#run}-${contentHash([rowId, variant, repetition])}${time === 1 ? "" : `-${time}`}`;
    const kept = { age: keptSeconds };
    const options = { jobId, removeOnComplete: kept, removeOnFail: kept };
    const added = await queue.add(job.eval, queued(this.#run, job), options);
    return ended(added, events, { signal, drop: () => void this.#end().catch(() => {}) });
  }

  async close(): Promise<void> {
    this.#hasEnded = true;
    this.#stopBeat?.();
    if (this.#made !== undefined) await this.#redis.endAfter(this.#closed(this.#made));
  }

  async #closed(made: Promise<Open>): Promise<void> {
    const { queue, events } = await made;
    await Promise.all([this.#end(), queue.close(), events.close()]);
  }

  /** The workers drop what they have of the run, and answer with what it spent. */
  #end(): Promise<unknown> {
    this.#hasEnded = true;
    this.#stopBeat?.();
    return this.#redis.del(aliveKey(this.#options.queue, this.#run));
  }

  /** What could not be opened is opened again for the next attempt. */
  #opened(): Promise<Open> {
    if (this.#opening !== undefined) return this.#opening;
    const opening = this.#open();
    opening.catch(() => {
      if (this.#opening === opening) this.#opening = undefined;
    });
    return (this.#opening = opening);
  }

  async #open(): Promise<Open> {
    const open = await (this.#made ??= this.#make());
    await this.#beat();
    this.#beatLater();
    await open.events.waitUntilReady();
    return open;
  }

  #beat(): Promise<unknown> {
    return this.#redis.set(aliveKey(this.#options.queue, this.#run), "1", "PX", believedMs);
  }

  #beatLater(): void {
    if (this.#hasEnded) return;
    this.#stopBeat?.();
    // A beat that Redis refuses for a moment is not the last.
    const later = (): void => this.#beatLater();
    this.#stopBeat = setAlarm(systemClock, beatMs, () => void this.#beat().then(later, later));
  }

  async #make(): Promise<Open> {
    const { queue: name } = this.#options;
    const connection = this.#redis;
    try {
      await connection.open();
    } catch (error) {
      this.#made = undefined;
      throw error;
    }
    const queue = new Queue<QueuedAttempt, AttemptAnswer>(name, { connection });
    const events = new QueueEvents(name, { connection });
    // Each attempt in flight listens.
    queue.setMaxListeners(0);
    events.setMaxListeners(0);
    // Connections are made again by themselves.
    queue.on("error", () => {});
    events.on("error", () => {});
    return { queue, events };
  }
}

/**
 * Waits for the answer. An abort takes a job that waits out of the queue; the worker that has one drops it, and answers with
 * what it spent.
 */
async function ended(
  job: Job<QueuedAttempt, AttemptAnswer>,
  events: QueueEvents,
  { signal, drop }: { readonly signal: AbortSignal; readonly drop: () => void },
): Promise<AttemptAnswer> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const finished = job.waitUntilFinished(events) as Promise<AttemptAnswer>;
  try {
    signal.throwIfAborted();
    return await Promise.race([finished, aborted.promise]);
  } catch (error) {
    finished.catch(() => {});
    if (!signal.aborted) throw error;
    drop();
    if (await isTakenBack(job)) throw error;
    return await finished;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Whether the job waited for a worker, and is out of the queue now. */
async function isTakenBack(job: Job<QueuedAttempt, AttemptAnswer>): Promise<boolean> {
  const state = await job.getState();
  if (state === "active" || state === "completed") return false;
  return job.remove().then(
    () => true,
    () => false,
  );
}
