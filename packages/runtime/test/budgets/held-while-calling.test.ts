import {
  definePrompt,
  defineTool,
  trackBudget,
  type Budget,
  type BudgetTracker,
  type ToolContext,
  type Usage,
} from "@proviso/core";
import { agentAdapter, modelAdapter, type AgentRun } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "../support.ts";

const ask = definePrompt({ ns: "tests", key: "ask", text: "Ask." }).bind();
// A dollar for a million tokens: a limit of 0.001 dollars is one of 1,000 tokens.
const pricing = { input: 1, output: 1 };
const expecting = (inputTokens: number, outputTokens: number) => ({
  inputTokens: { p90: inputTokens },
  outputTokensPerTurn: { p90: outputTokens },
});
const costs = (inputTokens: number, outputTokens: number) => ({
  message: { role: "assistant", text: "done", toolCalls: [] } as const,
  finishReason: "stop" as const,
  usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
});
const agentOf = (drive: (run: AgentRun) => Promise<ReturnType<typeof costs>>) =>
  agentAdapter({ name: "agent", model: "m", drive }, { ...fakeEnvironment(), pricing });
/** A prompt with one tool, which does what it is given. */
function calling(execute: (context: ToolContext) => unknown, text = "Work.") {
  const tool = defineTool({
    name: "work",
    description: "Works.",
    input: z.object({}),
    execute: async (_, context) => {
      await execute(context);
      return "done";
    },
  });
  return definePrompt({ ns: "tests", key: "call", sections: [{ key: "task", text, tools: [tool] }] }).bind();
}
const work = { id: "1", name: "work", arguments: "{}" };
const turn = async (): Promise<void> => {
  for (let n = 0; n < 100; n++) await Promise.resolve();
};

test("LIM-5 LIM-10 a request that waits gets the room that is left after an agent's usage is charged", async () => {
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const called = Promise.withResolvers<void>();
  let asked = 0;
  const model = modelAdapter(
    scriptedModel([
      ({ maxOutputTokens = 0 }) => {
        asked = maxOutputTokens;
        return { text: "x", usage: { inputTokens: 20, outputTokens: maxOutputTokens } };
      },
    ]),
    fakeEnvironment(),
  );
  const agent = agentOf(async ({ executeToolCall }) => {
    await executeToolCall(work);
    called.resolve();
    await turn();
    return costs(350, 250);
  });
  // It wants 800 tokens for its answer, which do not fit beside the agent's turn.
  const waiting = called.promise.then(() => model.evaluate(ask, { budget, expect: expecting(0, 800) }));
  await agent.evaluate(
    calling(() => {}),
    { budget, expect: expecting(50, 250) },
  );
  await waiting;
  expect(asked).toBeLessThanOrEqual(400);
  // The error of the input's estimate may be passed.
  expect(budget.consumed.totalTokens).toBeLessThanOrEqual(1_010);
});

test.each<[string, Budget]>([
  ["tokens", { maxTotalTokens: 1_000 }],
  ["dollars", { maxCostUsd: 0.001 }],
])("LIM-5 while a call runs, an agent holds what it has sent and produced of a limit in %s", async (_, limits) => {
  const budget = trackBudget(limits);
  let left = Number.NaN;
  const agent = agentOf(async ({ executeToolCall, onDelta }) => {
    onDelta({ kind: "text", text: "word ".repeat(500) });
    await executeToolCall(work);
    return costs(50, 550);
  });
  const prompt = calling(() => {
    const { totalTokens, costUsd } = budget.remaining();
    left = totalTokens === Infinity ? Math.round(costUsd * 1e6) : totalTokens;
  });
  await agent.evaluate(prompt, { budget, expect: expecting(1, 1) });
  expect(left).toBeGreaterThan(400);
  expect(left).toBeLessThan(500);
});

test.each<[string, Budget]>([
  ["tokens", { maxTotalTokens: 1_000 }],
  ["input and output tokens", { maxInputTokens: 1_000, maxOutputTokens: 1_000 }],
  ["dollars", { maxCostUsd: 0.001 }],
])("LIM-5 an agent that has produced more than is left holds all that is left, in %s", async (_, limits) => {
  const budget = trackBudget(limits);
  const model = modelAdapter(scriptedModel([{ text: "x" }]), { ...fakeEnvironment(), pricing });
  let nested: unknown;
  const agent = agentOf(async ({ executeToolCall, onDelta }) => {
    onDelta({ kind: "text", text: "word ".repeat(2_000) });
    await executeToolCall(work);
    return costs(50, 2_050);
  });
  const prompt = calling(async ({ evaluate }) => {
    nested = await rejection(evaluate(ask, { adapter: model }));
  });
  await rejection(agent.evaluate(prompt, { budget, expect: expecting(1, 1) }));
  expect(nested).toMatchObject({ code: "budget", phase: "request" });
});

test.each<[string, Budget]>([
  ["input tokens", { maxInputTokens: 10_000 }],
  ["dollars", { maxCostUsd: 0.01 }],
])("LIM-5 in each of its calls, an agent holds its input once, in %s", async (_, limits) => {
  const budget = trackBudget(limits);
  const held: number[] = [];
  const agent = agentOf(async ({ executeToolCall }) => {
    for (const id of ["1", "2", "3", "4", "5"]) await executeToolCall({ ...work, id });
    return costs(1_100, 20);
  });
  const prompt = calling(() => {
    const { inputTokens, costUsd } = budget.remaining();
    held.push(10_000 - (inputTokens === Infinity ? Math.round(costUsd * 1e6) : inputTokens));
  }, "word ".repeat(1_000));
  await agent.evaluate(prompt, { budget, expect: expecting(1, 1) });
  expect(held).toHaveLength(5);
  expect(Math.min(...held)).toBeGreaterThan(1_000);
  expect(Math.max(...held)).toBeLessThan(1_500);
});

test("LIM-5 where a tracker throws when an agent's turn is charged, nothing stays reserved in the others", async () => {
  const own = trackBudget({ maxTotalTokens: 1_000 });
  const around = trackBudget({ maxTotalTokens: 1_000 });
  const throwing: BudgetTracker = {
    budget: around.budget,
    get consumed() {
      return around.consumed;
    },
    remaining: () => around.remaining(),
    exceeded: () => around.exceeded(),
    reserve(worstCase) {
      const reservation = around.reserve(worstCase);
      const settle = (actual: Usage): void => {
        reservation?.settle(actual);
        if (actual.totalTokens === 160) throw new Error("The store is away.");
      };
      return reservation && { settle };
    },
  };
  const agent = agentOf(async ({ executeToolCall }) => {
    await executeToolCall(work);
    return costs(100, 60);
  });
  const nothing = calling(() => {});
  const outer = modelAdapter(scriptedModel([{ toolCalls: [work] }, { text: "x" }]), fakeEnvironment());
  const delegate = calling(({ evaluate }) => rejection(evaluate(nothing, { adapter: agent, budget: own })));
  await outer.evaluate(delegate, { budget: throwing });
  expect(own.consumed.totalTokens).toBe(160);
  expect(own.remaining().totalTokens).toBe(840);
  expect(around.remaining().totalTokens).toBe(1_000 - around.consumed.totalTokens);
});
