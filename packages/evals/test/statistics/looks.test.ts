import { DefinitionError } from "@proviso/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { lookBoundaries } from "../../src/statistics/index.ts";
import { levelAtLook, plannedLooks } from "../../src/statistics/looks.ts";
import { normalCritical } from "../../src/statistics/quantiles.ts";
import { randomFrom } from "./simulation/world.ts";

// The values that the program of Reboussin, DeMets, Kim and Lan (Controlled Clinical Trials 21, 2000) and R's ldbounds print
// for five looks at equal distances, two-sided, 0.05.
test("STA-5 five looks have the published critical values of Lan and DeMets", () => {
  const boundaries = lookBoundaries([0.2, 0.4, 0.6, 0.8, 1], 0.95);
  [4.8769, 3.357, 2.6803, 2.2898, 2.031].forEach((published, place) =>
    expect(boundaries[place]).toBeCloseTo(published, 3.5),
  );
});

test("STA-5 a single look at all rows has the plain critical value", () => {
  expect(lookBoundaries([1], 0.95)[0]).toBeCloseTo(1.959964, 6);
  expect(lookBoundaries([1], 1 - 0.05 / 8)[0]).toBeCloseTo(normalCritical(0.05 / 16), 9);
});

test("STA-5 an early look costs the last one hardly anything", () => {
  expect(lookBoundaries([0.1, 1], 0.95)[1]).toBeCloseTo(1.959964, 5);
});

test("STA-5 paths that do not drift cross the boundaries as often as the error rate says", () => {
  const fractions = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
  const boundaries = lookBoundaries(fractions, 0.9);
  const random = randomFrom(7);
  let crossed = 0;
  const paths = 20_000;
  for (let path = 0; path < paths; path++) {
    let sum = 0;
    const crosses = fractions.some((fraction, place) => {
      // Twelve uniform numbers less 6 are nearly normal.
      let normal = -6;
      for (let draw = 0; draw < 12; draw++) normal += random();
      sum += normal * Math.sqrt(0.1);
      return Math.abs(sum) / Math.sqrt(fraction) >= boundaries[place]!;
    });
    if (crosses) crossed++;
  }
  expect(crossed / paths).toBeGreaterThan(0.093);
  expect(crossed / paths).toBeLessThan(0.107);
});

test("STA-5 critical values fall from look to look, and stay above the plain one", () => {
  const steps = fc.uniqueArray(fc.integer({ min: 1, max: 19 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(steps, (places) => {
      const fractions = [...places.toSorted((a, b) => a - b).map((place) => place / 20), 1];
      const boundaries = lookBoundaries(fractions, 0.95);
      // Looks that nearly coincide have nearly one value; only those a tenth apart must fall.
      boundaries.forEach((boundary, at) => {
        expect(boundary).toBeGreaterThanOrEqual(normalCritical(0.025) - 1e-6);
        const before = fractions.findLastIndex((fraction) => fraction <= fractions[at]! - 0.1);
        if (before !== -1) expect(boundaries[before]).toBeGreaterThan(boundary);
      });
    }),
    { numRuns: 20, seed: 1 },
  );
});

test("STA-5 looks so early that no error is left to spend never end a run", () => {
  expect(lookBoundaries([0.001, 1], 0.95)).toEqual([expect.any(Number), expect.closeTo(1.959964, 5)]);
  expect(lookBoundaries([0.001, 0.002, 1], 0.95)[0]).toBeGreaterThan(30);
});

test("STA-5 shares that do not increase up to 1, or hardly do, are refused", () => {
  for (const fractions of [[0.5, 0.5], [0.5, 0.5 + 1e-10, 1], [0.5, 0.4], [0, 1], [0.5, 1.1], [Number.NaN]]) {
    expect(() => lookBoundaries(fractions, 0.95)).toThrow(DefinitionError);
  }
  expect(() => lookBoundaries([1], 95)).toThrow(DefinitionError);
});

test("STA-5 a look that adds next to nothing has about the limit of the one before it", () => {
  const [first, second, last] = lookBoundaries([0.5, 0.5 + 1e-6, 1], 0.95);
  expect(second).toBeCloseTo(first ?? 0, 1);
  expect(second).toBeGreaterThan(first ?? 0);
  expect(last).toBeCloseTo(1.9686, 3);
});

test("STA-5 an interval at a look has the level of its critical value, and keeps its confidence", () => {
  const { confidence, error } = levelAtLook(2.5758293, 0.95);
  expect(error).toBeCloseTo(0.01, 8);
  expect(confidence).toBe(0.95);
});

test("STA-5 looks come after each tenth of the rows", () => {
  const looks = plannedLooks(Array.from({ length: 400 }, () => 1));
  expect(looks.map(({ rows }) => rows)).toEqual([40, 80, 120, 160, 200, 240, 280, 320, 360, 400]);
  expect(looks.at(-1)).toEqual({ clusters: 400, rows: 400, fraction: 1 });
});

test("STA-5 no look comes before 20 clusters, but the last does", () => {
  expect(plannedLooks(Array.from({ length: 50 }, () => 1)).map(({ rows }) => rows)).toEqual([
    20, 25, 30, 35, 40, 45, 50,
  ]);
  const firstOf = (clusters: number) => plannedLooks(Array.from({ length: clusters }, () => 1))[0]?.clusters;
  expect([190, 200, 210].map(firstOf)).toEqual([38, 20, 21]);
  // Groups count, however many rows they have.
  expect(plannedLooks(Array.from({ length: 30 }, () => 10)).map(({ clusters }) => clusters)).toEqual([21, 24, 27, 30]);
  expect(plannedLooks([3, 3, 3])).toEqual([{ clusters: 3, rows: 9, fraction: 1 }]);
});

test("STA-5 a look has whole groups", () => {
  const sizes = [...Array.from({ length: 30 }, () => 1), 30, ...Array.from({ length: 40 }, () => 1)];
  const looks = plannedLooks(sizes);
  expect(looks.slice(0, 3)).toEqual([
    { clusters: 20, rows: 20, fraction: 0.2 },
    { clusters: 30, rows: 30, fraction: 0.3 },
    { clusters: 31, rows: 60, fraction: 0.6 },
  ]);
  expect(looks.at(-1)!.fraction).toBe(1);
});
