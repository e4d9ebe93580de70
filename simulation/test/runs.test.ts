import { expect, inject, test } from "vitest";
import type { RunOutcome } from "../src/runs/checked.ts";
import { simulateRun } from "../src/runs/simulate-run.ts";

// The simulation's command runs others: npx -y pnpm@12 simulate:runs --seeds 10000.
// A slice of them, and the seeds that have all kinds between them, so far.
const [count, firsts] = inject("exhaustive") ? [1_000, [1, 1_001]] : [40, [1]];
const telling = [37, 130, 131, 8, 34, 83, 36, 58, 88];

/** What has to turn up, or the runs would not be worth much. */
const kinds = [
  "provider.throttled",
  '"kind":"delta"',
  '"of":"reasoning"',
  "evaluation.restarted",
  "sections.opened",
  "feedback.given",
  "could not be recorded: Refused.",
  '"kind":"undone"',
  '"isInside":true',
  '"kind":"changed"',
  '"kind":"suspended"',
  '"kind":"stopped"',
  "[secret]",
  "There is no tool",
  "do not fit",
  "Not approved.",
  "took longer than",
  "history.compacted",
  '"summarised":true',
  '"name":"m0.png"',
  '"name":"p0.png"',
  "call_id-",
  "aborted",
  "deadline",
  "budget",
  "is missing.",
  "): gone",
  "): taken",
  "(crash at ",
  "(crash before it is kept at ",
  "(crash when it is kept at ",
  '): RunError: The run "r" waits for a decision: May ',
];

/** Of these, none has turned up yet. */
const missing = new Set(kinds);
const simulatedSeeds = new Set<number>();

async function simulated(seed: number): Promise<RunOutcome> {
  const outcome = await simulateRun(seed);
  for (const kind of missing) if (outcome.trace.some((line) => line.includes(kind))) missing.delete(kind);
  simulatedSeeds.add(seed);
  return outcome;
}

test.each(firsts)(
  "RPL-1 RPL-2 RPL-3 RPL-7 RPL-8 RSM-1 RSM-2 RSM-8 EFF-3 SUS-2 FRK-1 FRK-5 LIM-7 RTE-14 runs replay byte for byte, with and without their tools, go on from anywhere, however they are interrupted, and fork, from seed %i",
  { timeout: 1_800_000 },
  async (first) => {
    for (let seed = first; seed < first + count; seed++) {
      const { violations } = await simulated(seed);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  },
);

test("RPL-1 the recorded runs are of many kinds", { timeout: 1_800_000 }, async () => {
  const all = Array.from({ length: 400 }, (_, index) => index + 1);
  for (const seed of [...telling, ...all]) {
    if (missing.size === 0) break;
    if (simulatedSeeds.has(seed)) continue;
    const { violations } = await simulated(seed);
    expect({ seed, violations }).toEqual({ seed, violations: [] });
  }
  expect([...missing]).toEqual([]);
});
