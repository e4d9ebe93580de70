import { defineSlice } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { expect, test } from "vitest";
import { noted } from "./support.ts";

/** Median milliseconds of many times the same. */
function medianOf(work: () => void): number {
  const times = Array.from({ length: 15 }, () => {
    const startedAt = performance.now();
    for (let i = 0; i < 500; i++) work();
    return performance.now() - startedAt;
  });
  return times.toSorted((a, b) => a - b)[7] ?? 0;
}

function sessionOf(kind: "state" | "log", length: number) {
  const slice = defineSlice({
    name: "items",
    kind,
    initial: Array.from({ length }, (_, index) => `item ${index}`) as readonly string[],
    reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
  });
  return createSession({ slices: [slice] });
}

// A loaded machine may break a ratio once; a cost that grows with the items breaks it every time, a thousandfold.
test("TX-10 snapshot and restore cost the same for 10 items and for 100,000", { retry: 3 }, () => {
  const cost = (length: number) => {
    const session = sessionOf("state", length);
    return medianOf(() => session.restore(session.snapshot()));
  };
  cost(10);
  expect(cost(100_000) / cost(10)).toBeLessThan(5);
});

test("TX-10 recording into a log costs the same for 10 entries and for 100,000", { retry: 3 }, () => {
  const cost = (length: number) => {
    const session = sessionOf("log", length);
    const event = noted({ text: "x" });
    return medianOf(() => void session.dispatch(event));
  };
  cost(10);
  expect(cost(100_000) / cost(10)).toBeLessThan(5);
});
