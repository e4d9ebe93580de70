import type { Attributes } from "@opentelemetry/api";
import type { Usage } from "@proviso/core";
import { unpricedTokensOf } from "@proviso/core/internal";
import { attribute } from "./names.ts";

export function usageAttributes(usage: Usage): Attributes {
  return {
    [attribute.inputTokens]: usage.inputTokens,
    [attribute.outputTokens]: usage.outputTokens,
    [attribute.cachedTokens]: usage.cachedInputTokens,
    [attribute.reasoningTokens]: usage.reasoningTokens,
    ...(usage.costUsd === undefined ? {} : { [attribute.cost]: usage.costUsd }),
    ...(usage.unpricedTokens === undefined ? {} : { [attribute.unpricedTokens]: usage.unpricedTokens }),
    ...(usage.estimated ? { [attribute.estimated]: true } : {}),
  };
}

/** What the whole has beyond a part of it. */
export function usageBeyond(whole: Usage, part: Usage | undefined): Usage {
  if (part === undefined) return whole;
  const rest = {
    inputTokens: whole.inputTokens - part.inputTokens,
    outputTokens: whole.outputTokens - part.outputTokens,
    totalTokens: whole.totalTokens - part.totalTokens,
    cachedInputTokens: whole.cachedInputTokens - part.cachedInputTokens,
    cacheWriteTokens: whole.cacheWriteTokens - part.cacheWriteTokens,
    reasoningTokens: whole.reasoningTokens - part.reasoningTokens,
    estimated: whole.estimated,
  };
  if (whole.costUsd === undefined) return rest;
  const unpricedTokens = unpricedTokensOf(whole) - unpricedTokensOf(part);
  const costUsd = whole.costUsd - (part.costUsd ?? 0);
  return unpricedTokens > 0 ? { ...rest, costUsd, unpricedTokens } : { ...rest, costUsd };
}
