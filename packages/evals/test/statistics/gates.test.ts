import { expect, test } from "vitest";
import {
  atLeastVerdict,
  familyConfidence,
  noWorseVerdict,
  passesGate,
  sharedVerdict,
} from "../../src/statistics/gates.ts";

test("STA-3 gated intervals share the error rate, and one alone keeps its confidence", () => {
  expect(familyConfidence(0.95, 1)).toBe(0.95);
  expect(familyConfidence(0.95, 0)).toBe(0.95);
  expect(familyConfidence(0.95, 10)).toBeCloseTo(0.995, 12);
  expect(10 * (1 - familyConfidence(0.9, 10))).toBeCloseTo(0.1, 12);
});

test("STA-4 a score passes when its low end does, fails when its high end is below, and is unsettled between", () => {
  expect(atLeastVerdict({ low: 0.85, high: 0.9 }, 0.85)).toBe("passed");
  expect(atLeastVerdict({ low: 0.7, high: 0.849 }, 0.85)).toBe("failed");
  expect(atLeastVerdict({ low: 0.7, high: 0.85 }, 0.85)).toBe("unsettled");
});

test("STA-4 a difference may lose its margin and no more", () => {
  expect(noWorseVerdict({ low: -0.02, high: 0.05 }, 0.02)).toBe("passed");
  expect(noWorseVerdict({ low: -0.1, high: -0.03 }, 0.02)).toBe("failed");
  expect(noWorseVerdict({ low: -0.03, high: 0.05 }, 0.02)).toBe("unsettled");
  expect(noWorseVerdict({ low: 0, high: 0.05 }, 0)).toBe("passed");
});

test("STA-4 where less is better the ends change places", () => {
  expect(atLeastVerdict({ low: 1, high: 2 }, 2, true)).toBe("passed");
  expect(atLeastVerdict({ low: 2.1, high: 3 }, 2, true)).toBe("failed");
  expect(atLeastVerdict({ low: 1.9, high: 3 }, 2, true)).toBe("unsettled");
  expect(noWorseVerdict({ low: -1, high: 0.5 }, 0.5, true)).toBe("passed");
  expect(noWorseVerdict({ low: 0.6, high: 0.9 }, 0.5, true)).toBe("failed");
});

test("STA-4 an unsettled gate passes unless it is to fail", () => {
  expect(passesGate("passed", "fail")).toBe(true);
  expect(passesGate("failed")).toBe(false);
  expect(passesGate("unsettled")).toBe(true);
  expect(passesGate("unsettled", "fail")).toBe(false);
});

test("STA-4 verdicts that differ are unsettled together", () => {
  expect(sharedVerdict(["passed", "passed", "passed"])).toBe("passed");
  expect(sharedVerdict(["failed", "failed"])).toBe("failed");
  expect(sharedVerdict(["failed", "passed"])).toBe("unsettled");
  expect(sharedVerdict([])).toBe("unsettled");
});
