// The worker's side: makes attempts alone.
import { DefinitionError, systemClock } from "@proviso/core";
import { describeValue, messageOf, setAlarm } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { WaitingError, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { Eval } from "../definition.ts";
import { attemptServer, type ServingOptions } from "../run/workers.ts";
import { OwnRedis } from "./connection.ts";
import { aliveKey, checkedRedis, jobOf, type AttemptAnswer, type QueuedAttempt, type RedisOptions } from "./jobs.ts";

/** What `serveAttempts` takes. */
export interface ServeOptions extends RedisOptions, ServingOptions {
  /** Attempts side by side in this process. Default 16. */
  readonly concurrency?: number | undefined;
  /** Ends the serving: attempts in hand are aborted, and made by others. Default: it serves until the process ends. */
  readonly signal?: AbortSignal | undefined;
}

const optionNames = {
  url: true,
  queue: true,
  leaseMs: true,
  concurrency: true,
  signal: true,
  clock: true,
  random: true,
  newId: true,
  pacing: true,
} as const;

const ofEndedRun: AttemptAnswer = Object.freeze({ refused: "The run has ended.", hasEnded: true });

/** How often a worker looks whether the runs live that it works for: an aborted one waits a second for what was spent. */
const lookMs = 250;

/**
 * Makes attempts of these evals for the runs that hand them out with `redisWorkers`, until the signal fires. Give it the
 * same definitions: a job of another one is refused, and its run ends with a message that names both. What a killed worker
 * had is made by others after the lease. The signal ends it within seconds, also while Redis is away or hangs.
 * @throws {DefinitionError} for options that cannot be, no evals, two of one name, or where no Redis answers.
 */
export async function serveAttempts(evals: readonly Eval[], options: ServeOptions): Promise<void> {
  checkOptionNames("serveAttempts", options, optionNames);
  const { concurrency = 16, signal, clock, random, newId, pacing } = options;
  const redisOptions = checkedRedis("serveAttempts", options);
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    throw new DefinitionError(
      `serveAttempts: concurrency must be a whole number, 1 or more, not ${describeValue(concurrency)}.`,
    );
  }
  const make = attemptServer(evals, { clock, random, newId, pacing });
  const { url, queue, leaseMs } = redisOptions;
  const redis = new OwnRedis(url);
  try {
    await redis.open(signal);
  } catch (error) {
    if (signal?.aborted === true) return;
    throw error;
  }
  const runs = new LivingRuns(redis, queue);
  const worker = new Worker<QueuedAttempt, AttemptAnswer>(
    queue,
    async (job, token = ""): Promise<AttemptAnswer> => {
      const { data } = job;
      using run = await runs.of(data.run);
      if (run.signal.aborted) return ofEndedRun;
      const ending = signal === undefined ? run.signal : AbortSignal.any([run.signal, signal]);
      try {
        const record = await make(jobOf(data), ending);
        if (!ending.aborted || record.failure?.reason !== "aborted_error") return { record };
        if (run.signal.aborted) return { ...ofEndedRun, cut: record };
      } catch (error) {
        if (run.signal.aborted) return ofEndedRun;
        if (signal?.aborted !== true) return { refused: messageOf(error) };
      }
      // The worker ends and the run lives: another worker makes the attempt.
      await job.moveToWait(token);
      throw new WaitingError();
    },
    {
      connection: redis,
      concurrency,
      lockDuration: leaseMs,
      stalledInterval: Math.max(1, Math.floor(leaseMs / 2)),
      maxStalledCount: Number.MAX_SAFE_INTEGER,
    },
  );
  worker.on("error", () => {});
  try {
    await new Promise<void>((resolve) => {
      if (signal?.aborted === true) resolve();
      signal?.addEventListener("abort", () => resolve(), { once: true });
    });
  } finally {
    runs.end();
    // What could not be handed back is made by others when its lease has passed.
    await redis.endAfter(worker.close());
  }
}

/** Looks again and again whether the runs live that are worked for, and aborts what is done for those that do not. */
class LivingRuns {
  readonly #redis: Redis;
  readonly #queue: string;
  readonly #known = new Map<string, { readonly controller: AbortController; users: number }>();
  #stopTimer: (() => void) | undefined;
  #isOver = false;

  constructor(redis: Redis, queue: string) {
    this.#redis = redis;
    this.#queue = queue;
  }

  /** The signal fires when the run has ended. */
  async of(run: string): Promise<Disposable & { readonly signal: AbortSignal }> {
    let known = this.#known.get(run);
    // A run that seemed to have ended may live: its process stood still.
    if (known === undefined || known.controller.signal.aborted)
      this.#known.set(run, (known = { controller: new AbortController(), users: 0 }));
    known.users += 1;
    const { controller } = known;
    if (known.users === 1) await this.#look(run);
    this.#lookLater();
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        if (--known.users === 0 && this.#known.get(run) === known) this.#known.delete(run);
      },
    };
  }

  /** Looks no more. */
  end(): void {
    this.#isOver = true;
    this.#stopTimer?.();
  }

  #lookLater(): void {
    if (!this.#isOver) this.#stopTimer ??= setAlarm(systemClock, lookMs, () => void this.#again());
  }

  async #again(): Promise<void> {
    await Promise.all([...this.#known.keys()].map((run) => this.#look(run)));
    this.#stopTimer = undefined;
    if (this.#known.size > 0) this.#lookLater();
  }

  async #look(run: string): Promise<void> {
    try {
      if ((await this.#redis.exists(aliveKey(this.#queue, run))) > 0) return;
      this.#known.get(run)?.controller.abort(new DOMException("The run has ended.", "AbortError"));
    } catch {
      // While Redis is away nothing is known.
    }
  }
}
