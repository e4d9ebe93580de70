/** A quantity that is not known yet: its median, and what it will hardly pass. */
export interface Distribution {
  /** The median. */
  readonly p50: number;
  /** Nine of ten evaluations stay at or below it. */
  readonly p90: number;
}

/** The fewest samples whose largest is a p90 in the sense of `quantile`. */
export const fewestForP90 = 9;

/**
 * The smallest sample that the next value stays at or below with a probability of at least `percent` %, whatever the
 * distribution, as long as the next value comes from where the samples came from: the ⌈(n+1)·percent/100⌉-th smallest
 * of n. Values without ties stay at or below it with a probability of at most percent % + 1/(n+1); ties add to that.
 * With too few samples for the rank, the largest.
 *
 * Source: J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani, L. Wasserman, "Distribution-Free Predictive Inference for
 * Regression", Journal of the American Statistical Association 113 (2018), theorem 2 (split conformal prediction).
 */
function quantile(sorted: readonly number[], percent: number): number {
  const rank = Math.ceil(((sorted.length + 1) * percent) / 100);
  return sorted[Math.min(rank, sorted.length) - 1] ?? Number.NaN;
}

/** Returns the quantiles of at least one value. */
export function distributionOf(values: readonly number[]): Distribution {
  const sorted = values.toSorted((a, b) => a - b);
  return { p50: quantile(sorted, 50), p90: quantile(sorted, 90) };
}

export function mapDistribution({ p50, p90 }: Distribution, map: (value: number) => number): Distribution {
  return { p50: map(p50), p90: map(p90) };
}
