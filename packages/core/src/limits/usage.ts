/** A limit of a budget. */
export type BudgetDimension = "input_tokens" | "output_tokens" | "total_tokens" | "cost";

/** Tokens, and US dollars where the provider reports a cost. */
export interface Usage {
  /** Tokens of the requests. */
  readonly inputTokens: number;
  /** Tokens of the answers, with those of reasoning. */
  readonly outputTokens: number;
  /** Input and output tokens together. */
  readonly totalTokens: number;
  /** Input tokens that came from the provider's cache; 0 where the provider does not report them. */
  readonly cachedInputTokens: number;
  /** Input tokens that were written to the provider's cache; 0 where the provider does not report them. */
  readonly cacheWriteTokens: number;
  /** Output tokens that the model spent on reasoning; 0 where the provider does not report them. */
  readonly reasoningTokens: number;
  /** US dollars; left out where none are known. With `unpricedTokens` they are only a part: it has cost at least this. */
  readonly costUsd?: number;
  /** Input and output tokens whose cost is not in `costUsd`, because it is not known; left out where there are none. */
  readonly unpricedTokens?: number;
  /** Whether a part of the numbers was not reported and is an estimate. */
  readonly estimated: boolean;
}

/** The usage that a provider reports; what it leaves out is estimated. */
export type ReportedUsage = {
  readonly [K in Exclude<keyof Usage, "estimated">]?: number | undefined;
};

/** Nothing spent: what sums begin with. */
export const noUsage: Usage = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  estimated: false,
});

/** A number that can be counted with: tokens whole, a part of one is one; dollars as they are; undefined for anything else. */
function countOf(value: unknown, isWhole: boolean): number | undefined {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return undefined;
  if (!isWhole) return value;
  const whole = Math.ceil(value);
  return Number.isSafeInteger(whole) ? whole : undefined;
}

/**
 * Reads usage that a provider or an application reports. A count of tokens that is missing, negative or not finite is
 * replaced by the estimate, and a fraction is rounded up; a cost that is not a finite number from 0 is left out. The
 * result is marked as estimated where a count was replaced or a given value could not be read. Zero stays zero. Tokens of
 * reasoning that are not among those of the output are added to them: the total counts them beside it, or they are more.
 * What a sum has of tokens without a cost stays beside its cost. Never throws.
 */
export function countUsage(
  reported: unknown,
  estimate: { readonly inputTokens: number; readonly outputTokens: number },
): Usage {
  let isEstimate = false;
  const read = (field: (given: ReportedUsage) => unknown, isWhole = true): number | undefined => {
    const value = fieldOf(reported, field);
    const count = countOf(value, isWhole);
    if (count === undefined && value !== undefined && value !== null) isEstimate = true;
    return count;
  };
  const [input, output] = [read((given) => given.inputTokens), read((given) => given.outputTokens)];
  const inputTokens = input ?? estimate.inputTokens;
  const answered = output ?? estimate.outputTokens;
  const total = read((given) => given.totalTokens) ?? 0;
  const reasoningTokens = read((given) => given.reasoningTokens) ?? 0;
  // Some services, xAI among them, count the thoughts beside the answer.
  const isBeside = reasoningTokens > answered || total === inputTokens + answered + reasoningTokens;
  const outputTokens = isBeside ? sumOf(answered, reasoningTokens) : answered;
  const totalTokens = Math.max(total, sumOf(inputTokens, outputTokens));
  // Parts are no larger than the whole, whatever was reported.
  const cachedInputTokens = Math.min(read((given) => given.cachedInputTokens) ?? 0, inputTokens);
  const cacheWriteTokens = Math.min(read((given) => given.cacheWriteTokens) ?? 0, inputTokens - cachedInputTokens);
  const costUsd = read((given) => given.costUsd, false);
  const estimated =
    isEstimate ||
    input === undefined ||
    output === undefined ||
    fieldOf(reported, (given: Partial<Usage>) => given.estimated) === true;
  const usage = {
    inputTokens,
    outputTokens,
    totalTokens,
    cachedInputTokens,
    cacheWriteTokens,
    reasoningTokens,
    estimated,
  };
  if (costUsd === undefined) return usage;
  const unpriced = Math.min(
    countOf(
      fieldOf(reported, (given) => given.unpricedTokens),
      true,
    ) ?? 0,
    totalTokens,
  );
  return unpriced === 0 ? { ...usage, costUsd } : { ...usage, costUsd, unpricedTokens: unpriced };
}

/**
 * Reads a field; one that throws has its error as its value, which is no number. Takes a function for each field, not its
 * name: V8 reads a field by a name in a variable more slowly.
 */
function fieldOf(reported: unknown, field: (given: Partial<Usage>) => unknown): unknown {
  if (reported === undefined || reported === null) return undefined;
  try {
    return field(reported);
  } catch (error) {
    return error;
  }
}

/** Whole, however much it is: the next number that a double has is not one more. */
export function sumOf(a: number, b: number): number {
  return Math.min(a + b, Number.MAX_SAFE_INTEGER);
}

/** Tokens of a usage whose cost is not known; all of them, where it has no cost. */
export function unpricedTokensOf({ costUsd, totalTokens, unpricedTokens = 0 }: Usage): number {
  return costUsd === undefined ? totalTokens : unpricedTokens;
}

/**
 * The sum of two usages, finite however large they are. The cost is there as soon as one of them has one; tokens that have
 * none are counted beside it.
 */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum = {
    inputTokens: sumOf(a.inputTokens, b.inputTokens),
    outputTokens: sumOf(a.outputTokens, b.outputTokens),
    totalTokens: sumOf(a.totalTokens, b.totalTokens),
    cachedInputTokens: sumOf(a.cachedInputTokens, b.cachedInputTokens),
    cacheWriteTokens: sumOf(a.cacheWriteTokens, b.cacheWriteTokens),
    reasoningTokens: sumOf(a.reasoningTokens, b.reasoningTokens),
    estimated: a.estimated || b.estimated,
  } satisfies Required<Omit<Usage, "costUsd" | "unpricedTokens">>;
  if (a.costUsd === undefined && b.costUsd === undefined) return sum;
  const costUsd = Math.min((a.costUsd ?? 0) + (b.costUsd ?? 0), Number.MAX_VALUE);
  const unpricedTokens = sumOf(unpricedTokensOf(a), unpricedTokensOf(b));
  return unpricedTokens === 0 ? { ...sum, costUsd } : { ...sum, costUsd, unpricedTokens };
}
