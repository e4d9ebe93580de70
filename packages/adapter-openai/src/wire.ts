import type { ModelResponse, ReportedUsage, TokenLogprob } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { costInUsage, listAt, objectAt, textAt, type Json } from "@proviso/adapter-kit";

/** A number that can be counted; the rest is left to the runtime's estimate. */
function countAt(object: unknown, key: string): number | undefined {
  const value = isRecord(object) ? object[key] : undefined;
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Arguments as they came: some compatible servers send an object. */
export function argumentsAt(object: Json, key: string): string {
  const value = object[key];
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** The log probabilities in a list of tokens; undefined where it has none. */
function logprobsFrom(tokens: readonly Json[]): readonly TokenLogprob[] | undefined {
  if (tokens.length === 0) return undefined;
  return tokens.map((given) => ({ ...tokenOf(given), top: listAt(given, "top_logprobs").map(tokenOf) }));
}

function tokenOf(given: Json): Pick<TokenLogprob, "token" | "logprob"> {
  return { token: textAt(given, "token"), logprob: Number(given["logprob"]) };
}

/** The tier and the log probabilities of an answer: only what there is. */
export function servedBy(body: Json, tokens: readonly Json[]): Pick<ModelResponse, "serviceTier" | "logprobs"> {
  const serviceTier = textAt(body, "service_tier");
  const logprobs = logprobsFrom(tokens);
  return {
    ...(serviceTier === "" ? {} : { serviceTier }),
    ...(logprobs === undefined ? {} : { logprobs }),
  };
}

/** Usage in the names of one API. */
export function usageFrom(
  usage: unknown,
  names: { readonly input: string; readonly output: string },
  costUsd: number | undefined,
): ReportedUsage {
  return {
    inputTokens: countAt(usage, names.input),
    outputTokens: countAt(usage, names.output),
    totalTokens: countAt(usage, "total_tokens"),
    cachedInputTokens: countAt(objectAt(usage, `${names.input}_details`), "cached_tokens"),
    cacheWriteTokens: countAt(objectAt(usage, `${names.input}_details`), "cache_write_tokens"),
    reasoningTokens: countAt(objectAt(usage, `${names.output}_details`), "reasoning_tokens"),
    costUsd: costUsd ?? costInUsage(usage),
  };
}
