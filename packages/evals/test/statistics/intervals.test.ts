import { DefinitionError } from "@proviso/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isProven } from "../../src/statistics/gates.ts";
import { differenceInterval, meanInterval, type Observation } from "../../src/statistics/index.ts";
import { studentCritical } from "../../src/statistics/quantiles.ts";
import { randomFrom } from "./simulation/world.ts";

/** Differences of answers that are right or wrong. */
function differences(won: number, lost: number, count: number): Observation[] {
  return Array.from({ length: count }, (_, place) => ({ value: place < won ? 1 : place < won + lost ? -1 : 0 }));
}

const scores = fc.array(fc.record({ value: fc.integer({ min: 0, max: 8 }), cluster: fc.constantFrom("a", "b", "c") }), {
  minLength: 3,
  maxLength: 40,
});
/** Scores from 0 to 1 in eighths, so that sums are exact, with two clusters at least. */
const observations = scores.map((rows): Observation[] => [
  ...rows.map(({ value, cluster }) => ({ value: value / 8, cluster })),
  { value: 0.5 },
  { value: 0.25 },
]);

describe("differences", () => {
  // The example of `ci.prop.ps` in statpsych, the R package of D. G. Bonett: 12, 4, 26, 6 give 0.44, 0.09448809 and, with
  // z, 0.2547 to 0.6252. Bonett and Price (2012), Journal of Educational and Behavioral Statistics 37, 479–488.
  test("STA-1 right or wrong answers have Bonett and Price's interval, with t for z", () => {
    const { value, low, high } = differenceInterval(differences(26, 4, 48), { span: 1 });
    expect(value).toBe(22 / 48);
    expect((low + high) / 2).toBeCloseTo(0.44, 10);
    const error = (high - low) / 2 / studentCritical(0.05, 49);
    expect(error).toBeCloseTo(0.09448809, 8);
    expect(0.44 - 1.959964 * error).toBeCloseTo(0.2548067, 6);
    expect(0.44 + 1.959964 * error).toBeCloseTo(0.6251933, 6);
  });

  // Bentur et al. (2009) as in Fagerland, Lydersen and Laake, Statistics in Medicine 33 (2014): of 21 children, 1 has the
  // reaction only before a transplantation, 7 only after it.
  test("STA-1 a small published table has the adjusted counts of Bonett and Price", () => {
    const { low, high } = differenceInterval(differences(1, 7, 21), { span: 1 });
    expect((low + high) / 2).toBeCloseTo((2 - 8) / 23, 12);
    const variance = (10 / 23 - (6 / 23) ** 2) / 23;
    expect((high - low) / 2).toBeCloseTo(studentCritical(0.05, 22) * Math.sqrt(variance), 12);
  });

  test("STA-1 the interval of Newcombe's example is near the one that he recommends, and a little wider", () => {
    // R. G. Newcombe, Statistics in Medicine 17 (1998), 2635-2650: of 50 pairs 36 both, 12 the first alone, 2 the second
    // alone, none neither. His method 10 gives 0.0569 to 0.3404.
    const { value, low, high } = differenceInterval(differences(12, 2, 50), { span: 1 });
    expect(value).toBe(0.2);
    expect(Math.abs(low - 0.0569)).toBeLessThan(0.02);
    expect(Math.abs(high - 0.3404)).toBeLessThan(0.02);
  });

  test("STA-1 the span scales an interval of right or wrong answers", () => {
    const once = differenceInterval(differences(9, 3, 30), { span: 1 });
    const tenfold = differenceInterval(
      differences(9, 3, 30).map(({ value }) => ({ value: value * 10 })),
      { span: 10 },
    );
    expect(tenfold.low).toBeCloseTo(10 * once.low, 10);
    expect(tenfold.high).toBeCloseTo(10 * once.high, 10);
  });

  test("STA-1 rows without any difference still leave room for one", () => {
    const { value, low, high } = differenceInterval(differences(0, 0, 20), { span: 1 });
    expect(value).toBe(0);
    expect(high).toBeGreaterThan(0.1);
    expect(low).toBe(-high);
  });

  test("STA-1 a difference of grades is adjusted by the cluster that differs most, and not by the whole span", () => {
    const rows = Array.from({ length: 20 }, (_, place) => ({ value: place % 2 === 0 ? 0.1 : -0.05 }));
    const { low, high } = differenceInterval(rows, { span: 1 });
    const values = [...rows.map(({ value }) => value), 0.1, -0.1];
    const mean = values.reduce((sum, value) => sum + value, 0) / 22;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 21 / 22;
    expect(low).toBeCloseTo(mean - studentCritical(0.05, 21) * Math.sqrt(variance), 12);
    expect(high).toBeCloseTo(mean + studentCritical(0.05, 21) * Math.sqrt(variance), 12);
  });

  test("STA-1 the groups of rows widen an interval as real groups do", () => {
    const alone = differenceInterval(differences(60, 30, 600), { span: 1 });
    const inGroups = differenceInterval(
      differences(60, 30, 600).map(({ value }, place) => ({ value, cluster: `${Math.floor(place / 5)}` })),
      { span: 1 },
    );
    expect(alone.low).toBeCloseTo(0.019, 3);
    expect(alone.high).toBeCloseTo(0.081, 3);
    expect(isProven(alone)).toBe(true);
    expect(isProven(inGroups)).toBe(false);
    expect(inGroups.clusters).toBe(120);
  });

  test("STA-2 a difference is proven exactly when its interval lies on one side of zero", () => {
    expect(isProven({ low: 0.01, high: 0.2 })).toBe(true);
    expect(isProven({ low: -0.2, high: -0.01 })).toBe(true);
    expect(isProven({ low: 0, high: 0.2 })).toBe(false);
    expect(isProven({ low: -0.2, high: 0.2 })).toBe(false);
  });

  test("STA-1 an exchange of the two sides mirrors the interval", () => {
    fc.assert(
      fc.property(observations, (rows) => {
        const there = differenceInterval(rows, { span: 1 });
        const back = differenceInterval(
          rows.map((row) => ({ ...row, value: -row.value })),
          { span: 1 },
        );
        expect(back.value).toBeCloseTo(-there.value, 12);
        expect(back.low).toBeCloseTo(-there.high, 12);
        expect(back.high).toBeCloseTo(-there.low, 12);
      }),
    );
  });
});

