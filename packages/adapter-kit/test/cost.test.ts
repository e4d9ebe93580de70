import { reportedCost } from "@proviso/adapter-kit";
import { expect, test } from "vitest";

test.each([
  ["0.00042", 0.00042],
  ["0", 0],
  ["-1", undefined],
  ["free", undefined],
  ["Infinity", undefined],
  [null, undefined],
])("OAI-11 AIS-21 x-litellm-response-cost: %s", (told, cost) => {
  const headers = new Headers(told === null ? {} : { "x-litellm-response-cost": told });
  expect(reportedCost(headers)).toBe(cost);
});
