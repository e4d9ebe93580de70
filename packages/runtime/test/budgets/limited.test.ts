import {
  definePrompt,
  defineTool,
  trackBudget,
  type Budget,
  type BudgetTracker,
  type ModelFailure,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
} from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { call, promptWith, rejection, writes } from "../support.ts";

const ask = definePrompt({ ns: "tests", key: "ask", text: "Tell a long story." }).bind();

/** Answers what it is told to, cut where the request says; keeps the limits that it was asked for. */
function model(
  tokens: number,
  more: Partial<ModelProvider> & { refuse?: (limit: number | undefined) => ModelFailure | undefined } = {},
): ModelProvider & { readonly limits: (number | undefined)[] } {
  const { refuse, ...rest } = more;
  const limits: (number | undefined)[] = [];
  return {
    name: "model",
    model: "m",
    capabilities: { tools: true, nativeOutput: true, outputLimit: { least: 1 } },
    limits,
    async generate(request: ModelRequest): Promise<ModelResponse | ModelFailure> {
      const { maxOutputTokens } = request;
      limits.push(maxOutputTokens);
      const refusal = refuse?.(maxOutputTokens);
      if (refusal !== undefined) return refusal;
      const most = Math.min(maxOutputTokens ?? Infinity, rest.maxOutputTokens ?? Infinity);
      const outputTokens = Math.min(tokens, most);
      const finishReason = outputTokens < tokens ? "length" : "stop";
      const usage = { inputTokens: 20, outputTokens, totalTokens: 20 + outputTokens };
      return { message: { role: "assistant", text: "x ".repeat(outputTokens), toolCalls: [] }, finishReason, usage };
    },
    ...rest,
  };
}

const pricing = { input: 1, output: 10 };
const evaluate = (provider: ModelProvider, budget: Budget | BudgetTracker, more = {}) =>
  modelAdapter(provider, { ...fakeEnvironment(), ...more }).evaluate(ask, { budget });

describe("LIM-10 a request asks for no more than the budget has left", () => {
  test("LIM-10 in tokens, output tokens and dollars alike", async () => {
    const outputs = model(5_000);
    expect(await rejection(evaluate(outputs, { maxOutputTokens: 100 }))).toMatchObject({
      code: "budget",
      dimension: "output_tokens",
      phase: "response",
      limit: 100,
      spent: 100,
      reserved: 0,
      text: "x ".repeat(100),
      usage: { outputTokens: 100 },
      message: "The budget cut the answer short after 100 tokens: output tokens: limit 100, spent 100, reserved 0.",
    });
    const totals = model(5_000);
    const error = await rejection(evaluate(totals, { maxTotalTokens: 1_000 }));
    expect(error).toMatchObject({ code: "budget", dimension: "total_tokens" });
    expect((error["usage"] as { totalTokens: number }).totalTokens).toBeLessThanOrEqual(1_020);
    expect(totals.limits[0]).toBeGreaterThan(940);
    const dollars = model(5_000);
    expect(await rejection(evaluate(dollars, { maxCostUsd: 0.001 }, { pricing }))).toMatchObject({
      code: "budget",
      dimension: "cost",
    });
    // A dollar buys 100,000 tokens of output; the input of some 25 tokens costs as much as three of them.
    expect(dollars.limits[0]).toBeGreaterThanOrEqual(95);
    expect(dollars.limits[0]).toBeLessThan(100);
  });

  test("LIM-10 the smallest of all budgets counts, and a limit that limits nothing is not sent", async () => {
    const wide = model(10);
    await evaluate(wide, { maxTotalTokens: 1_000_000 });
    await evaluate(wide, { maxInputTokens: 1_000 });
    expect(wide.limits).toEqual([undefined, undefined]);
  });

  test.each([
    ["inner", { inner: 50, outer: 1_000 }],
    ["outer", { inner: 1_000, outer: 50 }],
  ])("LIM-10 of two budgets the %s one counts where it is the smaller", async (_, { inner, outer }) => {
    const told = model(10);
    const nest = defineTool({
      name: "nest",
      description: "Evaluates inside.",
      input: z.object({}),
      execute: async (_input, context) =>
        (await context.evaluate(ask, { adapter: modelAdapter(told), budget: { maxOutputTokens: inner } })).text,
    });
    const usage = { inputTokens: 20, outputTokens: 0 };
    const script = scriptedModel([
      { toolCalls: [{ name: "nest" }], usage },
      { text: "Done.", usage },
    ]);
    await modelAdapter(script).evaluate(promptWith(nest), { budget: { maxOutputTokens: outer } });
    expect(told.limits).toEqual([50]);
  });

  test("LIM-10 LOOP-5 what the model's own bound cut short is truncated, as without a budget", async () => {
    const bounded = model(5_000, { maxOutputTokens: 50 });
    expect(await rejection(evaluate(bounded, { maxTotalTokens: 1_000 }))).toMatchObject({
      code: "provider",
      reason: "truncated",
    });
    expect(bounded.limits).toEqual([undefined]);
    const narrower = model(5_000, { maxOutputTokens: 500 });
    expect(await rejection(evaluate(narrower, { maxTotalTokens: 200 }))).toMatchObject({ code: "budget" });
    // It stopped long before the limit: by a maximum that nobody has told of.
    const silent: ModelProvider = { ...model(0), generate: async () => cutAt(100) };
    expect(await rejection(evaluate(silent, { maxTotalTokens: 5_000 }))).toMatchObject({ reason: "truncated" });
  });

  test("LIM-10 a model that refuses what it could not finish within the limit is not asked without it, and has spent it", async () => {
    const unfinished: ModelFailure = { failure: "provider", reason: "truncated", message: "Could not finish." };
    const provider = model(5_000, { refuse: () => unfinished });
    const budget = trackBudget({ maxOutputTokens: 100 });
    expect(await rejection(evaluate(provider, budget))).toMatchObject({
      code: "budget",
      dimension: "output_tokens",
      spent: 100,
      usage: { outputTokens: 100, estimated: true },
    });
    expect(provider.limits).toEqual([100]);
    expect(budget.remaining().outputTokens).toBe(0);

    const bounded = model(5_000, { refuse: () => unfinished, maxOutputTokens: 50 });
    expect(await rejection(evaluate(bounded, { maxOutputTokens: 100 }))).toMatchObject({
      reason: "truncated",
      phase: "response",
      usage: { outputTokens: 50, estimated: true },
    });
  });

  test("LIM-10 a cut inside a tool call runs no tool", async () => {
    const script = scriptedModel([
      { toolCalls: [call("write", { text: "a" })], usage: { inputTokens: 20, outputTokens: 5_000 } },
    ]);
    const error = await rejection(
      modelAdapter(script).evaluate(promptWith(writes), { budget: { maxOutputTokens: 100 }, resources: [] }),
    );
    expect(error).toMatchObject({ code: "budget", toolResults: [], usage: { outputTokens: 100 } });
  });

  test("LIM-10 with less left than the service takes nothing is sent", async () => {
    const provider = model(5, { capabilities: { tools: true, nativeOutput: true, outputLimit: { least: 16 } } });
    expect(await rejection(evaluate(provider, { maxOutputTokens: 15 }))).toMatchObject({
      code: "budget",
      phase: "request",
      wanted: 16,
      message: "The budget has no room for the request: output tokens: limit 15, spent 0, reserved 0, wanted 16.",
    });
    expect(provider.limits).toEqual([]);
    await evaluate(provider, { maxOutputTokens: 16 });
    expect(provider.limits).toEqual([16]);
  });

  test("LIM-10 the input counts before it is sent", async () => {
    const provider = model(5);
    const long = definePrompt({ ns: "tests", key: "long", text: "word ".repeat(2_000) }).bind();
    for (const budget of [{ maxTotalTokens: 500 }, { maxInputTokens: 500 }]) {
      const error = await rejection(modelAdapter(provider).evaluate(long, { budget }));
      expect(error).toMatchObject({ code: "budget", phase: "request", limit: 500, spent: 0 });
      expect(error.message).toMatch(
        /^The budget has no room for the request: \w+ tokens: limit 500, spent 0, .* wanted 20\d\d\.$/,
      );
    }
    expect(provider.limits).toEqual([]);
  });

  test("LIM-10 a model that cannot be limited is not, and needs room for its own bound", async () => {
    const capabilities = { tools: true, nativeOutput: true };
    const unlimited = model(100, { capabilities });
    expect((await rejection(evaluate(unlimited, { maxOutputTokens: 50 }))).message).toContain("The budget is spent");
    expect(unlimited.limits).toEqual([undefined]);
    const bounded = model(100, { capabilities, maxOutputTokens: 100 });
    expect(await rejection(evaluate(bounded, { maxOutputTokens: 99 }))).toMatchObject({
      phase: "request",
      wanted: 100,
    });
  });
});

