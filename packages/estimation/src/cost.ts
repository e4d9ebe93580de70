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

/** What the provider has reported where it always has, else what the model's prices make of it. */
export function costFromSamples(
  { expected, few }: Learned,
  priors: Quantities,
  model: string | undefined,
  pricing: EvaluationPricing,
): CostEstimate {
  const reported = expected.map((each) => (each.sample.model === model ? reportedCost(each) : undefined));
  const known = reported.filter((cost) => cost !== undefined);
  const isReported = known.length === expected.length;
  if (!isReported && !pricing.known) return pricing;
  const { p50, p90 } = distributionOf(
    isReported || !pricing.known ? known : expected.map((usage) => pricing.priceOf(usage)),
  );
  const atLeast = few && pricing.known ? priorCost(priors, pricing, "p90") : 0;
  return { known: true, p50, p90: Math.max(p90, atLeast) };
}

/** A reported cost, scaled as its tokens are: a request's price grows with them. */
function reportedCost({ sample, inputTokens, outputTokens }: ExpectedUsage): number | undefined {
  if (sample.costUsd === undefined) return undefined;
  const spent = sample.inputTokens + sample.outputTokens;
  return spent === 0 ? sample.costUsd : sample.costUsd * ((inputTokens + outputTokens) / spent);
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
