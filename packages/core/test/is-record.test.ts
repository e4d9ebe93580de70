import { isRecord } from "@proviso/core/provider";
import { expect, test } from "vitest";

test.each([{}, { a: 1 }, Object.create(null), new Date(0)])("SEC-2 %o has keys to read", (value) => {
  expect(isRecord(value)).toBe(true);
});

test.each([null, undefined, [], [{}], "text", 7, () => 1])("SEC-2 %o is no record", (value) => {
  expect(isRecord(value)).toBe(false);
});
