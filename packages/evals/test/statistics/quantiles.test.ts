import { expect, test } from "vitest";
import { normalCritical, normalTail, studentCritical } from "../../src/statistics/quantiles.ts";

// The values are those of the tables that statistics books print.
test("STA-1 quantiles of the normal and of Student's distribution are those of the printed tables", () => {
  expect(normalCritical(0.025)).toBeCloseTo(1.959964, 6);
  expect(normalTail(1.959964)).toBeCloseTo(0.025, 8);
  expect(studentCritical(0.05, 1)).toBeCloseTo(12.7062, 4);
  expect(studentCritical(0.05, 10)).toBeCloseTo(2.228139, 6);
  expect(studentCritical(0.01, 30)).toBeCloseTo(2.749996, 6);
});

test.each([10, 60, 199, 200, 1_000, 100_000])(
  "STA-1 Student's quantile is right for %i degrees of freedom, far out too",
  (degrees) => {
    for (const error of [0.5, 0.05, 1e-3, 1e-6, 1e-12, 1e-18]) {
      expect(shareOutside(studentCritical(error, degrees), degrees) / error).toBeCloseTo(1, error < 1e-3 ? 1 : 5);
    }
  },
);

/** The share of Student's distribution outside ±t, by the integral of its density. */
function shareOutside(t: number, degrees: number): number {
  const density = (x: number): number => Math.exp((-(degrees + 1) / 2) * Math.log1p((x * x) / degrees));
  const half = integral(density, 0, t);
  // What lies outside falls so fast that a scale of its own is needed: x = t / u.
  const outside = integral((u) => (u === 0 ? 0 : (density(t / u) * t) / u ** 2), 0, 1);
  return outside / (half + outside);
}

/** Simpson's rule. */
function integral(of: (x: number) => number, from: number, to: number): number {
  const steps = 4_000;
  const width = (to - from) / steps;
  let sum = of(from) + of(to);
  for (let step = 1; step < steps; step++) sum += (step % 2 === 1 ? 4 : 2) * of(from + step * width);
  return (sum * width) / 3;
}

test("STA-5 an error too small for a number has an infinite critical value", () => {
  expect(normalCritical(0)).toBe(Number.POSITIVE_INFINITY);
  expect(studentCritical(0, 10)).toBe(Number.POSITIVE_INFINITY);
});
