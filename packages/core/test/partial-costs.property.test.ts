import { trackBudget, type Usage } from "@proviso/core";
import { addUsage, countUsage, noUsage, unpricedTokensOf } from "@proviso/core/internal";
import fc from "fast-check";
import { expect, test } from "vitest";

/** What requests report: some of them a cost, some none. */
const reports = fc.array(
  fc.record(
    {
      inputTokens: fc.nat(1_000_000),
      outputTokens: fc.nat(1_000_000),
      costUsd: fc.integer({ min: 0, max: 1_000 }).map((cents) => cents / 128),
    },
    { requiredKeys: ["inputTokens", "outputTokens"] },
  ),
  { maxLength: 12 },
);
const counted = (given: readonly object[]): readonly Usage[] => given.map((each) => countUsage(each, noUsage));

test("LIM-14 a sum says how many of its tokens have no cost, in whatever order it was made", () => {
  fc.assert(
    fc.property(reports, fc.nat(12), (given, at) => {
      const usages = counted(given);
      const sum = usages.reduce(addUsage, noUsage);
      const unpriced = given
        .filter(({ costUsd }) => costUsd === undefined)
        .reduce((tokens, { inputTokens, outputTokens }) => tokens + inputTokens + outputTokens, 0);
      expect(unpricedTokensOf(sum)).toBe(unpriced);
      const isPartial = sum.costUsd !== undefined && unpriced > 0;
      expect(sum.unpricedTokens).toBe(isPartial ? unpriced : undefined);
      const [first, rest] = [usages.slice(0, at), usages.slice(at)];
      expect(addUsage(rest.reduce(addUsage, noUsage), first.reduce(addUsage, noUsage))).toEqual(sum);
      // A tracker, saved and restored, and a sum that is counted again, say it too.
      const tracker = trackBudget({ maxTotalTokens: 100_000_000 });
      for (const usage of usages) tracker.reserve({ inputTokens: 0, outputTokens: 0 })?.settle(usage);
      expect(tracker.consumed).toEqual(sum);
      const saved = JSON.parse(JSON.stringify(tracker)) as { readonly consumed: Usage };
      expect(trackBudget({ maxTotalTokens: 100_000_000 }, saved).consumed).toEqual(sum);
      expect(countUsage(sum, noUsage)).toEqual(sum);
    }),
  );
});

test("LIM-14 of a cost that is missing nothing is made up: zero tokens without one are none", () => {
  expect(addUsage({ ...noUsage, costUsd: 1 }, noUsage)).toEqual({ ...noUsage, costUsd: 1 });
  expect(countUsage({ inputTokens: 1, outputTokens: 1, costUsd: 0, unpricedTokens: 9 }, noUsage)).toMatchObject({
    unpricedTokens: 2,
  });
  for (const unpricedTokens of [-1, Number.NaN, "3", 0]) {
    const usage = countUsage({ inputTokens: 1, outputTokens: 1, costUsd: 0, unpricedTokens }, noUsage);
    expect(usage).not.toHaveProperty("unpricedTokens");
  }
});
