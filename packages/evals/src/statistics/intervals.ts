import { DefinitionError } from "@proviso/core";
import { addedSize, clustersOf, degreesOf, effectiveClusters, type Clusters } from "./clusters.ts";
import { levelOf, requireFinite, rounding, type Estimate, type Level, type Observation } from "./estimate.ts";
import { studentCritical } from "./quantiles.ts";

/**
 * The mean of the rows with Student's interval on clusters (STA-1). With a range, one more cluster stands
 * at either end of it, of average size or larger where a few large ones decide the mean, so that answers that are all alike
 * still leave room for others.
 *
 * @param options `confidence` is 0.95 unless set. `range` has the least and the greatest value, in any order; without it
 *   the interval is unbounded and has no added clusters.
 * @throws {DefinitionError} for fewer than 2 clusters, a value that is not finite or is outside the range, or a confidence
 *   that is not between 0 and 1.
 */
export function meanInterval(
  rows: readonly Observation[],
  options: { readonly confidence?: number; readonly range?: readonly [number, number] } = {},
): Estimate {
  return meanWithin(rows, levelOf(options.confidence), options.range);
}

/**
 * The mean of paired differences, variant less baseline, with Student's interval on clusters (STA-1). With a span, one more
 * cluster stands at either side of zero, as far from it as the cluster that differs most, or by the whole
 * span where none differs. For scores of 0 and 1 without groups that is the interval of Bonett and Price, "Adjusted Wald
 * confidence interval for a difference of binomial proportions based on paired data", Journal of Educational and Behavioral
 * Statistics 37 (2012), with t in place of z.
 *
 * @param options `confidence` is 0.95 unless set. `span` is the largest difference that there can be; without it the
 *   interval is unbounded and has no added clusters.
 * @throws {DefinitionError} for fewer than 2 clusters, a value that is not finite or is beyond the span, or a confidence
 *   that is not between 0 and 1.
 */
export function differenceInterval(
  rows: readonly Observation[],
  options: { readonly confidence?: number; readonly span?: number } = {},
): Estimate {
  return differenceWithin(rows, levelOf(options.confidence), options.span);
}

/** Like `meanInterval`, at the level of a look. */
export function meanWithin(
  rows: readonly Observation[],
  level: Level,
  range: readonly [number, number] | undefined,
): Estimate {
  const clusters = enough(clustersOf(rows));
  if (range === undefined) return unbounded(clusters, level);
  const least = Math.min(...range);
  const greatest = Math.max(...range);
  requireRange(rows, least, greatest, "A range needs two different ends.");
  return adjusted(clusters, level, { added: [least, greatest], least, greatest, isBinary: false });
}

/** Like `differenceInterval`, at the level of a look. */
export function differenceWithin(rows: readonly Observation[], level: Level, span: number | undefined): Estimate {
  const clusters = enough(clustersOf(rows));
  if (span === undefined) return unbounded(clusters, level);
  requireRange(rows, -span, span, "A span must be above 0.");
  const { sums, sizes, rows: count } = clusters;
  const largest = sums.reduce((most, sum, place) => Math.max(most, Math.abs(sum) / sizes[place]!), 0);
  const added = largest === 0 ? span : largest;
  const isBinary = sums.length === count && sums.every((sum) => sum === 0 || Math.abs(sum) === span);
  return adjusted(clusters, level, { added: [-added, added], least: -span, greatest: span, isBinary });
}

interface Adjustment {
  /** The means of the two clusters that are added. */
  readonly added: readonly [number, number];
  readonly least: number;
  readonly greatest: number;
  /** Differences of scores of 0 and 1 without groups: Bonett and Price divide by the number of rows, not by one less. */
  readonly isBinary: boolean;
}

function adjusted(clusters: Clusters, level: Level, { added, least, greatest, isBinary }: Adjustment): Estimate {
  const size = addedSize(clusters);
  const more = {
    rows: clusters.rows + 2 * size,
    sums: [...clusters.sums, added[0] * size, added[1] * size],
    sizes: [...clusters.sizes, size, size],
    mean: (clusters.mean * clusters.rows + (added[0] + added[1]) * size) / (clusters.rows + 2 * size),
  };
  const half = halfWidth(more, level, isBinary);
  return {
    value: clusters.mean,
    // The plain mean is inside its interval, whatever the confidence.
    low: Math.min(clusters.mean, Math.max(least, more.mean - half)),
    high: Math.max(clusters.mean, Math.min(greatest, more.mean + half)),
    confidence: level.confidence,
    method: "adjusted-t",
    ...countsOf(clusters),
  };
}

/** How much an estimate rests on. */
function countsOf({ rows, sizes }: Clusters): Pick<Estimate, "rows" | "clusters" | "effectiveClusters"> {
  const counts = { rows, clusters: sizes.length };
  const effective = effectiveClusters(sizes);
  return effective === sizes.length ? counts : { ...counts, effectiveClusters: effective };
}

function unbounded(clusters: Clusters, level: Level): Estimate {
  const half = halfWidth(clusters, level, false);
  return {
    value: clusters.mean,
    low: clusters.mean - half,
    high: clusters.mean + half,
    confidence: level.confidence,
    method: "cluster-t",
    ...countsOf(clusters),
  };
}

/**
 * Half the width by the variance that holds when the rows of a cluster are alike. A large cluster draws the mean to itself,
 * so each one's square counts 1 / (1 − its share of the rows): with clusters of one size that is count / (count − 1).
 * Source: the estimate CR2 of R. M. Bell and D. F. McCaffrey, "Bias reduction in standard errors for linear regression with
 * multi-stage samples", Survey Methodology 28 (2002), for a mean, with the degrees of freedom below.
 */
function halfWidth(
  { sums, sizes, rows, mean }: Omit<Clusters, "likeness">,
  { error }: Level,
  isBinary: boolean,
): number {
  let squares = 0;
  for (const [place, sum] of sums.entries()) {
    const size = sizes[place]!;
    squares += (sum - size * mean) ** 2 * (isBinary ? 1 : rows / (rows - size));
  }
  return squares === 0 ? 0 : (studentCritical(error, degreesOf(sizes)) * Math.sqrt(squares)) / rows;
}

function enough(clusters: Clusters): Clusters {
  const count = clusters.sums.length;
  if (count < 2) throw new DefinitionError(`An interval needs at least 2 clusters, not ${count}.`);
  return clusters;
}

function requireRange(rows: readonly Observation[], least: number, greatest: number, otherwise: string): void {
  requireFinite(least, "The low end of a range");
  requireFinite(greatest, "The high end of a range");
  if (least >= greatest) throw new DefinitionError(otherwise);
  for (const { value } of rows) {
    // A mean of repetitions may be off by what floating point rounds.
    const slack = rounding * (greatest - least);
    if (value < least - slack || value > greatest + slack) {
      throw new DefinitionError(`The value ${value} of a row is outside its range, ${least} to ${greatest}.`);
    }
  }
}
