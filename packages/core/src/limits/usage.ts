/** Which limit of a budget was passed. */
export type BudgetDimension = "input_tokens" | "output_tokens" | "total_tokens" | "cost";

/** Tokens, and US dollars where the provider reports a cost. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** Those of the input that came from the provider's cache; 0 where it does not say. */
  readonly cachedInputTokens: number;
  /** Those of the output that the model thought in; 0 where the provider does not say. */
  readonly reasoningTokens: number;
  /** US dollars; left out where the provider reports none. */
  readonly costUsd?: number;
  /** Some of it was not reported and is counted as an estimate. */
  readonly estimated: boolean;
}

/** What a provider says of its usage; what it leaves out is estimated. */
export type ReportedUsage = { readonly [K in Exclude<keyof Usage, "estimated">]?: number | undefined };

/** Nothing spent: what sums begin with. */
export const noUsage: Usage = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  estimated: false,
});

/** The sum of two usages; the cost is there as soon as one of them has one. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    estimated: a.estimated || b.estimated,
  };
  if (a.costUsd === undefined && b.costUsd === undefined) return sum;
  return { ...sum, costUsd: (a.costUsd ?? 0) + (b.costUsd ?? 0) };
}
