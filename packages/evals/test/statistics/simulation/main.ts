import { parseArgs } from "node:util";
import { differenceInterval, meanInterval, type Estimate, type Observation } from "../../../src/statistics/index.ts";
import {
  differentCells,
  equalCells,
  fallingCells,
  groupedCells,
  judges,
  largeGroupCells,
  pairedCells,
  plannedCells,
  plannedFewCells,
  rareCells,
  scoreCells,
  scoreFivesCells,
  someLargeCells,
} from "./cells.ts";
import { agreementCoverage, coverage, foundWithRowsNeeded, judgeCoverage, pilotSpread, withLooks } from "./measure.ts";
import type { World } from "./world.ts";

// pnpm simulate:statistics [--runs N] [--seed S] [--part NAME] [--cells]: the figures that the guide "Is it really better?"
// rests on, as a table. It exits 1 when one of them is beyond its bound.
const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "4000" },
    seed: { type: "string", default: "1" },
    part: { type: "string" },
    cells: { type: "boolean", default: false },
  },
});
const runs = Number(values.runs);
const seed = Number(values.seed);
if (!Number.isSafeInteger(runs) || runs < 1 || !Number.isSafeInteger(seed) || seed < 0) {
  console.error("simulate:statistics: --runs and --seed take whole numbers.");
  process.exit(2);
}
// Bounds of looks and of numbers of rows lie within one percent point of what is true, so their cells have more runs.
const manyRuns = 5 * runs;
const failures: string[] = [];
const startedAt = performance.now();

part("coverage", () => {
  heading("Coverage of intervals at 95 %", "cells | lowest | mean | below 94 %");
  const difference = (rows: Observation[]): Estimate => differenceInterval(rows, { span: 1 });
  const score = (rows: Observation[]): Estimate => meanInterval(rows, { range: [0, 1] });
  const all = [
    coverageRow("right or wrong, paired", pairedCells, difference),
    coverageRow("groups, repetitions, grades", groupedCells, difference),
    coverageRow("scores of one variant", scoreCells, score),
    coverageRow("one group is large, differences", largeGroupCells.differences, difference),
    coverageRow("one group is large, scores", largeGroupCells.scores, score),
  ].flat();
  const falling = [
    coverageRow("sizes of groups fall off, differences", fallingCells.differences, difference),
    coverageRow("sizes of groups fall off, scores", fallingCells.scores, score),
  ].flat();
  for (const share of falling) requireBetween("the coverage of groups whose sizes fall off", share, 0.9, 1);
  requireBetween("the mean coverage", all.reduce((sum, share) => sum + share, 0) / all.length, 0.95, 1);
  for (const share of all) requireBetween("the coverage of a cell", share, 0.92, 1);
  coverageRow("6 % of rows differ greatly (no bound)", rareCells, difference);
  coverageRow("2 to 5 groups have most rows, differences (no bound)", someLargeCells.differences, difference);
  coverageRow("2 to 5 groups have most rows, scores (no bound)", someLargeCells.scores, score);
  coverageRow("groups of 5, taken as single rows (no bound)", scoreFivesCells, (rows) =>
    meanInterval(
      rows.map(({ value }) => ({ value })),
      { range: [0, 1] },
    ),
  );
});

part("looks", () => {
  heading("Early stopping, nothing differs", "wrongly proven | without looks | rows run");
  equalCells.forEach((world, place) => {
    const { proven, provenAtEnd, rows } = withLooks([world], manyRuns, seed + 5_000 + place);
    requireBetween("false verdicts", proven, 0, 0.055);
    line(world.name, percent(proven), percent(provenAtEnd), percent(rows));
  });
  heading("Early stopping, a difference is there", "proven | without looks | rows run");
  differentCells.forEach((world, place) => {
    const { proven, provenAtEnd, rows } = withLooks([world], manyRuns, seed + 6_000 + place);
    requireBetween("the power that looks cost", provenAtEnd - proven, -1, 0.03);
    line(world.name, percent(proven), percent(provenAtEnd), percent(rows));
  });
});

