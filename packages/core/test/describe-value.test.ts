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
