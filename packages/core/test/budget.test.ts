import { describe, expect, test } from "vitest";
import {
  countSpending,
  deadlineIn,
  DefinitionError,
  trackBudget,
  type Budget,
  type SavedBudget,
  type Usage,
} from "@proviso/core";
import { addUsage, countUsage, noUsage } from "@proviso/core/internal";
import { caught } from "./support/caught.ts";

const used = (inputTokens: number, outputTokens: number, costUsd?: number): Usage => ({
  ...noUsage,
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens,
  ...(costUsd === undefined ? {} : { costUsd }),
});
const spend = (tracker: ReturnType<typeof trackBudget>, usage: Usage) =>
  tracker.reserve({ inputTokens: 0, outputTokens: 0 })?.settle(usage);

describe("LIM-4 budgets", () => {
  test("LIM-4 a budget without a limit is a DefinitionError", () => {
    for (const budget of [{}, { maxTotalTokens: undefined }]) {
      expect(caught(() => trackBudget(budget))).toBeInstanceOf(DefinitionError);
      expect(caught(() => trackBudget(budget)).message).toContain("at least one limit");
    }
  });

  test.each(["maxTotalTokens", "maxInputTokens", "maxOutputTokens", "maxCostUsd"] as const)(
    "LIM-4 %s must be a positive number",
    (name) => {
      for (const value of [0, -1, NaN, Infinity, "10", null, 5n]) {
        const error = caught(() => trackBudget({ maxTotalTokens: 1, [name]: value } as Budget));
        const shown = value === "10" ? '"10"' : value === 5n ? "5n" : String(value);
        expect(error).toBeInstanceOf(DefinitionError);
        expect(error.message).toBe(`The budget's ${name} must be a positive number, not ${shown}.`);
      }
      expect(trackBudget({ [name]: 0.5 }).exceeded()).toBeUndefined();
    },
  );

  test("LIM-4 LIM-13 what counts spending limits nothing and goes on after a restart, and a budget that is none limits nothing by mistake", () => {
    const tracker = countSpending();
    spend(tracker, used(1_000_000, 5, 900));
    expect(tracker.consumed).toEqual(used(1_000_000, 5, 900));
    expect(tracker.exceeded()).toBeUndefined();
    expect(tracker.remaining().costUsd).toBe(Infinity);
    expect(tracker.budget).toEqual({});
    const saved = JSON.parse(JSON.stringify(tracker)) as SavedBudget;
    const later = countSpending(saved);
    spend(later, used(1, 1, 0));
    expect(later.consumed).toEqual(used(1_000_001, 6, 900));
    expect(caught(() => countSpending({ consumed: { inputTokens: -1 } }))).toBeInstanceOf(DefinitionError);
    for (const none of [undefined, null]) {
      expect(caught(() => trackBudget(none as never))).toBeInstanceOf(DefinitionError);
    }
  });

  test("LIM-4 a deadline is a limit", () => {
    const tracker = trackBudget({ deadline: deadlineIn(1_000) });
    expect(tracker.remaining()).toEqual({
      totalTokens: Infinity,
      inputTokens: Infinity,
      outputTokens: Infinity,
      costUsd: Infinity,
    });
  });

  test.each<[Budget, Usage, Usage, string]>([
    [{ maxTotalTokens: 10 }, used(4, 6), used(0, 1), "total_tokens"],
    [{ maxInputTokens: 10 }, used(10, 99), used(1, 0), "input_tokens"],
    [{ maxOutputTokens: 10 }, used(99, 10), used(0, 1), "output_tokens"],
    [{ maxCostUsd: 0.5 }, used(99, 99, 0.5), used(0, 0, 0.01), "cost"],
  ])("LIM-4 with %o, over means more than the limit", (budget, exactly, more, dimension) => {
    const tracker = trackBudget(budget);
    expect(tracker.exceeded()).toBeUndefined();
    spend(tracker, exactly);
    expect(tracker.exceeded()).toBeUndefined();
    spend(tracker, more);
    expect(tracker.exceeded()).toBe(dimension);
  });

  test("LIM-4 a tracker sums what is settled and returns what remains", () => {
    const tracker = trackBudget({ maxTotalTokens: 100, maxCostUsd: 1 });
    spend(tracker, used(10, 5));
    spend(tracker, { ...used(1, 2, 0.25), estimated: true, cachedInputTokens: 1, reasoningTokens: 2 });
    expect(tracker.consumed).toEqual({
      inputTokens: 11,
      outputTokens: 7,
      totalTokens: 18,
      cachedInputTokens: 1,
      cacheWriteTokens: 0,
      reasoningTokens: 2,
      costUsd: 0.25,
      unpricedTokens: 15,
      estimated: true,
    });
    expect(tracker.remaining()).toEqual({
      totalTokens: 82,
      inputTokens: Infinity,
      outputTokens: Infinity,
      costUsd: 0.75,
    });
  });

  test("LIM-4 the budget is copied", () => {
    const budget = { maxTotalTokens: 1 };
    const tracker = trackBudget(budget);
    budget.maxTotalTokens = 1_000;
    expect(tracker.budget).toEqual({ maxTotalTokens: 1 });
    expect(Object.isFrozen(tracker.budget)).toBe(true);
  });
});

