import { describe, expect, test } from "vitest";
import { deadlineAt, deadlineIn, DefinitionError, type Clock } from "@proviso/core";
import { caught } from "./support/caught.ts";

describe("deadlines", () => {
  test("a deadline returns how much is left, by its clock", () => {
    let now = 1_000;
    const clock: Clock = { now: () => now, sleep: async () => {} };
    const deadline = deadlineIn(500, clock);
    expect(deadline.expiresAt).toEqual(new Date(1_500));
    expect(deadline.remainingMs()).toBe(500);
    now = 1_500;
    expect(deadline.remainingMs()).toBe(0);
    now = 1_700;
    expect(deadline.remainingMs()).toBe(-200);
    expect(deadlineAt(new Date(2_000), clock).remainingMs()).toBe(300);
  });

  test("a deadline may lie in the past", () => {
    expect(deadlineIn(-1).remainingMs()).toBeLessThanOrEqual(-1);
  });

  test("changing the date that it was made of does not move it", () => {
    const at = new Date(2_000);
    const deadline = deadlineAt(at);
    at.setTime(0);
    expect(deadline.expiresAt.getTime()).toBe(2_000);
    expect(Object.isFrozen(deadline)).toBe(true);
  });

  test.each([NaN, Infinity, -Infinity, 1e20])("%d milliseconds are no deadline", (ms) => {
    expect(caught(() => deadlineIn(ms))).toBeInstanceOf(DefinitionError);
  });

  test("an invalid date is no deadline", () => {
    expect(caught(() => deadlineAt(new Date("soon")))).toBeInstanceOf(DefinitionError);
  });
});
