import { expect, inject, test, vi } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { killAgainAndAgain } from "./kills/campaign.ts";
import type { KillPlace } from "./kills/prompt.ts";
import { folder } from "./support.ts";

vi.setConfig({ testTimeout: 2_700_000 });

/** Numbers from 0 to 1 that follow from a seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff;
}

/** `pnpm simulate:kills` does it 2,000 and 500 times. */
async function kill(place: KillPlace, kills: number) {
  return killAgainAndAgain({
    folder: await folder(),
    place,
    kills: inject("exhaustive") ? kills : 6,
    random: randomFrom(kills),
    nodeArguments: fromSources,
  });
}

const nothing = { lost: 0, doubled: 0, missing: 0, failed: 0, invalid: 0, faults: [] };

test("RSM-2 EFF-7 processes that are killed at random moments lose no step, and do no call twice", async () => {
  const report = await kill("together", 200);
  expect(report).toMatchObject(nothing);
  expect(report.runs).toBeGreaterThan(0);
});

test("RSM-2 EFF-3 EFF-4 EFF-5 neither do those whose calls write into a folder, and can say whether they did", async () => {
  expect(await kill("host", 50)).toMatchObject(nothing);
});
