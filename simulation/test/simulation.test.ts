import { expect, inject, onTestFinished, test } from "vitest";
import { simulate } from "../src/simulate.ts";
import { simulated } from "./run.ts";

// Each process has to compile everything first: two, one for each core of a small machine, share the seeds best. The
// slice begins behind the seeds that the last test runs.
const [perProcess, firsts] = inject("exhaustive") ? [1_500, [1, 1_501]] : [60, [301]];

test.concurrent.each(firsts)(
  "TX-1 to TX-14, TOOL-10, TOOL-13, TOOL-14, RES-1, LOOP-1 to LOOP-7, LIM-2 to LIM-6, THR-2 to THR-9, EVT-2, STR-1, STR-2 and SEC-3 hold in the runs from seed %i",
  { timeout: 900_000 },
  async (first) => {
    const { code, said } = await simulated(first, perProcess);
    expect(said).toContain("no violation");
    expect(code).toBe(0);
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
  "ends with output",
  "sections.opened",
  "nothing to open",
  "text.reset",
  "from outside",
  "audit",
  "a snapshot",
  "a transaction",
  "could not be undone",
  "could not be committed",
  "never end",
  "It waited for",
  "waits for approval",
  "is approved",
  "did not allow",
  "rolls back and goes on",
  "goes back to a snapshot",
  "elsewhere: deadlock",
];

/** These seeds have all kinds between them, so far; where one has become another run, the others are looked at too. */
const telling = [66, 59, 128, 145, 94, 164, 203, 256, 280];

test("LOOP-1 the runs are of many kinds", { timeout: 1_800_000 }, async () => {
  // A stack costs as much as a handler's work.
  const { stackTraceLimit } = Error;
  onTestFinished(() => void (Error.stackTraceLimit = stackTraceLimit));
  Error.stackTraceLimit = 0;
  const missing = new Set(kinds);
  const all = Array.from({ length: 300 }, (_, index) => index + 1);
  for (const seed of inject("exhaustive") ? all : [...telling, ...all]) {
    if (missing.size === 0) break;
    const { trace, violations } = await simulate(seed);
    expect(violations).toEqual([]);
    for (const kind of missing) if (trace.some((line) => line.includes(kind))) missing.delete(kind);
  }
  expect([...missing]).toEqual([]);
});
