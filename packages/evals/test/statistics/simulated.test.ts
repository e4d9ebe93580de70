import { expect, test } from "vitest";
import { differenceInterval, meanInterval } from "../../src/statistics/index.ts";
import { coverage, foundWithRowsNeeded, judgeCoverage, withLooks } from "./simulation/measure.ts";
import { leaningWorld, pairedWorld, ratesWorld, scoreWorld } from "./simulation/world.ts";

// Small and seeded; `pnpm simulate:statistics` runs all cells. A bound is four standard errors from what it measures.
test("STA-1 intervals of 95 % hold the truth of paired answers, with groups and without", () => {
  const worlds = [
    pairedWorld({ groups: 20, rates: [0.95, 0.99], pairing: 0.8 }),
    pairedWorld({ groups: 50, rates: [0.8, 0.8], pairing: 0.2 }),
    pairedWorld({ groups: 40, groupSize: 5, rates: [0.75, 0.85], pairing: 0.5, repetitions: 3 }),
  ];
  worlds.forEach((world, place) =>
    expect(coverage(world, (rows) => differenceInterval(rows, { span: 1 }), 500, place)).toBeGreaterThan(0.915),
  );
});

test("STA-1 rows of a group that are taken as independent have intervals that miss", () => {
  const world = scoreWorld(40, 5, 0.8);
  const alone = coverage(
    world,
    (rows) =>
      meanInterval(
        rows.map(({ value }) => ({ value })),
        { range: [0, 1] },
      ),
    400,
    1,
  );
  const inGroups = coverage(world, (rows) => meanInterval(rows, { range: [0, 1] }), 400, 1);
  expect(alone).toBeLessThan(0.89);
  expect(inGroups).toBeGreaterThan(0.91);
});

test.each([
  [30, 100],
  [40, 200],
  [100, 500],
])("STA-1 intervals hold the truth where one of %i groups has %i rows and the others 5", (groups, large) => {
  const size = { large, times: 1 };
  const difference = coverage(leaningWorld(groups, size), (rows) => differenceInterval(rows, { span: 1 }), 300, 1);
  const score = coverage(ratesWorld(groups, size), (rows) => meanInterval(rows, { range: [0, 1] }), 300, 1);
  expect(Math.min(difference, score)).toBeGreaterThan(0.92);
});

test.each([
  [100, 0.9, 1],
  [200, 0.95, 1],
  [200, 0.8, 0.5],
])(
  "STA-1 intervals hold the truth of %i groups whose sizes fall off, %f right, %f of it by group",
  (groups, rate, share) => {
    const world = scoreWorld(groups, "falling", rate, share);
    // Without larger added clusters it is 76 to 88 %.
    expect(coverage(world, (rows) => meanInterval(rows, { range: [0, 1] }), 400, 1)).toBeGreaterThan(0.9);
  },
);

test("STA-5 early looks at variants that do not differ prove no more than one look", () => {
  const { proven } = withLooks([pairedWorld({ groups: 200, rates: [0.8, 0.8], pairing: 0.5 })], 300, 1);
  expect(proven).toBeLessThan(0.09);
});

test("STA-5 early looks save rows where there is a difference, and hardly any power", () => {
  const { proven, provenAtEnd, rows } = withLooks(
    [pairedWorld({ groups: 300, rates: [0.7, 0.85], pairing: 0.5 })],
    100,
    1,
  );
  expect(provenAtEnd - proven).toBeLessThan(0.03);
  expect(rows).toBeLessThan(0.6);
});

test("STA-3 of 8 equal variants none is proven more often than the error rate allows", () => {
  const world = pairedWorld({ groups: 60, rates: [0.8, 0.8], pairing: 0.5 });
  expect(
    withLooks(
      Array.from({ length: 8 }, () => world),
      200,
      1,
    ).proven,
  ).toBeLessThan(0.08);
});

test("STA-6 the rows that are asked for find the difference in 8 of 10 runs", () => {
  const { share } = foundWithRowsNeeded((groups) => pairedWorld({ groups, rates: [0.7, 0.8], pairing: 0.2 }), 500, 1);
  expect(share).toBeGreaterThan(0.73);
  expect(share).toBeLessThan(0.87);
});

test("STA-9 a lenient judge misleads until 100 labels correct it", () => {
  const { uncorrected, corrected } = judgeCoverage({ passesGood: 0.97, passesBad: 0.4 }, 100, 150, 1);
  expect(uncorrected).toBeLessThan(0.02);
  expect(corrected).toBeGreaterThan(0.88);
});
