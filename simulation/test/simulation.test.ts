import { expect, test } from "vitest";
import { simulate } from "../src/simulate.ts";

const perTest = 500;

test.each([1, 501, 1_001, 1_501])(
  "TX-1 to TX-8, LOOP-1 to LOOP-3, LIM-2 to LIM-6, THR-2 to THR-7, EVT-2 and SEC-3 hold in 500 runs from seed %i",
  { timeout: 60_000 },
  async (first) => {
    const rejections: unknown[] = [];
    const hear = (reason: unknown): void => void rejections.push(reason);
    process.on("unhandledRejection", hear);
    try {
      for (let seed = first; seed < first + perTest; seed++) {
        const { violations, trace } = await simulate(seed);
        expect(
          violations,
          `seed ${seed}, again with: pnpm simulate --seed ${seed}\n${trace.slice(-20).join("\n")}`,
        ).toEqual([]);
      }
    } finally {
      process.off("unhandledRejection", hear);
    }
    expect(rejections).toEqual([]);
  },
);

test("EVT-2 a run is a function of its seed", async () => {
  for (const seed of [3, 14, 159, 2_653]) {
    const [first, second] = [await simulate(seed), await simulate(seed)];
    expect(second.trace).toEqual(first.trace);
    expect(first.trace.length).toBeGreaterThan(2);
  }
});

/** What has to turn up in the traces, or the runs would not be worth much. */
const kinds = [
  " ok",
  "it threw",
  "it failed",
  "a text",
  "not JSON",
  "took longer",
  "Stopped",
  "Not run",
  "not now",
  "vetoed",
  "recorder refuses",
  "read-only",
  "after the nested",
  "do not fit",
  "could not be read",
  "There is no tool",
  "provider.throttled",
  "prompt.failed budget",
  "prompt.failed deadline",
  "prompt.failed aborted",
  "prompt.failed turns",
  "prompt.failed throttled",
  "prompt.failed provider",
  "ends with listener",
];

test("LOOP-1 the runs are of many kinds", async () => {
  const missing = new Set(kinds);
  for (let seed = 1; seed <= 300; seed++) {
    const { trace } = await simulate(seed);
    for (const kind of missing) if (trace.some((line) => line.includes(kind))) missing.delete(kind);
  }
  expect([...missing]).toEqual([]);
});