describe("means", () => {
  test("STA-1 one more cluster of average size stands at either end of the range", () => {
    const rows = [0.2, 0.9, 0.6, 1].map((value) => ({ value }));
    const { value, low, high, method } = meanInterval(rows, { range: [0, 1] });
    const values = [0.2, 0.9, 0.6, 1, 0, 1];
    const mean = values.reduce((sum, one) => sum + one, 0) / 6;
    const half = studentCritical(0.05, 5) * Math.sqrt(values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / 5 / 6);
    expect(value).toBeCloseTo(0.675, 12);
    expect(low).toBeCloseTo(mean - half, 12);
    expect(high).toBe(1);
    expect(method).toBe("adjusted-t");
  });

  test.each([
    // A row's group has 28 / 14 rows on average, and the average group 14 / 10.
    [
      "as large as that of a row where rows are alike",
      [[1, 1, 1, 1], [0, 0], [1], [0], [1], [1], [1], [0], [1], [1]],
      2,
    ],
    // A row's group has 18 / 6 rows on average, and the average group 2.
    ["of average size where they are not", [[1, 0, 1, 0], [1], [0]], 2],
    ["of average size where nothing differs", [[1, 1, 1, 1], [1], [1]], 2],
    [
      "of average size where all groups have one size",
      [
        [1, 1],
        [1, 1],
        [0, 0],
        [1, 0],
      ],
      2,
    ],
  ])("STA-1 the added clusters are %s", (_, groups, size) => {
    const rowsOf = (values: readonly number[], cluster: string) => values.map((value) => ({ value, cluster }));
    const rows = groups.flatMap((values, at) => rowsOf(values, `${at}`));
    const added = [0, 1].flatMap((end) =>
      rowsOf(
        Array.from({ length: size }, () => end),
        `added ${end}`,
      ),
    );
    const [cut, whole] = [meanInterval(rows, { range: [0, 1] }), meanInterval([...rows, ...added])];
    expect(cut.low).toBeCloseTo(Math.max(0, whole.low), 12);
    expect(cut.high).toBeCloseTo(Math.min(1, whole.high), 12);
  });

  // Student (Biometrika 6, 1908): additional hours of sleep with one drug and the other; mean 1.58, 0.70 to 2.46.
  test("STA-1 a measure without a range has Student's plain interval", () => {
    const hours = [1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4];
    const { value, low, high, method } = meanInterval(hours.map((hour) => ({ value: hour })));
    expect(value).toBeCloseTo(1.58, 10);
    expect(low).toBeCloseTo(0.7001, 4);
    expect(high).toBeCloseTo(2.4599, 4);
    expect(method).toBe("cluster-t");
  });

  test("STA-1 a range may begin with its greatest value", () => {
    const rows = [3, 7, 8, 2].map((value) => ({ value }));
    expect(meanInterval(rows, { range: [10, 0] })).toEqual(meanInterval(rows, { range: [0, 10] }));
  });

  test("STA-1 answers that are all right leave room for wrong ones, and the interval is cut at the range", () => {
    const { value, low, high } = meanInterval(
      Array.from({ length: 20 }, () => ({ value: 1 })),
      { range: [0, 1] },
    );
    expect(value).toBe(1);
    expect(high).toBe(1);
    expect(low).toBeGreaterThan(0.8);
    expect(low).toBeLessThan(0.9);
  });

  test("STA-1 rows that a group repeats add nothing", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 2, maxLength: 30 }), (values) => {
        const once = values.map((value, place) => ({ value: value / 8, cluster: `${place}` }));
        const often = once.flatMap((row) => [row, row, row]);
        const [a, b] = [meanInterval(once, { range: [0, 1] }), meanInterval(often, { range: [0, 1] })];
        expect(b.low).toBeCloseTo(a.low, 10);
        expect(b.high).toBeCloseTo(a.high, 10);
        expect([a.rows, b.rows, b.clusters]).toEqual([values.length, 3 * values.length, a.clusters]);
      }),
    );
  });

  test("STA-1 an interval holds the plain mean, lies within the range, and grows with the confidence", () => {
    fc.assert(
      fc.property(observations, fc.double({ min: 0.01, max: 0.98, noNaN: true }), (rows, confidence) => {
        const narrow = meanInterval(rows, { range: [0, 1], confidence });
        const wide = meanInterval(rows, { range: [0, 1], confidence: confidence + 0.01 });
        const mean = rows.reduce((sum, { value }) => sum + value, 0) / rows.length;
        expect(narrow.value).toBe(mean);
        expect(narrow.low).toBeLessThanOrEqual(mean);
        expect(narrow.high).toBeGreaterThanOrEqual(mean);
        expect(wide.low).toBeLessThanOrEqual(narrow.low);
        expect(wide.high).toBeGreaterThanOrEqual(narrow.high);
        expect(wide.low).toBeGreaterThanOrEqual(0);
        expect(wide.high).toBeLessThanOrEqual(1);
      }),
    );
  });

  test("STA-1 the order of rows changes nothing", () => {
    fc.assert(
      fc.property(observations, (rows) => {
        expect(meanInterval(rows.toReversed(), { range: [0, 1] }).low).toBeCloseTo(
          meanInterval(rows, { range: [0, 1] }).low,
          12,
        );
      }),
    );
  });
});

