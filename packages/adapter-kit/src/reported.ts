import type { Allowance, RateLimit, TokenLogprob } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { listAt, textAt, type Json } from "./body.ts";

interface Headers {
  get(name: string): string | null;
}

/** A limit that fills up more slowly than this is one of a day or an hour: a pace for each minute would not serve it. */
const longestWindowMs = 120_000;

/** A limit that fills up faster than this is one of a second: held for a minute it would stop all but a few requests. */
const shortestWindowMs = 10_000;

/** A reset that is shorter than this is rounded too much to say how long the whole takes. */
const shortestResetMs = 50;

/**
 * The limits that a service states in the headers of an answer, each for one minute; undefined: it states none. Read are
 * OpenAI's `x-ratelimit-limit-requests` and `-tokens`, Anthropic's `anthropic-ratelimit-requests-limit`, `-tokens-`,
 * `-input-tokens-` and `-output-tokens-limit`, and `RateLimit-Policy` of the IETF draft; and what is left of the limits of
 * tokens, in `-remaining-tokens`, `-tokens-remaining` and `-output-tokens-remaining`. What cannot be read counts as
 * absent, and so does a limit that takes more than two minutes to fill up, or less than ten seconds: some services state
 * those of a day, or of a second.
 * Sources: OpenAI API reference, "Rate limits in headers"; Anthropic API reference, "Response headers";
 * draft-ietf-httpapi-ratelimit-headers-10.
 */
export function rateLimitFrom(headers: Headers): RateLimit | undefined {
  const requests = openai(headers, "requests") ?? anthropic(headers, "requests") ?? policy(headers);
  const tokens = openai(headers, "tokens") ?? anthropic(headers, "tokens");
  const inputTokens = anthropic(headers, "input-tokens");
  const outputTokens = anthropic(headers, "output-tokens");
  if ((requests ?? tokens ?? inputTokens ?? outputTokens) === undefined) return undefined;
  const tokensLeft = openaiLeft(headers, tokens) ?? anthropicLeft(headers, "tokens", tokens);
  const outputTokensLeft = anthropicLeft(headers, "output-tokens", outputTokens);
  return {
    ...(requests === undefined ? {} : { requests }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(tokensLeft === undefined ? {} : { tokensLeft }),
    ...(outputTokensLeft === undefined ? {} : { outputTokensLeft }),
  };
}

function openai(headers: Headers, what: "requests" | "tokens"): number | undefined {
  const limit = count(headers.get(`x-ratelimit-limit-${what}`));
  if (limit === undefined) return undefined;
  const left = count(headers.get(`x-ratelimit-remaining-${what}`), 0);
  const fullAfterMs = duration(headers.get(`x-ratelimit-reset-${what}`));
  if (left === undefined || fullAfterMs === undefined || left >= limit) return limit;
  // What is used comes back evenly, so that the reset says how long the whole takes.
  const windowMs = (fullAfterMs * limit) / (limit - left);
  const isShort = windowMs < shortestWindowMs && fullAfterMs >= shortestResetMs;
  return windowMs > longestWindowMs || isShort ? undefined : limit;
}

/** What is used comes back evenly, so that the reset says how much that is. */
function openaiLeft(headers: Headers, limit: number | undefined): Allowance | undefined {
  const left = count(headers.get("x-ratelimit-remaining-tokens"), 0);
  if (limit === undefined || left === undefined) return undefined;
  const fullAfterMs = duration(headers.get("x-ratelimit-reset-tokens"));
  return { left, size: fullAfterMs === undefined ? Math.max(left, limit) : left + (fullAfterMs * limit) / 60_000 };
}

function anthropicLeft(headers: Headers, what: string, limit: number | undefined): Allowance | undefined {
  const left = count(headers.get(`anthropic-ratelimit-${what}-remaining`), 0);
  return limit === undefined || left === undefined ? undefined : { left, size: Math.max(left, limit) };
}

/** Anthropic states its limits by the minute. */
function anthropic(headers: Headers, what: string): number | undefined {
  return count(headers.get(`anthropic-ratelimit-${what}-limit`));
}

/** `"default";q=100;w=60`, several apart by commas, or `100;w=60` of older drafts: the one for requests that is tightest. */
function policy(headers: Headers): number | undefined {
  const text = headers.get("ratelimit-policy");
  if (text === null || text.length > longestPolicy) return undefined;
  const rates = text.split(",").flatMap((item) => {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
    const of = new Map(parameters.map((parameter) => parameter.split("=", 2) as [string, string | undefined]));
    if ((of.get("qu") ?? '"requests"') !== '"requests"') return [];
    const quota = count(of.get("q") ?? name);
    const seconds = count(of.get("w") ?? null);
    if (quota === undefined || seconds === undefined || seconds * 1_000 > longestWindowMs) return [];
    return [(quota * 60) / seconds];
  });
  return rates.length === 0 ? undefined : Math.min(...rates);
}

const longestPolicy = 4_096;

function count(text: string | null | undefined, least = 1): number | undefined {
  if (text === null || text === undefined || !/^\s*\d{1,15}(\.\d{1,6})?\s*$/.test(text)) return undefined;
  const value = Number(text);
  return value >= least ? value : undefined;
}

const unitsMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** "1s", "6m0s", "88ms", "2m59.56s", as Go writes durations; in milliseconds. */
function duration(text: string | null): number | undefined {
  if (text === null || !/^(\d{1,9}(\.\d{1,9})?(ms|[smhd])){1,5}$/.test(text)) return undefined;
  let sumMs = 0;
  for (const [, value, , unit] of text.matchAll(/(\d+(\.\d+)?)(ms|[smhd])/g)) {
    sumMs += Number(value) * unitsMs[unit as keyof typeof unitsMs];
  }
  return sumMs;
}

/** The header in which a LiteLLM proxy reports what a request cost, in US dollars. */
const costHeader = "x-litellm-response-cost";

/** Reads the cost in US dollars from the headers; undefined where it is missing or is not a number from zero up. */
export function reportedCost(headers: { get(name: string): string | null }): number | undefined {
  return dollars(Number.parseFloat(headers.get(costHeader) ?? ""));
}

/**
 * The `cost` in a service's own words of its usage: a LiteLLM proxy's, in a stream, where its setting
 * `include_cost_in_streaming_usage` is on; or that of OpenRouter.
 */
export function costInUsage(usage: unknown): number | undefined {
  return isRecord(usage) ? dollars(usage["cost"]) : undefined;
}

function dollars(cost: unknown): number | undefined {
  return typeof cost === "number" && Number.isFinite(cost) && cost >= 0 ? cost : undefined;
}

/** The log probabilities in a list of tokens as OpenAI's APIs write them; undefined where the list has none. */
export function logprobsFrom(tokens: readonly Json[]): readonly TokenLogprob[] | undefined {
  if (tokens.length === 0) return undefined;
  return tokens.map((given) => ({ ...tokenOf(given), top: listAt(given, "top_logprobs").map(tokenOf) }));
}

function tokenOf(given: Json): Pick<TokenLogprob, "token" | "logprob"> {
  return { token: textAt(given, "token"), logprob: Number(given["logprob"]) };
}
