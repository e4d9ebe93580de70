// Estimates and differences of one number a row.
import { rounding, type Estimate, type Level } from "../statistics/estimate.ts";
import { isProven } from "../statistics/gates.ts";
import { differenceWithin, meanWithin } from "../statistics/intervals.ts";
import { rowsToFind } from "../statistics/rows-needed.ts";
import type { Difference } from "../results.ts";
import type { RowValue, RowValues } from "./view.ts";

/** undefined: fewer than two clusters have a number. */
export function estimateOf(
  { values }: RowValues,
  level: Level,
  range: readonly [number, number] | undefined,
): Estimate | undefined {
  return hasClusters(values) ? meanWithin(values, level, range) : undefined;
}

/** Whether there are enough for an interval. */
export function hasClusters(rows: readonly RowValue[]): boolean {
  const [first] = rows;
  return rows.length > 1 && (first?.cluster === undefined || rows.some(({ cluster }) => cluster !== first.cluster));
}

/** The numbers of both sides, as they are and with failures of the surroundings counted for and against the variant. */
export interface Sides {
  readonly scored: { readonly variant: RowValues; readonly baseline: RowValues };
  readonly worst: { readonly variant: RowValues; readonly baseline: RowValues };
  readonly best: { readonly variant: RowValues; readonly baseline: RowValues };
}

/** undefined: fewer than two clusters have both numbers. */
export function differenceOf(
  sides: Sides,
  level: Level,
  of: { readonly range?: readonly [number, number] | undefined; readonly lessIsBetter: boolean },
): Difference | undefined {
  const span = of.range === undefined ? undefined : Math.abs(of.range[1] - of.range[0]);
  const { variant, baseline } = sides.scored;
  const rows = paired(variant, baseline, span);
  const worst = estimated(sides.worst, level, span);
  const best = estimated(sides.best, level, span);
  if (!hasClusters(rows) || worst === undefined || best === undefined) return undefined;
  const estimate = differenceWithin(rows, level, span);
  const sign = of.lessIsBetter ? -1 : 1;
  const wins = rows.filter(({ value }) => value * sign > 0).length;
  const losses = rows.filter(({ value }) => value * sign < 0).length;
  return {
    ...estimate,
    wins,
    losses,
    ties: rows.length - wins - losses,
    rowsToSettle: isProven(estimate) ? undefined : rowsToSettle(rows, estimate),
    unpaired: unpaired(variant, baseline),
    bounds: { worst, best },
  };
}

/** undefined: it is not known. As many as there are did not settle it, and rows that are all alike say nothing of others. */
function rowsToSettle(rows: readonly RowValue[], { value, confidence }: Estimate): number | undefined {
  const needed = value === 0 ? undefined : rowsToFind(rows, value, { confidence });
  return needed !== undefined && needed > rows.length ? needed : undefined;
}

function estimated(
  { variant, baseline }: Sides["scored"],
  level: Level,
  span: number | undefined,
): Estimate | undefined {
  const rows = paired(variant, baseline, span);
  return hasClusters(rows) ? differenceWithin(rows, level, span) : undefined;
}

/** Means of the same repetitions in another order differ by what floating point rounds: that is no difference. */
function paired(variant: RowValues, baseline: RowValues, span: number | undefined): readonly RowValue[] {
  const others = byId(baseline);
  const rows: RowValue[] = [];
  for (const { id, value, hash, cluster } of variant.values) {
    const other = others.get(id);
    if (other === undefined || other.hash !== hash) continue;
    const difference = value - other.value;
    const least = rounding * (span ?? Math.max(Math.abs(value), Math.abs(other.value)));
    rows.push({ id, value: Math.abs(difference) <= least ? 0 : difference, hash, cluster });
  }
  return rows;
}

function byId({ values }: RowValues): ReadonlyMap<string, RowValue> {
  return new Map(values.map((value) => [value.id, value]));
}

/** How many rows have no number of the other side, or another content there. */
export function unpaired(variant: RowValues, baseline: RowValues): Difference["unpaired"] {
  const counts = { changed: 0, onlyBaseline: 0, onlyVariant: 0, unscored: 0 };
  const [own, others] = [byId(variant), byId(baseline)];
  for (const { id, hash } of variant.values) {
    const other = others.get(id);
    if (other === undefined) counts[baseline.unscored.has(id) ? "unscored" : "onlyVariant"] += 1;
    else if (other.hash !== hash) counts.changed += 1;
  }
  for (const { id } of baseline.values) {
    if (!own.has(id)) counts[variant.unscored.has(id) ? "unscored" : "onlyBaseline"] += 1;
  }
  for (const id of variant.unscored) if (baseline.unscored.has(id)) counts.unscored += 1;
  return counts;
}
