import { reportedPrices } from "./reported-prices.ts";
import type { ExpectedUsage, Learned } from "./learned.ts";
import type { EvaluationPricing } from "./prices.ts";
import type { Quantities } from "./priors.ts";
import { distributionOf, type Distribution } from "./quantile.ts";

/** US dollars, or why they are not known. */
export type CostEstimate =
  | ({ readonly known: true } & Distribution)
  | {
      readonly known: false;
      /** Why the cost is not known, and what to do about it. */
      readonly reason: string;
    };

export function costFromPriors(priors: Quantities, pricing: EvaluationPricing): CostEstimate {
  if (!pricing.known) return pricing;
  return { known: true, p50: priorCost(priors, pricing, "p50"), p90: priorCost(priors, pricing, "p90") };
}

/**
 * What the expected tokens cost: at the model's prices, where they are known, and in the proportion in which evaluations
 * have cost more or less than these; else as providers have reported it, where they always have.
 */
export function costFromSamples(
  { expected, few }: Learned,
  priors: Quantities,
  model: string | undefined,
  pricing: EvaluationPricing,
): CostEstimate {
  if (!pricing.known) {
    const costs = reportedCosts(expected, model);
    if (costs === undefined) return pricing;
    const [likely, most] = [distributionOf(costs.likely), distributionOf(costs.most)];
    return { known: true, p50: likely.p50, p90: Math.max(likely.p90, most.p90) };
  }
  const { p50, p90 } = distributionOf(expected.map((usage) => pricedCost(usage, model, pricing)));
  return { known: true, p50, p90: few ? Math.max(p90, priorCost(priors, pricing, "p90")) : p90 };
}

/** A provider may charge another price than the one that is known: a discount, or what it writes to its cache. */
function pricedCost(
  expected: ExpectedUsage,
  model: string | undefined,
  pricing: EvaluationPricing & { known: true },
): number {
  const { sample } = expected;
  const price = pricing.priceOf(expected);
  if (sample.costUsd === undefined || sample.model !== model) return price;
  const priced = pricing.priceOf(sample);
  return priced > 0 ? sample.costUsd * (price / priced) : sample.costUsd;
}

/** undefined where the cost of one of them is not known, or is that of another model. */
function reportedCosts(
  expected: readonly ExpectedUsage[],
  model: string | undefined,
): { readonly likely: readonly number[]; readonly most: readonly number[] } | undefined {
  if (expected.some(({ sample }) => sample.costUsd === undefined || sample.model !== model)) return undefined;
  const prices = reportedPrices(expected.map(({ sample }) => sample));
  const likely = expected.map((each) => scaledCost(each, prices ?? { input: 1, output: 1 }));
  if (prices !== undefined) return { likely, most: likely };
  // How much of a cost is the input's is not known: a larger input may be all of it, a smaller one nothing.
  const most = expected.map(({ sample: { costUsd = 0, ...before }, inputTokens }) => {
    return before.inputTokens === 0 ? costUsd : costUsd * Math.max(1, inputTokens / before.inputTokens);
  });
  return { likely, most };
}

/** A reported cost, of which the input's part, as prices in this proportion make it, is scaled as the input is. */
function scaledCost(
  { sample, inputTokens, outputTokens }: ExpectedUsage,
  prices: { readonly input: number; readonly output: number },
): number {
  const cost = sample.costUsd ?? 0;
  const spent = sample.inputTokens * prices.input + sample.outputTokens * prices.output;
  return spent === 0 ? cost : cost * ((inputTokens * prices.input + outputTokens * prices.output) / spent);
}

function priorCost(
  priors: Quantities,
  pricing: EvaluationPricing & { known: true },
  level: keyof Distribution,
): number {
  return pricing.priceOf({
    inputTokens: priors.inputTokens[level],
    cachedInputTokens: 0,
    outputTokens: priors.outputTokens[level],
    turns: priors.turns[level],
  });
}
