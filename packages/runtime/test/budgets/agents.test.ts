import { definePrompt, defineTool, trackBudget, type BudgetTracker, type EvaluateOptions } from "@proviso/core";
import { agentAdapter, modelAdapter, type AgentRun } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "../support.ts";

const ask = definePrompt({ ns: "tests", key: "ask", text: "Ask." }).bind();
const costs = (inputTokens: number, outputTokens: number) => ({
  message: { role: "assistant", text: "done", toolCalls: [] } as const,
  finishReason: "stop" as const,
  usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
});
const agentOf = (drive: (run: AgentRun) => Promise<ReturnType<typeof costs>>) =>
  agentAdapter({ name: "agent", model: "m", drive }, { ...fakeEnvironment(), pricing: { input: 1, output: 1 } });
const expecting = (inputTokens: number, outputTokens: number): EvaluateOptions["expect"] => ({
  inputTokens: { p90: inputTokens },
  outputTokensPerTurn: { p90: outputTokens },
});
const reservedOf = ({ budget, consumed, remaining }: BudgetTracker): number =>
  (budget.maxTotalTokens ?? 0) - consumed.totalTokens - remaining().totalTokens;
const turn = async (): Promise<void> => {
  for (let n = 0; n < 50; n++) await Promise.resolve();
};

/** Agents that answer one after another, each when it is told to; how many were under way at once. */
function counted(inputTokens: number, outputTokens: number) {
  let open = 0;
  const seen = { most: 0, begun: 0 };
  const adapter = agentOf(async () => {
    seen.begun += 1;
    seen.most = Math.max(seen.most, ++open);
    await turn();
    open -= 1;
    return costs(inputTokens, outputTokens);
  });
  return { adapter, seen };
}

test("LIM-5 agents side by side pass a limit by no more than one alone would", async () => {
  const { adapter, seen } = counted(100, 50);
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const ended = await Promise.allSettled(Array.from({ length: 20 }, () => adapter.evaluate(ask, { budget })));
  expect(budget.consumed.totalTokens).toBeLessThanOrEqual(1_000 + 150);
  expect(seen).toEqual({ most: 1, begun: 7 });
  for (const one of ended) if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "budget" });
  expect(reservedOf(budget)).toBe(0);
});

test("LIM-5 EST-11 with an estimate as many agents run at once as fit, and stay within the limit", async () => {
  const { adapter, seen } = counted(100, 50);
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const expect_ = expecting(100, 50);
  await Promise.allSettled(Array.from({ length: 20 }, () => adapter.evaluate(ask, { budget, expect: expect_ })));
  expect(budget.consumed.totalTokens).toBe(900);
  expect(seen).toEqual({ most: 6, begun: 6 });
});

test("LIM-5 an agent that does not fit alone does not begin", async () => {
  const { adapter, seen } = counted(100, 50);
  const options = { budget: { maxTotalTokens: 100 }, expect: expecting(80, 50) };
  expect(await rejection(adapter.evaluate(ask, options))).toMatchObject({
    code: "budget",
    phase: "request",
    wanted: 130,
  });
  expect(seen.begun).toBe(0);
});

const inner = scriptedModel(
  Array.from({ length: 10 }, () => ({ text: "inner", usage: { inputTokens: 20, outputTokens: 10 } })),
);
const nest = defineTool({
  name: "nest",
  description: "Evaluates.",
  input: z.object({}),
  execute: async (_, { evaluate }) => {
    await evaluate(ask, { adapter: modelAdapter(inner, fakeEnvironment()) });
    return "done";
  },
});
const nesting = definePrompt({
  ns: "tests",
  key: "nesting",
  sections: [{ key: "task", text: "Nest.", tools: [nest] }],
}).bind();
const nestCall = (id: string) => ({ id, name: "nest", arguments: "{}" });

