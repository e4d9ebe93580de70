import { clustersOf, degreesOf, effectiveClusters, likeRows } from "./clusters.ts";
import type { Estimate, Level } from "./estimate.ts";
import { studentCritical } from "./quantiles.ts";

/** A row that a judge scored, and people where it has a label. */
export interface JudgedRow {
  /** Rows that share a text here are one cluster. A row without one is a cluster of its own. */
  readonly cluster?: string | undefined;
  /** The mean of the judge's scores of the row's answers; 0 where none was answered. */
  readonly judge: number;
  /** The share of its attempts that were answered. */
  readonly answered: number;
  /** What its failures add to the row's mean: their scores, divided by the number of attempts. */
  readonly failed: number;
  /** What both gave those answers that have a label. */
  readonly label?: LabelledPart | undefined;
}

/** The labelled answers of a row. */
interface LabelledPart {
  /** The mean of the judge's scores. */
  readonly judge: number;
  /** The mean of people's scores. */
  readonly person: number;
  /**
   * The share of the row's attempts that gave these answers. People see each different answer once, so that a rare one is
   * drawn as often as a common one: counted alike, the rare ones would speak for more attempts than gave them.
   */
  readonly share: number;
}

/**
 * The mean that people would have given, for rows in clusters of which some failed: `correctedMean` for a report (EVL-18).
 * A failure is known without a person, and a label counts as much as attempts gave its answer: the error of the judge is the
 * ratio of what the labelled attempts differ to how many they are. The variance is that of the clusters' sums of what each
 * row adds to the error, and, as in all intervals (STA-1), one more label, or as many as stand together in a cluster, is at
 * either side, as far away as the one that differs most, so that a judge whom few labels never contradict is not taken for
 * infallible.
 */
export function correctedWithin(rows: readonly JudgedRow[], level: Level, range: readonly [number, number]): Estimate {
  return estimated(partsOf(rows, Math.abs(range[1] - range[0])), level, range);
}

/**
 * The difference of two such means on the same rows, in the same order: variant less baseline (EVL-18). What both add to
 * the error of a cluster is subtracted before it is squared, so that what makes a row hard for both does not count.
 */
export function correctedDifference(
  variant: readonly JudgedRow[],
  baseline: readonly JudgedRow[],
  level: Level,
  span: number,
): Estimate {
  const [own, other] = [partsOf(variant, span), partsOf(baseline, span)];
  const sums = new Map(own.sums);
  for (const [cluster, sum] of other.sums) sums.set(cluster, (sums.get(cluster) ?? 0) - sum);
  const both: Parts = {
    value: own.value - other.value,
    sums,
    added: own.added + other.added,
    degrees: Math.min(own.degrees, other.degrees),
    rows: own.rows,
    effective: own.effective,
  };
  return estimated(both, level, [-span, span]);
}

/** A corrected mean, and what its error is made of. */
interface Parts {
  readonly value: number;
  /** What the rows of each cluster add to the error. */
  readonly sums: ReadonlyMap<string | number, number>;
  /** The square of what the added labels add. */
  readonly added: number;
  /** The degrees of freedom of what the labels say. */
  readonly degrees: number;
  readonly rows: number;
  /** How many clusters of one size say as much as those of the rows. */
  readonly effective: number;
}

function partsOf(rows: readonly JudgedRow[], span: number): Parts {
  const labels = rows.flatMap(({ label }) => (label === undefined ? [] : [label]));
  const shares = labels.reduce((sum, { share }) => sum + share, 0);
  const weight = weightOf(labels);
  const errorOf = (label: LabelledPart): number => label.person - weight * label.judge;
  const bias = weightedMean(labels, errorOf);
  const answered = mean(rows.map((row) => row.answered));
  const parts = rows.map((row) => row.answered * (weight * row.judge + bias) + row.failed);
  const value = mean(parts);

  const sums = new Map<string | number, number>();
  const sizes = new Map<string | number, number>();
  const labelsOf = new Map<string | number, number>();
  for (const [place, { cluster = place, label }] of rows.entries()) {
    const fromLabel = label === undefined ? 0 : (answered * label.share * (errorOf(label) - bias)) / shares;
    sums.set(cluster, (sums.get(cluster) ?? 0) + (parts[place]! - value) / rows.length + fromLabel);
    sizes.set(cluster, (sizes.get(cluster) ?? 0) + 1);
    if (label !== undefined) labelsOf.set(cluster, (labelsOf.get(cluster) ?? 0) + label.share);
  }
  const farthest = labels.reduce((most, label) => Math.max(most, Math.abs(errorOf(label) - bias)), 0);
  const size = likeRows(
    clustersOf(rows.flatMap(({ cluster, label }) => (label === undefined ? [] : [{ value: errorOf(label), cluster }]))),
  );
  const added = 2 * ((answered * size * (farthest === 0 ? span : farthest)) / labels.length) ** 2;
  return {
    value,
    sums,
    added,
    degrees: degreesOf([...labelsOf.values()]),
    rows: rows.length,
    effective: effectiveClusters([...sizes.values()]),
  };
}

function estimated(
  { value, sums, added, degrees, rows, effective }: Parts,
  level: Level,
  range: readonly [number, number],
): Estimate {
  const squares = [...sums.values()].reduce((sum, part) => sum + part ** 2, added);
  const half = studentCritical(level.error, degrees) * Math.sqrt((squares * (degrees + 1)) / degrees);
  const cut = (end: number): number => Math.min(Math.max(...range), Math.max(Math.min(...range), end));
  return {
    value: cut(value),
    low: cut(value - half),
    high: cut(value + half),
    confidence: level.confidence,
    method: "prediction-powered",
    rows,
    clusters: sums.size,
    ...(effective === sums.size ? {} : { effectiveClusters: effective }),
  };
}

/** How much the judge counts: as much as it agrees with people, from 0 to 1. */
function weightOf(labelled: readonly LabelledPart[]): number {
  const judge = weightedMean(labelled, (label) => label.judge);
  const person = weightedMean(labelled, (label) => label.person);
  let both = 0;
  let own = 0;
  for (const label of labelled) {
    both += label.share * (label.judge - judge) * (label.person - person);
    own += label.share * (label.judge - judge) ** 2;
  }
  return own === 0 ? 0 : Math.min(1, Math.max(0, both / own));
}

/** The mean over the labelled attempts. */
function weightedMean(labelled: readonly LabelledPart[], valueOf: (label: LabelledPart) => number): number {
  let [sum, shares] = [0, 0];
  for (const label of labelled) {
    sum += label.share * valueOf(label);
    shares += label.share;
  }
  return sum / shares;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
