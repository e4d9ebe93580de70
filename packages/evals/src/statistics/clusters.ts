import { type Observation, requireFinite, rounding } from "./estimate.ts";

/** Rows summed up by cluster, in the order in which clusters first appear. */
export interface Clusters {
  readonly rows: number;
  /** The sum of each cluster's values. */
  readonly sums: readonly number[];
  /** The number of each cluster's rows. */
  readonly sizes: readonly number[];
  readonly mean: number;
}

/** Values that add up to nothing but what floating point rounds have the sum 0. @throws {DefinitionError} for a value that is not finite. */
export function clustersOf(rows: readonly Observation[]): Clusters {
  const sums: number[] = [];
  const sizes: number[] = [];
  const amounts: number[] = [];
  const places = new Map<string, number>();
  let total = 0;
  for (const { value, cluster } of rows) {
    requireFinite(value, "The value of a row");
    total += value;
    const known = cluster === undefined ? undefined : places.get(cluster);
    if (known !== undefined) {
      sums[known] = sums[known]! + value;
      sizes[known] = sizes[known]! + 1;
      amounts[known] = amounts[known]! + Math.abs(value);
      continue;
    }
    if (cluster !== undefined) places.set(cluster, sums.length);
    sums.push(value);
    sizes.push(1);
    amounts.push(Math.abs(value));
  }
  for (let place = 0; place < sums.length; place++) {
    if (Math.abs(sums[place]!) <= rounding * amounts[place]!) sums[place] = 0;
  }
  return { rows: rows.length, sums, sizes, mean: total / rows.length };
}

/** The sum of squares of what clusters' sums differ from what they would be if each had this mean. */
export function squaresAround(mean: number, { sums, sizes }: Clusters): number {
  let squares = 0;
  for (let place = 0; place < sums.length; place++) squares += (sums[place]! - sizes[place]! * mean) ** 2;
  return squares;
}