test("STA-8 fewer than 2 clusters have no interval", () => {
  expect(() => meanInterval([])).toThrow(DefinitionError);
  expect(() => meanInterval([{ value: 1 }])).toThrow("An interval needs at least 2 clusters, not 1.");
  const oneGroup = [1, 0, 1].map((value) => ({ value, cluster: "a" }));
  expect(() => differenceInterval(oneGroup, { span: 1 })).toThrow(DefinitionError);
});

// The hat matrix of a mean has 1/N everywhere. CR2 multiplies what the rows of a cluster of n differ by with the inverse root
// of I - H, and Satterthwaite's degrees of freedom are (Σλ)²/Σλ² of the matrix of inner products, made here without closed forms.
test("STA-1 clusters of several sizes have Bell and McCaffrey's variance and degrees of freedom", () => {
  const groups = [[1, 0, 1, 1, 0, 1, 1], [0.5, 0], [1], [0, 0.25, 0.75]];
  const rows = groups.flatMap((values, at) => values.map((value) => ({ value, cluster: `${at}` })));
  const count = rows.length;
  const mean = rows.reduce((sum, { value }) => sum + value, 0) / count;
  const vectors = groups.map((values, at) => {
    const factor = 1 / Math.sqrt(1 - values.length / count) / count;
    return rows.map(({ cluster }) => factor * (Number(cluster === `${at}`) - values.length / count));
  });
  const products = vectors.map((one) => vectors.map((other) => one.reduce((sum, of, at) => sum + of * other[at]!, 0)));
  const trace = products.reduce((sum, line, at) => sum + line[at]!, 0);
  const degrees = trace ** 2 / products.flat().reduce((sum, product) => sum + product ** 2, 0);
  const squares = vectors.map((one) => one.reduce((sum, of, at) => sum + of * (rows[at]!.value - mean), 0) ** 2);
  const error = Math.sqrt(squares.reduce((sum, square) => sum + square, 0));
  const { low, high, clusters, effectiveClusters } = meanInterval(rows);
  expect(high - mean).toBeCloseTo(studentCritical(0.05, degrees) * error, 12);
  expect(mean - low).toBeCloseTo(high - mean, 12);
  expect(clusters).toBe(4);
  expect(effectiveClusters).toBeCloseTo(13 ** 2 / (49 + 4 + 1 + 9), 12);
});

