// What goes through Redis: jobs, what comes back, and the key that says that a run is alive.
import { deadlineAt, DefinitionError, type Budget } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import type { AttemptRecord } from "../results.ts";
import type { AttemptJob } from "../run/workers.ts";

/** Where the queue of attempts is. */
export interface RedisOptions {
  /** `redis://host:port`, or `rediss://` with TLS. */
  readonly url: string;
  /** The name of the queue: letters, digits, `-`, `_` and `.`, at most 100. Default "proviso-evals". */
  readonly queue?: string | undefined;
  /** Milliseconds after which a silent worker has lost its attempts. Default 30,000. */
  readonly leaseMs?: number | undefined;
}

/** A job as plain JSON. */
export interface QueuedAttempt {
  /** Made by each run: what it left behind is dropped. */
  readonly run: string;
  readonly job: Omit<AttemptJob, "budget"> & {
    readonly limits: Omit<Budget, "deadline"> | undefined;
    /** Epoch milliseconds. */
    readonly deadlineAt: number | undefined;
  };
}

/** What a worker answers. */
export type AttemptAnswer =
  | { readonly record: AttemptRecord }
  | {
      readonly refused: string;
      /** Whether the run seemed to have ended: one that lives hands the attempt out again. */
      readonly hasEnded?: boolean;
      /** What the end of the run cut short, with what it spent. */
      readonly cut?: AttemptRecord;
    };

export function queued(run: string, { budget, ...job }: AttemptJob): QueuedAttempt {
  const { deadline, ...limits } = budget ?? {};
  return { run, job: { ...job, limits: budget && limits, deadlineAt: deadline?.expiresAt.getTime() } };
}

export function jobOf({ job: { limits, deadlineAt: at, ...job } }: QueuedAttempt): AttemptJob {
  const deadline = at === undefined ? undefined : deadlineAt(new Date(at));
  return { ...job, budget: limits && { ...limits, deadline } };
}

/** The key that a run keeps as long as it lives. */
export function aliveKey(queue: string, run: string): string {
  return `proviso:{${queue}}:alive:${run}`;
}

/** Fills in the defaults. @throws {DefinitionError} for options that cannot be. */
export function checkedRedis(caller: string, { url, queue = "proviso-evals", leaseMs = 30_000 }: RedisOptions) {
  if (typeof url !== "string" || !/^rediss?:\/\//u.test(url)) {
    throw new DefinitionError(`${caller}: url must begin with redis:// or rediss://, not ${describeValue(url)}.`);
  }
  if (typeof queue !== "string" || !/^[\w.-]{1,100}$/u.test(queue)) {
    throw new DefinitionError(
      `${caller}: queue must be 1 to 100 letters, digits, "-", "_" or ".", not ${describeValue(queue)}.`,
    );
  }
  if (!Number.isSafeInteger(leaseMs) || leaseMs < 1) {
    throw new DefinitionError(`${caller}: leaseMs must be a whole number, 1 or more, not ${describeValue(leaseMs)}.`);
  }
  return { url, queue, leaseMs };
}
