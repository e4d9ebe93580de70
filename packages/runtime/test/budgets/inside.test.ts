import { definePrompt, defineTool, trackBudget, type BudgetTracker, type ModelProvider } from "@proviso/core";
import { agentAdapter, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "../support.ts";

const ask = definePrompt({ ns: "tests", key: "ask", text: "Ask." }).bind();
const pricing = { input: 1, output: 1 };
const environment = () => ({ ...fakeEnvironment(), pricing });
const usage = { inputTokens: 20, outputTokens: 10, totalTokens: 30 };
const done = { message: { role: "assistant", text: "ok", toolCalls: [] }, finishReason: "stop", usage } as const;
const capabilities = { tools: true, nativeOutput: true, outputLimit: { least: 1 } };
const inner = () => modelAdapter(scriptedModel([{ text: "inner", usage }]), environment());
const turn = async (): Promise<void> => {
  for (let n = 0; n < 50; n++) await Promise.resolve();
};

/** Evaluates something on the tracker before it answers; the clock stands still, so a wait would be for ever. */
function consulting(budget: BudgetTracker, bound?: number) {
  const seen: { error?: Error & Record<string, unknown>; tokens?: number } = {};
  const provider: ModelProvider = {
    name: "consulting",
    model: "m",
    maxOutputTokens: bound,
    capabilities,
    async generate() {
      await Promise.resolve();
      const consulted = inner().evaluate(ask, { budget });
      await consulted.then(
        (response) => (seen.tokens = response.usage.totalTokens),
        (error: Error & Record<string, unknown>) => (seen.error = error),
      );
      return done;
    },
  };
  return { adapter: modelAdapter(provider, environment()), seen };
}

test("LIM-5 what a model evaluates while it answers is refused where its own request holds all that is left", async () => {
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const { adapter, seen } = consulting(budget);
  await adapter.evaluate(ask, { budget });
  expect(seen.error).toMatchObject({ code: "budget", phase: "request", spent: 0, reserved: 1_000 });
  expect(seen.error?.message).toContain("in whose code it begins");
  expect(budget.consumed.totalTokens).toBe(30);
  expect(budget.remaining().totalTokens).toBe(970);
});

test("LIM-5 what a model evaluates while it answers takes what its own request has left", async () => {
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const { adapter, seen } = consulting(budget, 100);
  await adapter.evaluate(ask, { budget });
  expect(seen).toEqual({ tokens: 30 });
  expect(budget.consumed.totalTokens).toBe(60);
});

test("LIM-5 what a model evaluates while it answers does not stand behind those that wait for that model", async () => {
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const { adapter, seen } = consulting(budget, 100);
  const outer = adapter.evaluate(ask, { budget });
  const waiting = modelAdapter(scriptedModel([{ text: "late", usage }]), environment()).evaluate(ask, { budget });
  await Promise.all([outer, waiting]);
  expect(seen).toEqual({ tokens: 30 });
  expect(budget.consumed.totalTokens).toBe(90);
});

test("LIM-5 what an agent evaluates beside its calls is refused at once, and inside a call it finds room", async () => {
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: async () => (await inner().evaluate(ask, { budget })).text,
  });
  const prompt = definePrompt({ ns: "tests", key: "l", sections: [{ key: "a", text: "Look.", tools: [look] }] }).bind();
  const codes: unknown[] = [];
  const adapter = agentAdapter(
    {
      name: "agent",
      model: "m",
      async drive({ executeToolCall }) {
        codes.push((await rejection(inner().evaluate(ask, { budget })))["code"]);
        codes.push((await executeToolCall({ id: "1", name: "look", arguments: "{}" })).text);
        codes.push((await rejection(inner().evaluate(ask, { budget })))["code"]);
        return done;
      },
    },
    environment(),
  );
  await adapter.evaluate(prompt, { budget });
  expect(codes).toEqual(["budget", "inner", "budget"]);
  expect(budget.consumed.totalTokens).toBe(60);
});

test("LIM-5 a tool's own evaluation on the tracker does not wait: the request before it has settled", async () => {
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: async () => (await inner().evaluate(ask, { budget })).text,
  });
  const prompt = definePrompt({ ns: "tests", key: "l", sections: [{ key: "a", text: "Look.", tools: [look] }] }).bind();
  const model = scriptedModel([
    { toolCalls: [{ name: "look", arguments: {} }], usage },
    { text: "done", usage },
  ]);
  const { toolResults } = await modelAdapter(model, environment()).evaluate(prompt, { budget });
  expect(toolResults).toMatchObject([{ result: { value: "inner" } }]);
  expect(budget.consumed.totalTokens).toBe(90);
});

test("LIM-5 what a model began and left behind waits like any other once the model has answered", async () => {
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  let behind: Promise<unknown> | undefined;
  let answer: (() => void) | undefined;
  const held = modelAdapter(
    {
      name: "held",
      model: "m",
      capabilities,
      async generate() {
        await new Promise<void>((resolve) => (answer = resolve));
        return done;
      },
    },
    environment(),
  );
  const leaving: ModelProvider = {
    name: "leaving",
    model: "m",
    capabilities,
    async generate() {
      behind = turn().then(() => inner().evaluate(ask, { budget }));
      return done;
    },
  };
  await modelAdapter(leaving, environment()).evaluate(ask, { budget });
  const other = held.evaluate(ask, { budget });
  await turn();
  await turn();
  answer?.();
  await Promise.all([other, behind]);
  expect(budget.consumed.totalTokens).toBe(90);
});

test("LIM-5 LIM-7 evaluations inside calls that spend from two budgets in opposite order do not wait for each other", async () => {
  const [first, second] = [trackBudget({ maxTotalTokens: 2_000 }), trackBudget({ maxTotalTokens: 2_000 })];
  const both = Promise.withResolvers<void>();
  let begun = 0;
  const asking = (own: BudgetTracker) => {
    const evaluate = defineTool({
      name: "evaluate",
      description: "Evaluates three times.",
      input: z.object({}),
      uses: [],
      async execute(_, context) {
        if (++begun === 2) both.resolve();
        await both.promise;
        await Promise.all([1, 2, 3].map(() => context.evaluate(ask, { budget: own, adapter: inner() })));
      },
    });
    return definePrompt({ key: "outer", sections: [{ key: "task", text: "Ask.", tools: [evaluate] }] }).bind();
  };
  const outer = () => modelAdapter(scriptedModel([{ toolCalls: [{ name: "evaluate" }] }, { text: "done", usage }]));
  // Those that waited for each other would end by it.
  const signal = AbortSignal.timeout(60_000);
  const ended = await Promise.allSettled([
    outer().evaluate(asking(second), { budget: first, signal }),
    outer().evaluate(asking(first), { budget: second, signal }),
  ]);
  expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
});
