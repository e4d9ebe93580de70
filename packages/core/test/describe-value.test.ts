import { deadlineIn, suspend, trackBudget } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { expect, test } from "vitest";
import { fc } from "./support/property.ts";

test.each([
  ["text", '"text"'],
  ["x".repeat(61), "a text of 61 characters"],
  [1.5, "1.5"],
  [Number.NaN, "NaN"],
  [7n, "7n"],
  [null, "null"],
  [undefined, "undefined"],
  [true, "true"],
  [[1], "a list"],
  [[], "an empty list"],
  [Object.create(null), "an object"],
  [() => 1, "a function"],
  [Symbol("s"), "a symbol"],
])("ERR-3 %o is shown as %s", (value, expected) => {
  expect(describeValue(value)).toBe(expected);
});

test("ERR-3 anything can be shown, briefly", () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (value) => {
      expect(describeValue(value).length).toBeLessThan(400);
    }),
  );
});

test.each([
  ["a budget", () => trackBudget({ maxTotalTokens: "5" as never }), 'must be a positive number, not "5".'],
  ["a deadline", () => deadlineIn("5000" as never), 'needs a finite number of milliseconds, not "5000".'],
  ["a deadline by a symbol", () => deadlineIn(Symbol("soon") as never), "number of milliseconds, not a symbol."],
  ["a suspension", () => suspend("Pay?", { expiresInMs: "9" as never }), 'a number of milliseconds above 0, not "9".'],
])("ERR-3 a number that was given as a text is shown with its quotes: %s", (_, define, message) => {
  expect(define).toThrow(message);
});
