// A service with limits, and workers that use it through a pace, in simulated time.
import type { Pace, RateLimit } from "@proviso/core";
import { fakeClock, type FakeClock } from "@proviso/runtime/testing";

interface Limits {
  /** For a minute. */
  readonly requests?: number;
  /** For a minute. */
  readonly tokens?: number;
  /** Seconds of its limits that the service gives at once. */
  readonly burstSeconds: number;
  /** Whether its answers state its limits, and its refusals a Retry-After. */
  readonly states: boolean;
  /** The part of its limits that others use, evenly. Default 0. */
  readonly others?: number;
  /** What it counts of a request: what is reported, the longest answer that the request allows, or that until the answer is there. */
  readonly counts?: "reported" | "bound" | "bound until it answers";
}

/** A bucket that fills evenly. */
class Bucket {
  #level: number;
  #at: number;
  readonly #perMs: number;
  readonly #size: number;
  constructor(perMinute: number, burstSeconds: number, now: number) {
    this.#perMs = perMinute / 60_000;
    this.#size = Math.max(1, (perMinute / 60) * burstSeconds);
    this.#level = this.#size;
    this.#at = now;
  }
  /** Milliseconds until there is so much; 0: now. */
  waitMs(now: number, amount: number): number {
    this.#level = Math.min(this.#size, this.#level + (now - this.#at) * this.#perMs);
    this.#at = now;
    return Math.max(0, (Math.min(amount, this.#size) - this.#level) / this.#perMs);
  }
  take(amount: number): void {
    this.#level -= amount;
  }
  /** What it states to be left, and of how much. */
  get allowance(): { readonly left: number; readonly size: number } {
    return { left: Math.max(0, Math.floor(this.#level)), size: this.#size };
  }
}

export interface Outcome {
  /** Requests that were answered, after the warm-up. */
  readonly answered: number;
  /** Refusals for each hundred requests. */
  readonly refusedPer100: number;
  /** Answered requests, as a part of what the limits allow. */
  readonly useful: number;
  /** Tasks that were given up. */
  readonly failed: number;
  /** Milliseconds from a task's begin to its answer, 99 % of them. */
  readonly p99Ms: number;
}

/** `retry` gives the wait after a refusal; undefined: the task is given up. */
export async function simulate(of: {
  readonly clock?: FakeClock;
  readonly pace: (clock: FakeClock) => Pace | undefined;
  readonly limits: Limits;
  readonly workers: number;
  readonly latencyMs: number;
  readonly minutes: number;
  readonly warmUpMinutes?: number;
  readonly random: () => number;
  /** `real` of input; `bound`: of an answer, of which `usedOfBound` is used in the mean. */
  readonly tokens?: {
    readonly real: number;
    guessed(): number;
    readonly bound?: number;
    readonly usedOfBound?: number;
  };
  readonly retry: (attempt: number, retryAfterMs: number | undefined, waitedMs: number) => number | undefined;
}): Promise<Outcome> {
  const clock = of.clock ?? fakeClock();
  const startedAt = clock.now();
  const from = startedAt + (of.warmUpMinutes ?? 0) * 60_000;
  const until = startedAt + of.minutes * 60_000;
  const { limits, random } = of;
  const free = 1 - (limits.others ?? 0);
  const buckets = {
    requests: bucket(limits.requests),
    tokens: bucket(limits.tokens),
  };
  function bucket(limit: number | undefined): Bucket | undefined {
    return limit === undefined ? undefined : new Bucket(limit * free, limits.burstSeconds, startedAt);
  }
  const stated = (): RateLimit | undefined =>
    limits.states
      ? { requests: limits.requests, tokens: limits.tokens, tokensLeft: counts && buckets.tokens?.allowance }
      : undefined;
  const real = of.tokens?.real ?? 0;
  const { counts } = limits;
  const bound = of.tokens?.bound ?? 0;
  const usedOfBound = of.tokens?.usedOfBound ?? 0;
  const pace = of.pace(clock);
  let [answered, asked, refused, failed] = [0, 0, 0, 0];
  const times: number[] = [];

  async function task(): Promise<void> {
    const began = clock.now();
    let waitedMs = 0;
    for (let attempt = 1; ; attempt++) {
      const guessed = of.tokens?.guessed() ?? 0;
      const entry = await pace?.enter({ inputTokens: guessed, outputTokens: bound });
      if (entry?.ok === false) throw new Error(`the wait did not fit: ${entry.reason}`);
      const now = clock.now();
      const answer = Math.round(bound * Math.min(1, 2 * usedOfBound * random()));
      const counted = real + (counts === undefined || counts === "reported" ? answer : bound);
      const waits = [buckets.requests?.waitMs(now, 1) ?? 0, buckets.tokens?.waitMs(now, counted) ?? 0];
      const isCounted = now >= from;
      if (isCounted) asked++;
      const waitMs = Math.max(...waits);
      if (waitMs === 0) {
        buckets.requests?.take(1);
        buckets.tokens?.take(counted);
        await clock.sleep(of.latencyMs);
        if (counts === "bound until it answers") buckets.tokens?.take(answer - bound);
        buckets.tokens?.waitMs(clock.now(), 0);
        entry?.turn.end({ rateLimit: stated(), usage: { inputTokens: real, outputTokens: answer } });
        if (clock.now() >= from && clock.now() <= until) {
          answered++;
          times.push(clock.now() - began);
        }
        return;
      }
      if (isCounted) refused++;
      await clock.sleep(20);
      const retryAfterMs = limits.states ? Math.ceil(waitMs / 1_000) * 1_000 : undefined;
      entry?.turn.end({ rateLimit: stated(), refused: { retryAfterMs } });
      const delayMs = of.retry(attempt, retryAfterMs, waitedMs);
      if (delayMs === undefined) {
        if (isCounted) failed++;
        return;
      }
      waitedMs += delayMs;
      await clock.sleep(delayMs);
    }
  }
  async function worker(): Promise<void> {
    await clock.sleep(random() * 10);
    while (clock.now() < until) await task();
  }
  const all = Array.from({ length: of.workers }, worker);
  await clock.advance((of.minutes + 1) * 60_000);
  void all;
  const cost = real + bound * (counts === "bound" ? 1 : usedOfBound);
  const allowed = Math.min(limits.requests ?? Infinity, cost === 0 ? Infinity : (limits.tokens ?? Infinity) / cost);
  const minutes = of.minutes - (of.warmUpMinutes ?? 0);
  const sorted = times.toSorted((a, b) => a - b);
  return {
    answered,
    refusedPer100: (100 * refused) / asked,
    useful: answered / (allowed * free * minutes),
    failed,
    p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? Infinity,
  };
}
