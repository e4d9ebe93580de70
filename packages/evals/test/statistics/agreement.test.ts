import { expect, test } from "vitest";
import { agreement } from "../../src/statistics/agreement.ts";

/** Pairs of a table: both pass, the person alone, the judge alone, neither. */
function pairs(both: number, person: number, judge: number, neither: number) {
  return [
    ...Array.from({ length: both }, () => ({ person: true, judge: true })),
    ...Array.from({ length: person }, () => ({ person: true, judge: false })),
    ...Array.from({ length: judge }, () => ({ person: false, judge: true })),
    ...Array.from({ length: neither }, () => ({ person: false, judge: false })),
  ];
}

// Viera and Garrett, "Understanding interobserver agreement: the kappa statistic", Family Medicine 37 (2005): 15, 5, 10 and
// 70 give an observed agreement of 0.85 and a kappa of 0.57.
test("STA-10 kappa of a published table", () => {
  const { observed, kappa, n } = agreement(pairs(15, 5, 10, 70));
  expect(n).toBe(100);
  expect(observed.value).toBe(0.85);
  expect(kappa.value).toBeCloseTo(0.57, 2);
  expect(kappa.value).toBeCloseTo(0.2 / 0.35, 12);
});

// Gwet's table of 125 where nearly all answers are alike: 118, 5, 2 and 0 agree in 94 %, with a kappa of −0.023 and an AC1
// of 0.941.
test("STA-10 AC1 is not misled where nearly all answers are alike, as kappa is", () => {
  const { observed, kappa, ac1 } = agreement(pairs(118, 5, 2, 0));
  expect(observed.value).toBe(0.944);
  expect(kappa.value).toBeCloseTo(-0.023, 3);
  expect(ac1.value).toBeCloseTo(0.941, 3);
});

test("STA-10 sensitivity is the share of people's passes, specificity that of their fails", () => {
  const { sensitivity, specificity } = agreement(pairs(45, 5, 8, 22));
  expect(sensitivity).toMatchObject({ value: 0.9, rows: 50 });
  expect(specificity).toMatchObject({ value: 22 / 30, rows: 30 });
  expect(sensitivity.low).toBeLessThan(0.9);
  expect(sensitivity.high).toBeGreaterThan(0.9);
});

test("STA-10 the jackknife leaves out each pair in turn", () => {
  const table = pairs(9, 2, 1, 8);
  const { kappa, ac1 } = agreement(table);
  for (const [name, { value, low, high }] of Object.entries({ kappa, ac1 })) {
    const without = table.map((_, left) => agreement(table.filter((_pair, place) => place !== left)));
    const values = without.map((one) => (name === "kappa" ? one.kappa : one.ac1).value);
    const mean = values.reduce((sum, one) => sum + one, 0) / 20;
    const error = Math.sqrt((19 / 20) * values.reduce((sum, one) => sum + (one - mean) ** 2, 0));
    // Student's t for 19 degrees of freedom is 2.093024.
    expect(value - low).toBeCloseTo(2.093024 * error, 6);
    if (high < 1) expect(high - value).toBeCloseTo(2.093024 * error, 6);
  }
});

test("STA-10 complete agreement leaves room for pairs that disagree", () => {
  const { observed, kappa, ac1 } = agreement(pairs(25, 0, 0, 10));
  expect([observed.value, kappa.value, ac1.value]).toEqual([1, 1, 1]);
  expect([observed.high, kappa.high, ac1.high]).toEqual([1, 1, 1]);
  expect(observed.low).toBeLessThan(0.95);
  expect(kappa.low).toBeLessThan(observed.low);
  expect(ac1.low).toBeLessThan(observed.low);
});

test("STA-10 a number that the pairs do not have is NaN, with the whole range as its interval", () => {
  const { kappa, ac1, specificity } = agreement(pairs(30, 0, 0, 0));
  expect(kappa).toMatchObject({ value: Number.NaN, low: -1, high: 1 });
  expect(specificity).toMatchObject({ value: Number.NaN, low: 0, high: 1, rows: 0 });
  expect(ac1.value).toBe(1);
  expect(agreement([])).toMatchObject({ n: 0, observed: { value: Number.NaN, low: 0, high: 1 } });
  expect(agreement(pairs(1, 0, 0, 0)).observed).toMatchObject({ value: 1, low: 0, high: 1 });
});

test.each([
  ["people only pass", pairs(60, 40, 0, 0)],
  ["people only fail", pairs(0, 0, 40, 80)],
  ["the judge only passes", pairs(60, 0, 7, 0)],
  ["the judge only fails", pairs(0, 3, 0, 60)],
])("STA-10 kappa says nothing where %s", (_, table) => {
  expect(agreement(table).kappa).toMatchObject({ value: 0, low: -1, high: 1 });
});

test("STA-10 a coefficient that hangs on one pair has the whole range as its interval", () => {
  expect(agreement(pairs(29, 1, 0, 0)).kappa).toMatchObject({ value: 0, low: -1, high: 1 });
});