test("STA-8 an estimate says how many clusters it rests on", () => {
  const rows = Array.from({ length: 12 }, (_, place) => ({ value: place % 2, cluster: `${place % 4}` }));
  expect(meanInterval(rows)).toMatchObject({ rows: 12, clusters: 4, confidence: 0.95 });
});

test("STA-1 numbers that are no scores are refused", () => {
  const rows = [{ value: 0 }, { value: Number.NaN }];
  expect(() => meanInterval(rows)).toThrow("The value of a row must be a finite number, not NaN.");
  expect(() => meanInterval([{ value: 0 }, { value: 1.2 }], { range: [0, 1] })).toThrow(DefinitionError);
  expect(() => meanInterval([{ value: 0 }, { value: 0 }], { range: [1, 1] })).toThrow(DefinitionError);
  expect(() => differenceInterval([{ value: 0 }, { value: -2 }], { span: 1 })).toThrow(DefinitionError);
  expect(() => differenceInterval([{ value: 0 }, { value: 0 }], { span: 0 })).toThrow(DefinitionError);
  expect(() => meanInterval([{ value: 0 }, { value: 0 }], { confidence: 1 })).toThrow(DefinitionError);
});

test.each([0, 20_000, 1_764_000_000])(
  "STA-1 an interval is as wide wherever the values lie: %d further on",
  (offset) => {
    const random = randomFrom(7);
    const rows = Array.from({ length: 60 }, (_, group) => ({ group, value: random() })).flatMap(({ group, value }) =>
      Array.from({ length: Math.max(1, Math.round(60 / (group + 1))) }, () => ({ value, cluster: `g${group}` })),
    );
    const widthOf = (from: number): number => {
      const moved = rows.map(({ value, cluster }) => ({ value: from + value, cluster }));
      const { low, high } = meanInterval(moved, { range: [from, from + 1] });
      return high - low;
    };
    expect(widthOf(offset)).toBeCloseTo(widthOf(0), 4);
  },
);
