import { DefinitionError } from "@proviso/core";
import { levelOf, requireFinite, type Estimate } from "./estimate.ts";
import { studentCritical } from "./quantiles.ts";

/**
 * The mean that people would have given: a judge's mean over all rows, corrected by the rows that people judged (EVL-18).
 * The judge counts as much as it agrees with people, so that one who guesses does no harm. Angelopoulos, Duchi and Zrnic,
 * "PPI++: efficient prediction-powered inference" (2023), for a sample that is part of all rows.
 * The published example that it is checked against is that of `ppi_mean_test` in the R package pppower.
 *
 * @param judged The judge's score of every row, the labelled ones too.
 * @param labelled The rows that people judged. They were drawn from `judged` at random.
 * @param options `confidence` is 0.95 unless set.
 * @returns an estimate with "prediction-powered"; it is not cut at a range.
 * @throws {DefinitionError} for fewer than 2 labelled rows, more of them than judged ones, a score that is not finite, or a
 *   confidence that is not between 0 and 1.
 */
export function correctedMean(
  judged: readonly number[],
  labelled: readonly { readonly judge: number; readonly person: number }[],
  options: { readonly confidence?: number } = {},
): Estimate {
  const { confidence, error } = levelOf(options.confidence);
  const all = judged.length;
  const count = labelled.length;
  if (count < 2) throw new DefinitionError(`A correction needs at least 2 rows that people judged, not ${count}.`);
  if (count > all) throw new DefinitionError(`${count} rows have labels, but only ${all} were judged.`);
  for (const score of judged) requireFinite(score, "The score of a judge");
  for (const { judge, person } of labelled) {
    requireFinite(judge, "The score of a judge");
    requireFinite(person, "The verdict of a person");
  }
  const judges = labelled.map(({ judge }) => judge);
  const people = labelled.map(({ person }) => person);
  const spread = covariance(judges, judges);
  const weight = spread === 0 ? 0 : Math.min(1, Math.max(0, covariance(judges, people) / spread));
  const value = mean(people) + weight * (mean(judged) - mean(judges));

  // The rows without a label are the part of the judge's mean that does not depend on the labelled rows.
  const rest = (all - count) / all;
  const errors = people.map((person, place) => person - weight * rest * judges[place]!);
  const variance = covariance(errors, errors) / count + (weight ** 2 * rest * covariance(judged, judged)) / all;
  const half = studentCritical(error, count - 1) * Math.sqrt(variance);
  return {
    value,
    low: value - half,
    high: value + half,
    confidence,
    method: "prediction-powered",
    rows: all,
    clusters: all,
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function covariance(first: readonly number[], second: readonly number[]): number {
  const [a, b] = [mean(first), mean(second)];
  return first.reduce((sum, value, place) => sum + (value - a) * (second[place]! - b), 0) / (first.length - 1);
}
