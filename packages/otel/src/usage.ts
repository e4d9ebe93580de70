import type { Span } from "@opentelemetry/api";
import type { Usage } from "@proviso/core";
import { attribute } from "./names.ts";

/** One by one: an object of them would be made for each turn, with computed keys, and read again by the SDK. */
export function showUsage(span: Span, usage: Usage): void {
  span.setAttribute(attribute.inputTokens, usage.inputTokens);
  span.setAttribute(attribute.outputTokens, usage.outputTokens);
  span.setAttribute(attribute.cachedTokens, usage.cachedInputTokens);
  span.setAttribute(attribute.reasoningTokens, usage.reasoningTokens);
  if (usage.costUsd !== undefined) span.setAttribute(attribute.cost, usage.costUsd);
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
  return whole.costUsd === undefined ? rest : { ...rest, costUsd: whole.costUsd - (part.costUsd ?? 0) };
}