test("LIM-5 LIM-7 while a call of it runs, an agent keeps what it has spent, and the rest is there for the call", async () => {
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const reserved: number[] = [];
  const adapter = agentOf(async ({ executeToolCall, onDelta }) => {
    reserved.push(reservedOf(budget));
    onDelta({ kind: "text", text: "word ".repeat(100) });
    await executeToolCall(nestCall("1"));
    reserved.push(reservedOf(budget));
    await executeToolCall(nestCall("2"));
    return costs(300, 200);
  });
  const looking = inner.callCount;
  await adapter.evaluate(nesting, { budget });
  expect(inner.callCount - looking).toBe(2);
  // Two nested evaluations of 30 tokens each.
  expect(budget.consumed.totalTokens).toBe(560);
  expect(reserved).toEqual([1_000, 1_000 - 30]);
  expect(reservedOf(budget)).toBe(0);
});

test("LIM-5 an agent's text so far stays reserved while a call of it runs", async () => {
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  let during = 0;
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: () => void (during = reservedOf(budget)),
  });
  const prompt = definePrompt({
    ns: "tests",
    key: "look",
    sections: [{ key: "a", text: "Look.", tools: [look] }],
  }).bind();
  await agentOf(async ({ executeToolCall, onDelta }) => {
    onDelta({ kind: "text", text: "word ".repeat(100) });
    await executeToolCall({ id: "1", name: "look", arguments: "{}" });
    return costs(10, 10);
  }).evaluate(prompt, { budget });
  // What was sent, 100 words, and the call.
  expect(during).toBeGreaterThan(120);
  expect(during).toBeLessThan(220);
  expect(budget.remaining().totalTokens).toBe(980);
});

test("LIM-5 agents side by side whose calls evaluate something do not wait for each other in a circle", async () => {
  const budget = trackBudget({ maxTotalTokens: 2_000 });
  const adapter = agentOf(async ({ executeToolCall }) => {
    await executeToolCall(nestCall("1"));
    await executeToolCall(nestCall("2"));
    return costs(50, 50);
  });
  await Promise.all(Array.from({ length: 4 }, () => adapter.evaluate(nesting, { budget })));
  expect(budget.consumed.totalTokens).toBe(4 * (100 + 2 * 30));
  expect(reservedOf(budget)).toBe(0);
});

test("LIM-5 LIM-4 an agent that finds no room after its call is ended there", async () => {
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const spend = defineTool({
    name: "spend",
    description: "Spends.",
    input: z.object({}),
    execute: () => budget.reserve({ inputTokens: 0, outputTokens: 0 })?.settle(usage),
  });
  const usage = {
    inputTokens: 990,
    outputTokens: 0,
    totalTokens: 990,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    estimated: false,
  };
  const prompt = definePrompt({
    ns: "tests",
    key: "s",
    sections: [{ key: "a", text: "Spend.", tools: [spend] }],
  }).bind();
  let went = false;
  const adapter = agentOf(async ({ executeToolCall }) => {
    await executeToolCall({ id: "1", name: "spend", arguments: "{}" });
    went = true;
    return new Promise(() => {});
  });
  const error = await rejection(adapter.evaluate(prompt, { budget }));
  // Its own estimate so far is no reservation of others.
  expect(error).toMatchObject({ code: "budget", phase: "request", limit: 1_000, reserved: 0 });
  expect(error["spent"]).toBeGreaterThan(990);
  expect(reservedOf(budget)).toBe(0);
  expect(went).toBe(true);
});

test("LIM-5 LIM-2 an agent that is aborted inside its call, or after it, leaves nothing reserved", async () => {
  for (const isInside of [true, false]) {
    const budget = trackBudget({ maxTotalTokens: 1_000 });
    const controller = new AbortController();
    const work = defineTool({
      name: "work",
      description: "Works.",
      input: z.object({}),
      execute: async () => {
        if (isInside) controller.abort();
        await turn();
      },
    });
    const prompt = definePrompt({
      ns: "tests",
      key: "w",
      sections: [{ key: "a", text: "Work.", tools: [work] }],
    }).bind();
    const ended = rejection(
      agentOf(async ({ executeToolCall }) => {
        await executeToolCall({ id: "1", name: "work", arguments: "{}" });
        return new Promise(() => {});
      }).evaluate(prompt, { budget, signal: controller.signal }),
    );
    await turn();
    await turn();
    controller.abort();
    expect(await ended).toMatchObject({ code: "aborted" });
    await turn();
    expect(reservedOf(budget)).toBe(0);
  }
});

