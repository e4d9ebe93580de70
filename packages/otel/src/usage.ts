import type { Span } from "@opentelemetry/api";
import type { Usage } from "@proviso/core";
import { unpricedTokensOf } from "@proviso/core/internal";
import { attribute } from "./names.ts";

/** One by one: an object of them would be made for each turn, with computed keys, and read again by the SDK. */
export function showUsage(span: Span, usage: Usage): void {
  span.setAttribute(attribute.inputTokens, usage.inputTokens);
  span.setAttribute(attribute.outputTokens, usage.outputTokens);
  span.setAttribute(attribute.cachedTokens, usage.cachedInputTokens);
  if (usage.cacheWriteTokens > 0) span.setAttribute(attribute.cacheWriteTokens, usage.cacheWriteTokens);
  span.setAttribute(attribute.reasoningTokens, usage.reasoningTokens);
  if (usage.costUsd !== undefined) span.setAttribute(attribute.cost, usage.costUsd);
  if (usage.unpricedTokens !== undefined) span.setAttribute(attribute.unpricedTokens, usage.unpricedTokens);
  if (usage.estimated) span.setAttribute(attribute.estimated, true);
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
