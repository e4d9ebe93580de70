import type { SimulatorClock } from "./clock.ts";
import type { ServiceError } from "./service-error.ts";
import type { Api } from "./types.ts";

/** Buckets that fill with time. */
export interface RateLimit {
  /** How many requests are answered in a minute; the others get a 429 with a Retry-After. */
  readonly requestsPerMinute: number;
  /** Input and output tokens together. Left out: no limit. */
  readonly tokensPerMinute?: number | undefined;
  /** What a full bucket holds, as a part of a minute's. Default 1. */
  readonly burst?: number | undefined;
}

export interface Limiter {
  /** The refusal, when a bucket is empty. */
  take(tokens: number, api: Api): ServiceError | undefined;
  /** Returns the limits that the service reports with each answer, as headers; Gemini reports none. */
  headers(api: Api | undefined): Readonly<Record<string, string>>;
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
    take(count, api) {
      fill(requests, now());
      if (tokens !== undefined) fill(tokens, now());
      if (tokens !== undefined && count > tokens.perMinute) return tooLarge(tokens, count);
      const requestsMs = waitFor(requests, 1);
      const tokensMs = tokens === undefined ? 0 : waitFor(tokens, Math.min(count, tokens.size));
      if (tokens !== undefined && tokensMs > requestsMs) return refused("tokens", tokens, count, tokensMs, api);
      if (requestsMs > 0) return refused("requests", requests, 1, requestsMs, api);
      requests.left -= 1;
      if (tokens !== undefined) tokens.left -= count;
      return undefined;
    },
    headers(api) {
      if (api === "gemini") return {};
      const describe = api === "anthropic" ? describedByAnthropic(now()) : describedByOpenAI;
      return { ...describe("requests", requests), ...(tokens === undefined ? {} : describe("tokens", tokens)) };
    },
  };
}

function fill(bucket: Bucket, at: number): void {
  bucket.left = Math.min(bucket.size, bucket.left + ((at - bucket.at) * bucket.perMinute) / 60_000);
  bucket.at = at;
}

function waitFor({ left, perMinute }: Bucket, wanted: number): number {
  return left >= wanted ? 0 : Math.ceil(((wanted - left) * 60_000) / perMinute);
}

type What = "requests" | "tokens";
const named = { requests: "requests per min (RPM)", tokens: "tokens per min (TPM)" } as const;

function refused(what: What, bucket: Bucket, wanted: number, waitMs: number, api: Api): ServiceError {
  const { perMinute, size, left } = bucket;
  const used = `Limit ${perMinute}, Used ${Math.ceil(size - left)}, Requested ${wanted}`;
  const message = `Rate limit reached on ${named[what]}: ${used}. Please try again in ${duration(waitMs)}.`;
  const error = { status: 429, message, type: what, code: "rate_limit_exceeded" };
  if (api === "gemini") return { ...error, retryMs: waitMs };
  const headers = { "retry-after": String(Math.ceil(waitMs / 1_000)) };
  return { ...error, headers: api === "anthropic" ? headers : { "retry-after-ms": String(waitMs), ...headers } };
}

/** No wait would help. */
function tooLarge({ perMinute }: Bucket, wanted: number): ServiceError {
  const limit = `Limit ${perMinute}, Requested ${wanted}`;
  const message = `Request too large on ${named.tokens}: ${limit}. The input or output tokens must be reduced.`;
  return { status: 429, message, type: "tokens", code: "rate_limit_exceeded" };
}

/** Writes a duration as Go does: 20ms, 1.5s, 6m0s. */
function duration(ms: number): string {
  if (ms < 1_000) return `${ms}ms`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = `${(ms % 60_000) / 1_000}s`;
  if (minutes === 0) return seconds;
  return minutes < 60 ? `${minutes}m${seconds}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`;
}

function describedByOpenAI(what: What, bucket: Bucket): Readonly<Record<string, string>> {
  return {
    [`x-ratelimit-limit-${what}`]: String(bucket.perMinute),
    [`x-ratelimit-remaining-${what}`]: String(Math.max(0, Math.floor(bucket.left))),
    [`x-ratelimit-reset-${what}`]: duration(waitFor(bucket, bucket.size)),
  };
}

/** Anthropic writes when the bucket is full as a time of RFC 3339. */
function describedByAnthropic(now: number): typeof describedByOpenAI {
  return (what, bucket) => ({
    [`anthropic-ratelimit-${what}-limit`]: String(bucket.perMinute),
    [`anthropic-ratelimit-${what}-remaining`]: String(Math.max(0, Math.floor(bucket.left))),
    [`anthropic-ratelimit-${what}-reset`]: new Date(now + waitFor(bucket, bucket.size))
      .toISOString()
      .replace(/\.\d+Z$/, "Z"),
  });
}