test("LIM-5 an agent that answers while it waits for its place again waits no longer", async () => {
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  let answer: (() => void) | undefined;
  const other = agentOf(async () => {
    await new Promise<void>((resolve) => (answer = resolve));
    return costs(10, 10);
  });
  const give = defineTool({
    name: "give",
    description: "Lets another agent begin.",
    input: z.object({}),
    execute: async () => {
      asked.resolve(undefined);
      await turn();
    },
  });
  const asked = Promise.withResolvers<undefined>();
  // It begins outside the agent's own code: there it may wait, and be waited for.
  const others = asked.promise.then(() => other.evaluate(ask, { budget }));
  const prompt = definePrompt({ ns: "tests", key: "g", sections: [{ key: "a", text: "Give.", tools: [give] }] }).bind();
  const { usage } = await agentOf(async ({ executeToolCall }) => {
    const called = executeToolCall({ id: "1", name: "give", arguments: "{}" });
    await turn();
    await turn();
    called.catch(() => {});
    return costs(20, 20);
  }).evaluate(prompt, { budget });
  expect(usage.totalTokens).toBe(40);
  answer?.();
  await others;
  expect(budget.consumed.totalTokens).toBe(60);
  expect(reservedOf(budget)).toBe(0);
});

test("LIM-5 an agent that answers at any moment around the one at which it gets its place again leaves nothing reserved", async () => {
  for (let ticks = 0; ticks < 60; ticks++) {
    const budget = trackBudget({ maxTotalTokens: 1_000 });
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const other = agentOf(async () => {
      await answered.promise;
      return costs(10, 10);
    });
    const give = defineTool({
      name: "give",
      description: "Lets another agent begin.",
      input: z.object({}),
      execute: async () => {
        asked.resolve();
        await turn();
      },
    });
    const others = asked.promise.then(() => other.evaluate(ask, { budget }));
    const prompt = definePrompt({ ns: "tests", key: "g", sections: [{ key: "a", text: "Give.", tools: [give] }] });
    await agentOf(async ({ executeToolCall }) => {
      executeToolCall({ id: "1", name: "give", arguments: "{}" }).catch(() => {});
      await turn();
      await turn();
      answered.resolve();
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      return costs(20, 20);
    }).evaluate(prompt.bind(), { budget });
    await others;
    expect([ticks, budget.consumed.totalTokens, reservedOf(budget)]).toEqual([ticks, 60, 0]);
  }
});

test.each([
  [200, ["rejected", "rejected", "rejected"]],
  [400, ["fulfilled", "fulfilled", "fulfilled"]],
])(
  "LIM-5 what agents hold while their calls run is not waited for: of a limit of %i tokens they are %j, and none waits for ever",
  async (maxTotalTokens, statuses) => {
    const budget = trackBudget({ maxTotalTokens });
    const work = defineTool({ name: "work", description: "Works.", input: z.object({}), execute: turn });
    const prompt = definePrompt({ key: "w", sections: [{ key: "a", text: "Work.", tools: [work] }] }).bind();
    const adapter = agentOf(async ({ executeToolCall, onDelta }) => {
      onDelta({ kind: "text", text: "Let me look. " });
      await executeToolCall({ id: "1", name: "work", arguments: "{}" });
      return costs(20, 10);
    });
    const ended = await Promise.allSettled([1, 2, 3].map(() => adapter.evaluate(prompt, { budget })));
    expect(ended.map(({ status }) => status)).toEqual(statuses);
    for (const one of ended) if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "budget" });
    expect(reservedOf(budget)).toBe(0);
  },
);
