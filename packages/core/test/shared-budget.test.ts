import { describe, expect, test } from "vitest";
import { DefinitionError, trackBudget, type Usage } from "@proviso/core";
import { noUsage } from "@proviso/core/internal";
import { caught } from "./support/caught.ts";

const used = (inputTokens: number, outputTokens: number, costUsd?: number): Usage => ({
  ...noUsage,
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens,
  ...(costUsd === undefined ? {} : { costUsd }),
});

test("LIM-5 fractions of dollars leave nothing reserved when all have settled", () => {
  const budget = trackBudget({ maxCostUsd: 1 });
  const held = [0.1, 0.2, 0.3].map((costUsd) => budget.reserve({ inputTokens: 1, outputTokens: 0, costUsd }));
  expect(budget.reserve({ inputTokens: 1, outputTokens: 0, costUsd: 0.5 })).toBeUndefined();
  for (const one of held) one?.settle(noUsage);
  expect(budget.remaining().costUsd).toBe(1);
});

test("LIM-4 a sum that is no number has passed its limit, and nothing more is reserved", () => {
  const budget = trackBudget({ maxTotalTokens: 100, maxCostUsd: 1 });
  expect(budget.reserve({ inputTokens: Number.NaN, outputTokens: 0 })).toBeUndefined();
  const broken = trackBudget({ maxCostUsd: 1 });
  broken.reserve({ inputTokens: 0, outputTokens: 0 })?.settle({ ...noUsage, costUsd: Number.NaN });
  // Whatever a settled sum becomes, it does not lift the limit.
  expect(Number.isNaN(broken.consumed.costUsd) ? broken.exceeded() : "counted").toMatch(/cost|counted/);
});

describe("LIM-13 a budget survives a restart", () => {
  test("LIM-13 what was spent goes through JSON and counts again", () => {
    const before = trackBudget({ maxTotalTokens: 100, maxCostUsd: 1 });
    before
      .reserve({ inputTokens: 0, outputTokens: 0 })
      ?.settle({ ...used(30, 10, 0.25), cachedInputTokens: 7, estimated: true });
    const underWay = before.reserve({ inputTokens: 20, outputTokens: 20 });
    const text = JSON.stringify(before);
    const after = trackBudget({ maxTotalTokens: 100, maxCostUsd: 1 }, JSON.parse(text));
    expect(after.consumed).toEqual(before.consumed);
    expect(after.remaining()).toMatchObject({ totalTokens: 60, costUsd: 0.75 });
    expect(JSON.parse(JSON.stringify(after))).toEqual(JSON.parse(text));
    underWay?.settle(used(20, 20));
    expect(JSON.parse(JSON.stringify(before)).consumed.totalTokens).toBe(80);
  });

  test("LIM-13 a budget that was passed stays so; what is left out is nothing", () => {
    expect(trackBudget({ maxTotalTokens: 10 }, { consumed: used(9, 2) }).exceeded()).toBe("total_tokens");
    expect(trackBudget({ maxTotalTokens: 10 }, {}).consumed).toEqual(noUsage);
    expect(trackBudget({ maxTotalTokens: 10 }, { consumed: { inputTokens: 3, outputTokens: 4 } }).consumed).toEqual(
      used(3, 4),
    );
    // A total smaller than its parts would give some of the budget back.
    const small = { inputTokens: 3, outputTokens: 4, totalTokens: 1 };
    expect(trackBudget({ maxTotalTokens: 10 }, { consumed: small }).consumed.totalTokens).toBe(7);
  });

  test("LIM-13 LIM-6 what was saved makes no sum that is infinite, however large it is", () => {
    const saved = { consumed: { inputTokens: 1e308, outputTokens: 1e308, totalTokens: 1e308 } };
    const tracker = trackBudget({ maxTotalTokens: 10 }, saved);
    const back = JSON.parse(JSON.stringify(tracker)) as typeof saved;
    expect(back.consumed.totalTokens).toBe(Number.MAX_SAFE_INTEGER);
    expect(trackBudget({ maxTotalTokens: 10 }, back).exceeded()).toBe("total_tokens");
  });

  test.each<[unknown, string]>([
    [null, "The second argument of trackBudget must be an object"],
    [{ spent: 1 }, "The second argument of trackBudget has no option spent"],
    [{ consumed: [] }, "consumed must be an object"],
    [{ consumed: { tokens: 1 } }, "consumed has no option tokens"],
    [{ consumed: { totalTokens: -1 } }, "consumed.totalTokens must be a number from 0, not -1."],
    [{ consumed: { totalTokens: Number.NaN } }, "consumed.totalTokens must be a number from 0"],
    [{ consumed: { costUsd: Infinity } }, "consumed.costUsd must be a number from 0"],
    [{ consumed: { inputTokens: "5" } }, "consumed.inputTokens must be a number from 0"],
    [{ consumed: { inputTokens: null } }, "consumed.inputTokens must be a number from 0"],
    [{ consumed: { estimated: 1 } }, "consumed.estimated must be true or false"],
  ])("LIM-13 %j is refused", (saved, message) => {
    const error = caught(() => trackBudget({ maxTotalTokens: 1 }, saved as never));
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error.message).toContain(message);
  });
});
