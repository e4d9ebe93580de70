import { DefinitionError } from "@proviso/core";
import { expect, test } from "vitest";
import { correctedMean } from "../../src/statistics/index.ts";
import { studentCritical } from "../../src/statistics/quantiles.ts";

const labelled = [
  { judge: 1, person: 1 },
  { judge: 1, person: 0 },
  { judge: 0, person: 0 },
  { judge: 0, person: 0 },
];
const judged = [1, 1, 0, 0, 1, 1, 1, 1, 0, 0];

// Angelopoulos, Duchi and Zrnic, "PPI++" (2023). By hand: the judge's covariance with people is half its own variance, so
// half of what the judge sees more in all rows than in the labelled ones is added: 0.25 + 0.5 × (0.6 − 0.5).
test("STA-9 a judge's mean is corrected by the rows that people judged, as much as it agrees with them", () => {
  const { value, method, rows } = correctedMean(judged, labelled);
  expect(value).toBeCloseTo(0.3, 12);
  expect(method).toBe("prediction-powered");
  expect(rows).toBe(10);
});

test("STA-9 the interval has the error of the labels and that of the rows without one", () => {
  const { low, high } = correctedMean(judged, labelled);
  const errors = [1 - 0.3, -0.3, 0, 0];
  const mean = 0.1;
  const ofLabels = errors.reduce((sum, error) => sum + (error - mean) ** 2, 0) / 3 / 4;
  const ofRows = (0.25 * 0.6 * (2.4 / 9)) / 10;
  expect((high - low) / 2).toBeCloseTo(studentCritical(0.05, 3) * Math.sqrt(ofLabels + ofRows), 12);
});

test("STA-9 a judge that always agrees has its own mean, and one that says the same of all has the people's", () => {
  const right = labelled.map(({ judge }) => ({ judge, person: judge }));
  expect(correctedMean(judged, right).value).toBeCloseTo(0.6, 12);
  const always = labelled.map(({ person }) => ({ judge: 1, person }));
  expect(
    correctedMean(
      Array.from({ length: 10 }, () => 1),
      always,
    ).value,
  ).toBe(0.25);
});

test("STA-9 a judge that contradicts people counts nothing", () => {
  const contrary = labelled.map(({ judge }) => ({ judge, person: 1 - judge }));
  expect(correctedMean(judged, contrary).value).toBe(0.5);
});

test("STA-9 a judge that shows less of a difference than people do counts once, and no more", () => {
  const timid = labelled.map(({ judge }) => ({ judge: 0.4 + 0.2 * judge, person: judge }));
  const seen = judged.map((judge) => 0.4 + 0.2 * judge);
  // People 0.5, and 0.52 − 0.5 of the judge's.
  expect(correctedMean(seen, timid).value).toBeCloseTo(0.52, 12);
});

test("STA-9 labels of all rows make the judge superfluous", () => {
  const all = [...labelled, { judge: 1, person: 1 }];
  const estimate = correctedMean(
    all.map(({ judge }) => judge),
    all,
  );
  expect(estimate.value).toBeCloseTo(0.4, 12);
  expect((estimate.high - estimate.low) / 2).toBeCloseTo(studentCritical(0.05, 4) * Math.sqrt(0.3 / 5), 12);
});

test("STA-9 too few labels, more labels than rows and numbers that are not finite are refused", () => {
  expect(() => correctedMean(judged, labelled.slice(0, 1))).toThrow(DefinitionError);
  expect(() => correctedMean([1, 0], labelled)).toThrow("4 rows have labels, but only 2 were judged.");
  expect(() => correctedMean([...judged, Number.NaN], labelled)).toThrow(DefinitionError);
  expect(() => correctedMean(judged, [...labelled, { judge: 1, person: Number.NaN }])).toThrow(DefinitionError);
});
