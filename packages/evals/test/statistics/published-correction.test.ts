import { compiled } from "cephes";
import { expect, test } from "vitest";
import { correctedMean } from "../../src/statistics/index.ts";
import { studentCritical } from "../../src/statistics/quantiles.ts";
import { normalsOfR } from "./r-normals.ts";

await compiled;

// The example of `ppi_mean_test` in the reference of the R package pppower (https://yiqunchen.github.io/pppower), which
// implements Angelopoulos, Duchi and Zrnic, "PPI++" (2023): 100 rows with a label and 1,000 without one, after set.seed(123).
// It prints these numbers.
const published = { estimate: 0.5867406, lambda: 0.720832, standardError: 0.04983671 };
const [labels, others] = [100, 1_000];

const normals = normalsOfR(123);
const people = normals(labels).map((value) => 0.5 + value);
const judges = normals(labels).map((value, at) => people[at]! + value / 2);
const truths = normals(others).map((value) => 0.5 + value);
const judged = [...judges, ...normals(others).map((value, at) => truths[at]! + value / 2)];
const labelled = people.map((person, at) => ({ person, judge: judges[at]! }));

test("the numbers are those of R: rnorm(3) after set.seed(123)", () => {
  const [first, second, third] = people.map((value) => value - 0.5);
  // As R prints them.
  expect([first, second, third].map((value) => value?.toFixed(8))).toEqual([
    "-0.56047565",
    "-0.23017749",
    "1.55870831",
  ]);
});

test("STA-9 the corrected mean is the published one of PPI++", () => {
  expect(correctedMean(judged, labelled).value).toBeCloseTo(published.estimate, 7);
});

test("STA-9 its standard error is the published one, but for the judge's spread, which is that of all rows", () => {
  const { low, high } = correctedMean(judged, labelled);
  const { lambda, standardError } = published;
  // The package takes the spread of the labelled rows for that of the others.
  const wider = (lambda ** 2 * (variance(judged) - variance(judges))) / others;
  const error = Math.sqrt(standardError ** 2 + wider);
  expect((high - low) / 2 / studentCritical(0.05, labels - 1)).toBeCloseTo(error, 7);
});

function variance(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
}
