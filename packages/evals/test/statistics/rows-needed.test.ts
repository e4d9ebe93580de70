import { DefinitionError } from "@proviso/core";
import { expect, test } from "vitest";
import { rowsNeeded } from "../../src/statistics/index.ts";

const alternating = Array.from({ length: 101 }, (_, place) => ({ value: (place % 3) - 1 }));

test("STA-6 the number of rows is (z of the confidence + z of the power)² × variance / difference²", () => {
  const mean = alternating.reduce((sum, { value }) => sum + value, 0) / 101;
  const variance = alternating.reduce((sum, { value }) => sum + (value - mean) ** 2, 0) / 100;
  expect(rowsNeeded(alternating, 0.1)).toBe(Math.ceil(((1.959964 + 0.8416212) ** 2 * variance) / 0.01));
  expect(rowsNeeded(alternating, -0.1)).toBe(rowsNeeded(alternating, 0.1));
  expect(rowsNeeded(alternating, 0.1, { power: 0.9, confidence: 0.99 })).toBe(
    Math.ceil(((2.575829 + 1.281552) ** 2 * variance) / 0.01),
  );
});

test("STA-6 half the difference needs four times the rows", () => {
  expect(rowsNeeded(alternating, 0.05) / rowsNeeded(alternating, 0.1)).toBeCloseTo(4, 1);
});

test("STA-6 with groups it counts groups, times the rows of one", () => {
  const once = alternating.map(({ value }, place) => ({ value, cluster: `${place}` }));
  const alike = once.flatMap((row) => [row, row, row, row]);
  expect(rowsNeeded(alike, 0.1)).toBe(4 * rowsNeeded(alternating, 0.1));
});

test("STA-6 differences that are all alike do not say how far others are apart", () => {
  for (const alike of [
    [1, 1],
    [0.1, 0.1, 0.1],
    [0, 0],
  ]) {
    expect(() =>
      rowsNeeded(
        alike.map((value) => ({ value })),
        0.05,
      ),
    ).toThrow("more rows are needed");
  }
  const grouped = [1, 1, 0.5, 0.5].map((value, place) => ({ value, cluster: `${place % 2}` }));
  expect(() => rowsNeeded(grouped, 0.05)).toThrow("more rows are needed");
});

test("STA-6 a size of 0 and a power outside 0 to 1 are refused", () => {
  expect(() => rowsNeeded(alternating, 0)).toThrow(DefinitionError);
  expect(() => rowsNeeded(alternating, Number.NaN)).toThrow(DefinitionError);
  expect(() => rowsNeeded(alternating, 0.1, { power: 1 })).toThrow(DefinitionError);
  expect(() => rowsNeeded([{ value: 1 }], 0.1)).toThrow(DefinitionError);
});