describe("LIM-4 reservations", () => {
  test("LIM-4 what is reserved is held until it settles", () => {
    const tracker = trackBudget({ maxTotalTokens: 100 });
    const held = tracker.reserve({ inputTokens: 30, outputTokens: 30 });
    expect(tracker.remaining().totalTokens).toBe(40);
    expect(tracker.reserve({ inputTokens: 20, outputTokens: 21 })).toBeUndefined();
    expect(tracker.consumed).toEqual(noUsage);
    held?.settle(used(10, 10));
    expect(tracker.remaining().totalTokens).toBe(80);
    expect(tracker.reserve({ inputTokens: 40, outputTokens: 40 })).toBeDefined();
    expect(tracker.remaining().totalTokens).toBe(0);
  });

  test("LIM-4 a reservation settles once", () => {
    const tracker = trackBudget({ maxTotalTokens: 100 });
    const held = tracker.reserve({ inputTokens: 10, outputTokens: 10 });
    held?.settle(used(1, 1));
    held?.settle(used(50, 50));
    expect(tracker.consumed.totalTokens).toBe(2);
    expect(tracker.remaining().totalTokens).toBe(98);
  });

  test("LIM-4 every dimension has to have room, and nothing always fits", () => {
    const tracker = trackBudget({ maxInputTokens: 10, maxOutputTokens: 5, maxCostUsd: 1 });
    expect(tracker.reserve({ inputTokens: 11, outputTokens: 0 })).toBeUndefined();
    expect(tracker.reserve({ inputTokens: 0, outputTokens: 6 })).toBeUndefined();
    expect(tracker.reserve({ inputTokens: 10, outputTokens: 5 })).toBeDefined();
    spend(tracker, used(0, 0, 1));
    expect(tracker.reserve({ inputTokens: 0, outputTokens: 1 })).toBeUndefined();
    expect(tracker.reserve({ inputTokens: 0, outputTokens: 0 })).toBeDefined();
    const paid = trackBudget({ maxCostUsd: 1 });
    expect(paid.reserve({ inputTokens: 1, outputTokens: 1 })).toBeDefined();
    spend(paid, used(0, 0, 1));
    expect(paid.reserve({ inputTokens: 1, outputTokens: 1 })).toBeUndefined();
  });
});

describe("usage", () => {
  test("a sum has a cost as soon as one part has, and is an estimate as soon as one part is", () => {
    expect(addUsage(used(1, 2), used(3, 4))).toEqual(used(4, 6));
    expect("costUsd" in addUsage(used(1, 2), used(3, 4))).toBe(false);
    expect(addUsage(used(1, 0, 0.5), used(1, 0)).costUsd).toBe(0.5);
    expect(addUsage(noUsage, { ...noUsage, estimated: true }).estimated).toBe(true);
    expect(Object.isFrozen(noUsage)).toBe(true);
  });
});

const odd = [NaN, Infinity, -Infinity, -1, 2 ** 53, 1e308, "12", null, {}, 3n, Symbol("n")];

