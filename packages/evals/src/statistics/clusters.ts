import { type Observation, requireFinite, rounding } from "./estimate.ts";

/** What floating point rounds of a square, as a share of it. */
const noise = 1e-24;

/** Rows summed up by cluster, in the order in which clusters first appear. */
export interface Clusters {
  readonly rows: number;
  /** The sum of each cluster's values. */
  readonly sums: readonly number[];
  /** The number of each cluster's rows. */
  readonly sizes: readonly number[];
  readonly mean: number;
  /** How alike the rows of a cluster are, from 0 to 1: their intraclass correlation. 0 where nothing differs. */
  readonly likeness: number;
}

/** Values that add up to nothing but what floating point rounds have the sum 0. @throws {DefinitionError} for a value that is not finite. */
export function clustersOf(rows: readonly Observation[]): Clusters {
  const sums: number[] = [];
  const sizes: number[] = [];
  const amounts: number[] = [];
  const places = new Map<string, number>();
  // The squares of values that lie far from 0 say nothing of how they differ: deviations from the first one do.
  const first = rows[0]?.value ?? 0;
  const deviations: number[] = [];
  let [total, squares, deviation] = [0, 0, 0];
  for (const { value, cluster } of rows) {
    requireFinite(value, "The value of a row");
    total += value;
    squares += value * value;
    deviation += (value - first) ** 2;
    const known = cluster === undefined ? undefined : places.get(cluster);
    if (known !== undefined) {
      sums[known] = sums[known]! + value;
      sizes[known] = sizes[known]! + 1;
      amounts[known] = amounts[known]! + Math.abs(value);
      deviations[known] = deviations[known]! + value - first;
      continue;
    }
    if (cluster !== undefined) places.set(cluster, sums.length);
    sums.push(value);
    sizes.push(1);
    amounts.push(Math.abs(value));
    deviations.push(value - first);
  }
  for (let place = 0; place < sums.length; place++) {
    if (Math.abs(sums[place]!) <= rounding * amounts[place]!) sums[place] = 0;
  }
  const likeness = deviation <= noise * squares ? 0 : likenessOf(deviation, deviations, sizes);
  return { rows: rows.length, sums, sizes, mean: total / rows.length, likeness };
}

/**
 * Returns one less the variance within clusters as a share of that of all their rows: the analysis of variance, of clusters
 * that have more than one row.
 */
function likenessOf(squares: number, sums: readonly number[], sizes: readonly number[]): number {
  let [rows, count, total, all, between] = [0, 0, 0, squares, 0];
  for (const [place, size] of sizes.entries()) {
    const sum = sums[place]!;
    if (size === 1) {
      all -= sum ** 2;
      continue;
    }
    rows += size;
    count += 1;
    total += sum;
    between += sum ** 2 / size;
  }
  const spread = all - total ** 2 / rows;
  if (rows === 0 || spread <= rounding * all) return 0;
  return Math.min(1, Math.max(0, 1 - (all - between) / (rows - count) / (spread / (rows - 1))));
}

/**
 * The size of one more cluster: the average one, or more where a few large ones whose rows are alike decide the mean, which
 * one of average size would not move.
 */
export function addedSize(clusters: Clusters): number {
  return Math.max(clusters.rows / clusters.sizes.length, likeRows(clusters));
}

/**
 * How many rows of a cluster stand together: 1 where they are not alike, and where they are the size that the cluster of a
 * row has on average, Σn²/Σn. Between both √ρ says how far, the correlation of a row with what its cluster shares.
 */
export function likeRows({ rows, sizes, likeness }: Clusters): number {
  return 1 + Math.sqrt(likeness) * (rows / effectiveClusters(sizes) - 1);
}

/**
 * How many clusters of one size say as much as these: (Σn)² / Σn², their number where they have one size. Source: L. Kish,
 * "Survey Sampling" (1965), the effective number under unequal weights.
 */
export function effectiveClusters(sizes: readonly number[]): number {
  const [first] = sizes;
  if (sizes.every((size) => size === first)) return sizes.length;
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return total ** 2 / sizes.reduce((sum, size) => sum + size ** 2, 0);
}

/**
 * The degrees of freedom of the variance of a mean by Satterthwaite's approximation, as Bell and McCaffrey (2002) have them
 * for rows that are alike in their variance: 1 / (Σp² + (Σp²/(1 − p))² − Σp⁴/(1 − p)²) with the share p of a cluster. With
 * clusters of one size they are one less than there are.
 */
export function degreesOf(sizes: readonly number[]): number {
  const [first] = sizes;
  if (sizes.every((size) => size === first)) return sizes.length - 1;
  const rows = sizes.reduce((sum, size) => sum + size, 0);
  let [own, both, twice] = [0, 0, 0];
  for (const size of sizes) {
    const share = size / rows;
    const corrected = share ** 2 / (1 - share);
    own += share ** 2;
    both += corrected;
    twice += corrected ** 2;
  }
  return 1 / (own + both ** 2 - twice);
}

/** The sum of squares of what clusters' sums differ from what they would be if each had this mean. */
export function squaresAround(mean: number, { sums, sizes }: Clusters): number {
  let squares = 0;
  for (let place = 0; place < sums.length; place++) squares += (sums[place]! - sizes[place]! * mean) ** 2;
  return squares;
}
