import { definePrompt, trackBudget, type ModelProvider, type ReportedUsage } from "@proviso/core";
import { modelAdapter, type AdapterOptions } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { rejection } from "../support.ts";

const ask = definePrompt({ ns: "tests", key: "ask", text: "Ask." }).bind();
const million = { inputTokens: 1_000_000, outputTokens: 1_000_000, totalTokens: 2_000_000 };

const adapterOf = (usage: ReportedUsage, options: AdapterOptions = {}, model = "house-model") => {
  const script = scriptedModel([
    { text: "ok", usage },
    { text: "ok", usage },
  ]);
  const provider: ModelProvider = Object.assign(script, { model });
  return { script, adapter: modelAdapter(provider, { ...fakeEnvironment(), ...options }) };
};
const costOf = async (usage: ReportedUsage, options?: AdapterOptions, model?: string) =>
  (await adapterOf(usage, options, model).adapter.evaluate(ask)).usage.costUsd;

describe("LIM-12 what a request cost", () => {
  test("LIM-12 is what the provider reported, before any price", async () => {
    expect(await costOf({ ...million, costUsd: 0.5 }, { pricing: { input: 1, output: 2 } })).toBe(0.5);
    expect(await costOf({ ...million, costUsd: 0 }, { pricing: { input: 1, output: 2 } })).toBe(0);
  });

  test("LIM-12 is priced by the adapter's own prices, cached and reasoning tokens by theirs", async () => {
    const parts = { ...million, cachedInputTokens: 400_000, reasoningTokens: 250_000 };
    expect(await costOf(parts, { pricing: { input: 1, output: 2 } })).toBeCloseTo(3, 9);
    const pricing = { input: 1, output: 2, cachedInput: 0.1, reasoning: 4 };
    expect(await costOf(parts, { pricing })).toBeCloseTo(0.6 + 0.04 + 1.5 + 1, 9);
  });

  test("LIM-12 counts no token twice where the parts that are reported are more than the whole", async () => {
    const pricing = { input: 1, output: 2, cachedInput: 0.1, cacheWrite: 10, reasoning: 4 };
    const input = { inputTokens: 1_000_000, outputTokens: 0, totalTokens: 1_000_000 };
    // What is left beside the cached ones was written.
    const written = { ...input, cachedInputTokens: 400_000, cacheWriteTokens: 900_000 };
    expect(await costOf(written, { pricing })).toBeCloseTo(0.04 + 6, 9);
    expect(await costOf({ ...input, cachedInputTokens: 2_000_000 }, { pricing })).toBeCloseTo(0.1, 9);
    // More thoughts than answer were counted beside it (LIM-6).
    expect(await costOf({ ...million, reasoningTokens: 2_000_000 }, { pricing })).toBeCloseTo(1 + 2 + 8, 9);
  });

  test("LIM-12 is priced from the catalog by the model's name, in each turn, event and sum", async () => {
    const usage = { inputTokens: 1_000, outputTokens: 1_000, cachedInputTokens: 500 };
    const priced = await costOf(usage, {}, "gpt-4o-mini");
    // 0.15 and 0.075 dollars for a million of the input, 0.60 of the output.
    expect(priced).toBeCloseTo((500 * 0.15 + 500 * 0.075 + 1_000 * 0.6) / 1e6, 9);
    expect(await costOf(usage, {}, "openai/gpt-4o-mini")).toBe(priced);
  });

  test("LIM-12 depends on the size of a request where the catalog says so", async () => {
    const small = { inputTokens: 100_000, outputTokens: 0, totalTokens: 100_000 };
    const large = { inputTokens: 400_000, outputTokens: 0, totalTokens: 400_000 };
    const [of, more] = [await costOf(small, {}, "gemini-2.5-pro"), await costOf(large, {}, "gemini-2.5-pro")];
    expect((more ?? 0) / (of ?? 1)).toBeCloseTo(8, 6);
  });

  test("LIM-12 the price of an unknown model is not known", async () => {
    expect(await costOf(million)).toBeUndefined();
  });
});

test("LIM-12 a scripted model has no price, and with the name of a service's model it has that one's", async () => {
  const usage = { inputTokens: 1_000, outputTokens: 1_000 };
  const script = () => scriptedModel([{ text: "ok", usage }]);
  const cost = async (provider: ModelProvider) =>
    (await modelAdapter(provider, fakeEnvironment()).evaluate(ask)).usage.costUsd;
  expect(await cost(script())).toBeUndefined();
  expect(await cost({ ...script(), model: "gpt-4o-mini" })).toBeCloseTo(0.00075, 9);
});

describe("LIM-12 a limit in dollars", () => {
  test("LIM-12 holds by the prices", async () => {
    const { adapter, script } = adapterOf(million, {}, "gpt-4o-mini");
    const budget = trackBudget({ maxCostUsd: 0.000_001 });
    expect(await rejection(adapter.evaluate(ask, { budget }))).toMatchObject({
      code: "budget",
      dimension: "cost",
      phase: "request",
      limit: 0.000_001,
    });
    expect(script.callCount).toBe(0);
  });

  test("LIM-12 is refused before the first request where the price is not known, with what to pass", async () => {
    const { adapter, script } = adapterOf(million);
    const error = await rejection(adapter.evaluate(ask, { budget: { maxCostUsd: 1 } }));
    expect(error.message).toContain('The budget has maxCostUsd, but the price of "house-model" is not known');
    expect(error.message).toContain("{ pricing: { input: 2.5, output: 15 } }");
    expect(script.callCount).toBe(0);
    expect(error).toMatchObject({ code: "option", option: "budget", phase: "render" });
  });

  test("LIM-12 needs no price where the model reports its costs", async () => {
    const { adapter } = adapterOf({ ...million, costUsd: 0.4 });
    const budget = trackBudget({ maxCostUsd: 1 });
    await adapter.evaluate(ask, { budget });
    expect(budget.consumed.costUsd).toBe(0.4);
  });
});

describe("LIM-12 prices that are none are refused when the adapter is made", () => {
  test.each([
    [5, "The option pricing must be { input: 2.5, output: 15 }"],
    [{ input: 1 }, "The option pricing.output must be a number from 0"],
    [{ input: -1, output: 1 }, "The option pricing.input must be a number from 0"],
    [{ input: 1, output: Number.NaN }, "The option pricing.output must be a number from 0"],
    [
      { input: 1, output: 1, cached: 1 },
      "The option pricing has no option cached. It takes input, output, cachedInput",
    ],
  ])("LIM-12 %o", (pricing, message) => {
    expect(() => modelAdapter(scriptedModel([]), { pricing: pricing as never })).toThrow(message);
  });
});