describe("LIM-10 a limit that the model refuses", () => {
  const tooLarge = (limit = 0): ModelFailure | undefined =>
    limit <= 8_192
      ? undefined
      : { failure: "provider", reason: "bad_request", message: `max_tokens is too large: ${limit}.` };

  test("LIM-10 goes out once more without it, and the adapter remembers", async () => {
    const provider = model(10, { refuse: tooLarge });
    const adapter = modelAdapter(provider, fakeEnvironment());
    for (let n = 0; n < 3; n++) await adapter.evaluate(ask, { budget: { maxOutputTokens: 50_000 } });
    expect(provider.limits).toEqual([50_000, undefined, undefined, undefined]);
    await adapter.evaluate(ask, { budget: { maxOutputTokens: 5_000 } });
    expect(provider.limits.at(-1)).toBe(5_000);
  });

  test("LIM-10 goes out once more where the policy allows one attempt only, and is asked as often as it says", async () => {
    let busy = 0;
    const refuse = (limit?: number): ModelFailure | undefined => {
      if (limit !== undefined) return tooLarge(limit);
      return ++busy > 1 ? undefined : { failure: "throttle", kind: "rate_limit", message: "busy" };
    };
    const environment = fakeEnvironment();
    const provider = model(10, { refuse });
    const adapter = modelAdapter(provider, { ...environment, throttle: { maxAttempts: 2, baseDelayMs: 1 } });
    const evaluating = adapter.evaluate(ask, { budget: { maxOutputTokens: 50_000 } });
    await environment.clock.advance(1_000);
    await evaluating;
    expect(provider.limits).toEqual([50_000, undefined, undefined]);
  });

  test("LIM-10 a refusal for another reason is the second one, and nothing is remembered", async () => {
    const refuse = (): ModelFailure => ({ failure: "provider", reason: "bad_request", message: "no" });
    const provider = model(10, { refuse });
    const adapter = modelAdapter(provider, fakeEnvironment());
    const budget = { maxOutputTokens: 100 };
    for (let n = 0; n < 2; n++) {
      expect(await rejection(adapter.evaluate(ask, { budget }))).toMatchObject({
        reason: "bad_request",
        message: "no",
      });
    }
    expect(provider.limits).toEqual([100, undefined, 100, undefined]);
  });
});

function cutAt(outputTokens: number): ModelResponse {
  const usage = { inputTokens: 20, outputTokens, totalTokens: 20 + outputTokens };
  return { message: { role: "assistant", text: "Once", toolCalls: [] }, finishReason: "length", usage };
}
