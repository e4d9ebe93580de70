// The run's side: hands attempts out, and waits for what comes of them.
import { systemClock } from "@proviso/core";
import { contentHash, setAlarm } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { systemId } from "@proviso/runtime/internal";
import { Queue, QueueEvents, type Job } from "bullmq";
import type { Redis } from "ioredis";
import type { AttemptRecord } from "../results.ts";
import type { AttemptJob, AttemptWorkers } from "../run/workers.ts";
import {
  aliveKey,
  checkedRedis,
  connected,
  patient,
  queued,
  type AttemptAnswer,
  type QueuedAttempt,
  type RedisOptions,
} from "./jobs.ts";

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
  readonly redis: Redis;
  readonly queue: Queue<QueuedAttempt, AttemptAnswer>;
  readonly events: QueueEvents;
}

class RedisWorkers implements AttemptWorkers {
  readonly #options: ReturnType<typeof checkedRedis>;
  readonly #run = systemId();
  #opening: Promise<Open> | undefined;
  #stopBeat: (() => void) | undefined;

  constructor(options: ReturnType<typeof checkedRedis>) {
    this.#options = options;
  }

  async run(job: AttemptJob, signal: AbortSignal): Promise<AttemptRecord> {
    signal.throwIfAborted();
    const { queue, events } = await (this.#opening ??= this.#open());
    const { rowId, variant, repetition } = job.key;
    // The first record of a key counts: BullMQ keeps one job of an id.
    const jobId = `${this.#run}-${contentHash([rowId, variant, repetition])}`;
    const kept = { age: keptSeconds };
    const handed = await queue.add(job.eval, queued(this.#run, job), {
      jobId,
      removeOnComplete: kept,
      removeOnFail: kept,
    });
    const answer = await ended(handed, events, signal);
    if ("refused" in answer) throw new Error(answer.refused);
    return answer.record;
  }

  async close(): Promise<void> {
    this.#stopBeat?.();
    const open = await this.#opening?.catch(() => undefined);
    if (open === undefined) return;
    await open.redis.del(aliveKey(this.#options.queue, this.#run));
    await Promise.all([open.queue.close(), open.events.close()]);
    open.redis.disconnect();
  }

  async #open(): Promise<Open> {
    const { url, queue: name } = this.#options;
    const redis = await connected(url);
    const connection = { url, ...patient };
    const queue = new Queue<QueuedAttempt, AttemptAnswer>(name, { connection });
    const events = new QueueEvents(name, { connection });
    // Connections are made again by themselves.
    // Each attempt in flight listens.
    queue.setMaxListeners(0);
    events.setMaxListeners(0);
    queue.on("error", () => {});
    events.on("error", () => {});
    const beat = async (): Promise<void> => {
      await redis.set(aliveKey(name, this.#run), "1", "PX", believedMs);
      this.#stopBeat = setAlarm(systemClock, beatMs, () => void beat().catch(() => {}));
    };
    await beat();
    await events.waitUntilReady();
    return { redis, queue, events };
  }
}

/** Waits for the answer. An abort takes a job that waits out of the queue, and leaves the others to their worker. */
async function ended(
  job: Job<QueuedAttempt, AttemptAnswer>,
  events: QueueEvents,
  signal: AbortSignal,
): Promise<AttemptAnswer> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const finished = job.waitUntilFinished(events);
  try {
    signal.throwIfAborted();
    return (await Promise.race([finished, aborted.promise])) as AttemptAnswer;
  } catch (error) {
    finished.catch(() => {});
    if (signal.aborted) await job.remove().catch(() => {});
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
