import { DefinitionError } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { clustersOf, squaresAround } from "./clusters.ts";
import { levelOf, requireFinite, type Observation } from "./estimate.ts";
import { normalCritical } from "./quantiles.ts";

/**
 * The number of rows in all that finds a true difference of `size`, judged by the differences of these rows (STA-6). With
 * groups it is the number of groups that are needed, times the rows of a group. From few rows the figure is rough: from 100
 * it is off by 30 % as often as not.
 *
 * @param rows Paired differences, as `differenceInterval` takes them.
 * @param options `power` is the chance to find the difference, 0.8 unless set; `confidence` is 0.95 unless set.
 * @throws {DefinitionError} for fewer than 2 clusters, clusters that are all alike and so say nothing of others, a value or a size that is not finite, a size of 0, or a power or
 *   confidence that is not between 0 and 1.
 */
export function rowsNeeded(
  rows: readonly Observation[],
  size: number,
  options: { readonly power?: number; readonly confidence?: number } = {},
): number {
  const needed = rowsToFind(rows, size, options);
  if (needed !== undefined) return needed;
  throw new DefinitionError(
    "These differences are all alike, so they do not say how far others are apart: more rows are needed.",
  );
}

/** Like `rowsNeeded`; undefined where the clusters are all alike. */
export function rowsToFind(...[rows, size, options = {}]: Parameters<typeof rowsNeeded>): number | undefined {
  const { error } = levelOf(options.confidence);
  const power = options.power ?? 0.8;
  if (!(power > 0 && power < 1))
    throw new DefinitionError(`A power must be between 0 and 1, not ${describeValue(power)}.`);
  requireFinite(size, "The size of a difference");
  if (size === 0) throw new DefinitionError("The size of a difference must not be 0: no number of rows finds none.");
  const clusters = clustersOf(rows);
  const count = clusters.sums.length;
  if (count < 2) throw new DefinitionError(`A number of rows is judged by at least 2 clusters, not ${count}.`);
  const rowsOfOne = clusters.rows / count;
  const variance = squaresAround(clusters.mean, clusters) / (count - 1) / rowsOfOne ** 2;
  if (!(variance > (Number.EPSILON * clusters.mean) ** 2)) return undefined;
  const needed = Math.ceil(((normalCritical(error / 2) + normalCritical(1 - power)) ** 2 * variance) / size ** 2);
  return Math.ceil(needed * rowsOfOne);
}
