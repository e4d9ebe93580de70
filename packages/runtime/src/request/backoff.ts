import type { ThrottleKind, ThrottlePolicy } from "@proviso/core";

export interface Refusal {
  readonly kind: ThrottleKind;
  readonly retryAfterMs: number | undefined;
  /** Requests made so far. */
  readonly attempt: number;
  /** Milliseconds waited so far for this request. */
  readonly waitedMs: number;
  /** Milliseconds to the deadline; Infinity without one. */
  readonly leftMs: number;
}

/** The part of the time between the floor and the deadline that jitter may take; the rest is for the request. */
const jitterShare = 0.5;

/**
 * Milliseconds to wait before the next attempt; undefined: give up.
 * Full jitter, uniform(0, min(maxDelay, base · 2^(n−1))), on top of the floor that the provider asked for. Where the
 * total or the deadline leave less, it is uniform up to that: a wait that ended with the deadline would leave no time to
 * ask.
 * Source: AWS Architecture Blog, "Exponential Backoff And Jitter".
 */
export function nextDelay(policy: ThrottlePolicy, refusal: Refusal, random: () => number): number | undefined {
  if (refusal.attempt >= policy.maxAttempts) return undefined;
  const asked = refusal.retryAfterMs ?? 0;
  const floor = refusal.kind === "quota_exhausted" ? Math.max(asked, policy.quotaDelayMs) : asked;
  const totalMs = policy.maxTotalDelayMs - refusal.waitedMs;
  const [spareMs, leftMs] = [totalMs - floor, refusal.leftMs - floor];
  // What is no number gives up, too.
  if (!(spareMs >= 0 && totalMs > 0 && leftMs > 0)) return undefined;
  const bound = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (refusal.attempt - 1));
  return floor + partOf(random()) * Math.min(bound, spareMs, leftMs * jitterShare);
}

/** What a source of randomness draws; 0 where an injected one draws outside of [0, 1). */
export function partOf(drawn: number): number {
  return drawn >= 0 && drawn < 1 ? drawn : 0;
}