part("variants", () => {
  heading("8 equal variants, early stopping", "some wrongly proven | without looks | rows run");
  [equalCells[0]!, equalCells[2]!, equalCells[7]!].forEach((world, place) => {
    const eight = Array.from({ length: 8 }, () => world);
    const { proven, provenAtEnd, rows } = withLooks(eight, runs, seed + 7_000 + place);
    requireBetween("false verdicts of 8 variants", proven, 0, 0.055);
    line(world.name, percent(proven), percent(provenAtEnd), percent(rows));
  });
});

part("rows", () => {
  heading("Rows by `rowsNeeded` for a power of 80 %", "groups | found");
  plannedCells.forEach((world, place) => {
    const { share, groups } = foundWithRowsNeeded(world, manyRuns, seed + 8_000 + 2 * place);
    requireBetween("the power of rowsNeeded", share, 0.78, 0.83);
    line(world(groups).name, `${groups}`, percent(share));
  });
  heading("`rowsNeeded` of 100 rows beside that of a large pilot", "1 in 20 below | 1 in 20 above");
  [plannedCells[0]!, plannedCells[1]!, plannedCells[2]!].forEach((world, place) => {
    const { low, high } = pilotSpread(world, 100, manyRuns, seed + 8_700 + 2 * place);
    line(world(100).name, percent(low), percent(high));
  });
  heading("Rows by `rowsNeeded`, few clusters and for grades (no bound)", "groups | found");
  plannedFewCells.forEach((world, place) => {
    const { share, groups } = foundWithRowsNeeded(world, manyRuns, seed + 8_500 + 2 * place);
    line(world(groups).name, `${groups}`, percent(share));
  });
});

part("judges", () => {
  heading("A judge's mean, 1,000 rows", "labels | uncorrected | corrected | width beside labels alone");
  judges.forEach((judge, place) => {
    for (const labels of [100, 200]) {
      const found = judgeCoverage(judge, labels, runs, seed + 9_000 + 10 * place + labels);
      requireBetween("the coverage of a corrected mean", found.corrected, 0.92, 1);
      line(judge.name, `${labels}`, percent(found.uncorrected), percent(found.corrected), percent(found.width));
    }
  });
  heading("Agreement, 7 of 10 good", "labels | kappa | AC1 | observed | sensitivity | specificity");
  judges.forEach((judge, place) => {
    for (const labels of [50, 200]) {
      const found = agreementCoverage(judge, 0.7, labels, runs, seed + 9_500 + 10 * place + labels);
      const shares = [found.kappa, found.ac1, found.observed, found.sensitivity, found.specificity];
      // Few labels are reported without a bound: the jackknife is a little too narrow then.
      if (labels >= 100) for (const share of shares) requireBetween("the coverage of an agreement", share, 0.92, 1);
      line(judge.name, `${labels}`, ...shares.map(percent));
    }
  });
});

console.log(
  `\n${runs} runs a cell (${manyRuns} for looks and numbers of rows), seed ${seed}, ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`,
);
for (const failure of failures) console.error(`simulate:statistics: ${failure}`);
process.exitCode = failures.length === 0 ? 0 : 1;

function part(name: string, run: () => void): void {
  if (values.part === undefined || values.part === name) run();
}

function coverageRow(name: string, cells: readonly World[], interval: (rows: Observation[]) => Estimate): number[] {
  const shares = cells.map((world, place) => coverage(world, interval, runs, seed + cells.length * 100 + place));
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const below = shares.filter((share) => share < 0.94).length;
  line(name, `${cells.length}`, percent(Math.min(...shares)), percent(mean), `${below}`);
  cells.forEach((world, place) => {
    if (values.cells) console.log(`  ${world.name}: ${percent(shares[place]!)}`);
  });
  return shares;
}

function requireBetween(what: string, share: number, least: number, most: number): void {
  if (share < least || share > most)
    failures.push(`${what} is ${percent(share)}, not ${percent(least)} to ${percent(most)}`);
}

function heading(title: string, columns: string): void {
  const names = columns.split(" | ");
  console.log(`\n| ${title} | ${columns} |\n|---|${names.map(() => "---:|").join("")}`);
}

function line(name: string, ...cells: string[]): void {
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