describe("LIM-6 the door for numbers", () => {
  test.each(odd)("LIM-6 %o for a count is an estimate, and for a cost none", (value) => {
    const reported = { inputTokens: value, outputTokens: 3, totalTokens: value, cachedInputTokens: value };
    const counted = countUsage(reported, { inputTokens: 7, outputTokens: 9 });
    expect(counted).toEqual({ ...used(7, 3), estimated: true });
    const cost = typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
    const paid = countUsage({ ...used(1, 2), costUsd: value }, used(7, 9));
    expect(paid.costUsd).toBe(cost);
    expect(paid.estimated).toBe(cost === undefined && value !== null);
  });

  test("LIM-6 what is no usage at all, and one that throws when it is read, are estimates", () => {
    const throwing = new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
      },
    );
    for (const reported of [undefined, null, 7, "usage", throwing]) {
      expect(countUsage(reported, used(7, 9))).toEqual({ ...used(7, 9), estimated: true });
    }
    expect(countUsage(noUsage, used(7, 9))).toEqual(noUsage);
    expect(countUsage({ ...used(1, 2), estimated: true }, used(7, 9)).estimated).toBe(true);
  });

  test.each([
    [
      "beside the answer, by the total",
      { output: 9, reasoning: 7, total: 26 },
      { output: 16, reasoning: 7, total: 26 },
    ],
    ["in the answer, by the total", { output: 9, reasoning: 7, total: 19 }, { output: 9, reasoning: 7, total: 19 }],
    ["in the answer, without a total", { output: 9, reasoning: 7 }, { output: 9, reasoning: 7, total: 19 }],
    ["more than the answer, without a total", { output: 7, reasoning: 9 }, { output: 16, reasoning: 9, total: 26 }],
    [
      "more than the answer, not in the total",
      { output: 7, reasoning: 9, total: 17 },
      { output: 16, reasoning: 9, total: 26 },
    ],
    ["none, with a larger total", { output: 9, reasoning: 0, total: 50 }, { output: 9, reasoning: 0, total: 50 }],
    ["none, with a total that is too small", { output: 9, total: 5 }, { output: 9, reasoning: 0, total: 19 }],
  ])("LIM-6 thoughts that are %s", (_, reported, expected) => {
    const usageOf = ({ output, reasoning, total }: { output: number; reasoning?: number; total?: number }) => ({
      inputTokens: 10,
      outputTokens: output,
      ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
      ...(total === undefined ? {} : { totalTokens: total }),
    });
    const counted = countUsage(usageOf(reported), noUsage);
    expect(counted).toEqual({ ...noUsage, ...usageOf(expected) });
    expect(countUsage(counted, noUsage)).toEqual(counted);
  });

  test("LIM-6 a sum is never infinite and never NaN", () => {
    const most = { ...used(0, 0, 1e308), ...tokens(Number.MAX_SAFE_INTEGER) };
    const sum = addUsage(countUsage(most, noUsage), countUsage(most, noUsage));
    expect(sum).toEqual({ ...used(0, 0, Number.MAX_VALUE), ...tokens(Number.MAX_SAFE_INTEGER) });
    expect(JSON.parse(JSON.stringify(sum))).toEqual(sum);
  });

  test.each(odd)("LIM-6 a tracker that is given %o stays within its limits", (value) => {
    const tracker = trackBudget({ maxTotalTokens: 50, maxInputTokens: 50, maxOutputTokens: 50, maxCostUsd: 1 });
    expect(tracker.reserve({ inputTokens: value as number, outputTokens: 0 })).toBeUndefined();
    expect(tracker.reserve({ inputTokens: 0, outputTokens: value as number })).toBeUndefined();
    const actual = { inputTokens: value, outputTokens: value, totalTokens: value } as unknown as Usage;
    tracker.reserve({ inputTokens: 20, outputTokens: 10 })?.settle(actual);
    expect(tracker.consumed).toEqual({ ...used(20, 10), estimated: true });
    tracker.reserve({ inputTokens: 10, outputTokens: 10 })?.settle(used(20, 1));
    expect(tracker.exceeded()).toBe("total_tokens");
    expect(tracker.reserve({ inputTokens: 1, outputTokens: 0 })).toBeUndefined();
  });
});

function tokens(count: number): Partial<Usage> {
  return { inputTokens: count, outputTokens: count, totalTokens: count };
}
