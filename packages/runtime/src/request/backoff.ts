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

/**
 * Milliseconds to wait before the next attempt; undefined: give up.
 * Full jitter, uniform(0, min(maxDelay, base · 2^(n−1))), on top of the floor that the provider asked for.
 * Source: AWS Architecture Blog, "Exponential Backoff And Jitter".
 */
export function nextDelay(policy: ThrottlePolicy, refusal: Refusal, random: () => number): number | undefined {
  if (refusal.attempt >= policy.maxAttempts) return undefined;
  const asked = refusal.retryAfterMs ?? 0;
  const floor = refusal.kind === "quota_exhausted" ? Math.max(asked, policy.quotaDelayMs) : asked;
  const room = Math.min(policy.maxTotalDelayMs - refusal.waitedMs, refusal.leftMs);
  // A wait that ends with the deadline leaves no time to ask.
  if (!(floor <= room && room > 0)) return undefined;
  const jitter = random() * Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (refusal.attempt - 1));
  return Math.min(floor + jitter, room);
}
