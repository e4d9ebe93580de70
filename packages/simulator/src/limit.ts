import type { SimulatorClock } from "./clock.ts";
import type { HttpStep } from "./types.ts";

/** Buckets that fill with time. */
export interface RateLimit {
  readonly requestsPerMinute: number;
  /** Of input and output together. Left out: no limit. */
  readonly tokensPerMinute?: number | undefined;
  /** What a full bucket holds, as a part of a minute's. Default 1. */
  readonly burst?: number | undefined;
}

export interface Limiter {
  /** The refusal, when a bucket is empty. */
  take(tokens: number): HttpStep | undefined;
  /** What the service says of its limits with each answer. */
  headers(): Readonly<Record<string, string>>;
}

interface Bucket {
  readonly perMinute: number;
  readonly size: number;
  left: number;
  at: number;
}

/** @throws {TypeError} for a limit that is no positive number. */
export function rateLimiter(limit: RateLimit, { now }: SimulatorClock): Limiter {
  const { requestsPerMinute, tokensPerMinute, burst = 1 } = limit;
  for (const [name, value] of Object.entries({ requestsPerMinute, tokensPerMinute: tokensPerMinute ?? 1, burst })) {
    if (!(Number.isFinite(value) && value > 0))
      throw new TypeError(`The rate limit's ${name} must be a positive number.`);
  }
  const bucket = (perMinute: number): Bucket => {
    const size = Math.max(1, perMinute * burst);
    return { perMinute, size, left: size, at: now() };
  };
  const requests = bucket(requestsPerMinute);
  const tokens = tokensPerMinute === undefined ? undefined : bucket(tokensPerMinute);
  return {
    take(count) {
      fill(requests, now());
      if (tokens !== undefined) fill(tokens, now());
      const waitMs = Math.max(
        waitFor(requests, 1),
        tokens === undefined ? 0 : waitFor(tokens, Math.min(count, tokens.size)),
      );
      if (waitMs > 0) return refused(waitMs);
      requests.left -= 1;
      if (tokens !== undefined) tokens.left -= count;
      return undefined;
    },
    headers: () => ({ ...describe("requests", requests), ...(tokens === undefined ? {} : describe("tokens", tokens)) }),
  };
}

function fill(bucket: Bucket, at: number): void {
  bucket.left = Math.min(bucket.size, bucket.left + ((at - bucket.at) * bucket.perMinute) / 60_000);
  bucket.at = at;
}

function waitFor({ left, perMinute }: Bucket, wanted: number): number {
  return left >= wanted ? 0 : Math.ceil(((wanted - left) * 60_000) / perMinute);
}

function refused(waitMs: number): HttpStep {
  const seconds = (waitMs / 1_000).toFixed(3);
  const message = `Rate limit reached. Please try again in ${seconds}s.`;
  return {
    status: 429,
    headers: { "retry-after-ms": String(waitMs), "retry-after": String(Math.ceil(waitMs / 1_000)) },
    body: { error: { message, type: "requests", param: null, code: "rate_limit_exceeded" } },
  };
}

function describe(what: string, bucket: Bucket): Readonly<Record<string, string>> {
  return {
    [`x-ratelimit-limit-${what}`]: String(bucket.perMinute),
    [`x-ratelimit-remaining-${what}`]: String(Math.max(0, Math.floor(bucket.left))),
    [`x-ratelimit-reset-${what}`]: `${waitFor(bucket, bucket.size)}ms`,
  };
}
