import { definePrompt, defineTool, trackBudget, type ModelProvider } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, promptWith, rejection, writes } from "./support.ts";

const ask = (text: string) => definePrompt({ ns: "tests", key: "ask", sections: [{ key: "ask", text }] }).bind({});

/** Costs as much as it may: a token for each byte sent, and all the output that it was allowed. */
function greedyModel(maxOutputTokens: number): ModelProvider & { readonly asked: number } {
  let asked = 0;
  return {
    name: "greedy",
    model: "greedy",
    maxOutputTokens,
    capabilities: { tools: true, nativeOutput: true },
    get asked() {
      return asked;
    },
    async generate({ messages }) {
      asked += 1;
      await Promise.resolve();
      const inputTokens = messages.reduce((sum, message) => sum + new TextEncoder().encode(message.text).length + 4, 3);
      const usage = { inputTokens, outputTokens: maxOutputTokens, totalTokens: inputTokens + maxOutputTokens };
      return { message: { role: "assistant", text: "ok", toolCalls: [] }, finishReason: "stop", usage };
    },
  };
}

test("LIM-5 spent and reserved never pass the limit, whatever evaluates at the same time", async () => {
  for (const limit of [150, 400, 1_000, 5_000]) {
    const budget = trackBudget({ maxTotalTokens: limit });
    const model = greedyModel(50);
    const adapter = modelAdapter(model, fakeEnvironment());
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => adapter.evaluate(ask(`Ask ${"ä€😀".repeat(index % 5)}`), { budget })),
    );
    expect(budget.consumed.totalTokens).toBeLessThanOrEqual(limit);
    const refused = outcomes.filter(({ status }) => status === "rejected");
    expect(refused.length + model.asked).toBe(40);
    for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: "budget", phase: "request" } });
    expect(model.asked > 0).toBe(limit >= 150);
    // Nothing stays reserved.
    expect(budget.remaining().totalTokens).toBe(limit - budget.consumed.totalTokens);
  }
});

test("LIM-5 no room for the worst case is a BudgetExceededError at once, before any request", async () => {
  const model = greedyModel(1_000);
  const error = await rejection(
    modelAdapter(model, fakeEnvironment()).evaluate(ask("Ask."), { budget: { maxOutputTokens: 999 } }),
  );
  expect(error).toMatchObject({ code: "budget", dimension: "output_tokens", phase: "request" });
  expect(model.asked).toBe(0);
});

test("LIM-5 LIM-11 without maxOutputTokens the input is reserved, and what is usual for an answer", async () => {
  const budget = trackBudget({ maxTotalTokens: 100_000 });
  let reserved = 0;
  const model = scriptedModel([
    () => {
      reserved = 100_000 - budget.remaining().totalTokens;
      return { text: "ok" };
    },
  ]);
  await modelAdapter(model).evaluate(ask("word ".repeat(1_000)), { budget });
  expect(reserved).toBeGreaterThan(16_384 + 1_000);
  expect(reserved).toBeLessThan(16_384 + 1_100);
  expect(budget.consumed.totalTokens).toBe(15);
});

test("LIM-11 what a turn reported corrects the estimate of what comes after it", async () => {
  const budget = trackBudget({ maxTotalTokens: 100_000 });
  const text = "word ".repeat(500);
  const reserved: number[] = [];
  // It counts twice what the estimate says.
  const counts = (step: ScriptedStep): ScriptedStep => {
    return () => {
      reserved.push(100_000 - budget.consumed.totalTokens - budget.remaining().totalTokens);
      return step;
    };
  };
  const answer = { toolCalls: [call("write", { text: "a" })], usage: { inputTokens: 1_200, outputTokens: 20 } };
  const model = Object.assign(scriptedModel([counts(answer), counts({ text: "done" })]), { maxOutputTokens: 10 });
  const note = defineTool({ name: "write", description: "Writes.", input: z.object({}).loose(), execute: () => text });
  await modelAdapter(model, fakeEnvironment()).evaluate(promptWith(note), {
    budget,
    messages: [{ role: "user", text }],
  });
  const [first = 0, second = 0] = reserved;
  const correction = 1_200 / (first - 10);
  expect(correction).toBeGreaterThan(1.5);
  expect(second - 10).toBeCloseTo(1_220 + 508 * correction, -2);
});

test("LIM-5 what a turn was reported to cost bounds the next one more closely than its bytes", async () => {
  const text = "word ".repeat(1_000);
  const steps = [{ toolCalls: [call("write", { text: "a" })], usage: { inputTokens: 1_001, outputTokens: 9 } }];
  const model = Object.assign(
    scriptedModel([...steps, { text: "done", usage: { inputTokens: 1_050, outputTokens: 5 } }]),
    {
      maxOutputTokens: 100,
    },
  );
  const budget = trackBudget({ maxTotalTokens: 6_900 });
  await modelAdapter(model, fakeEnvironment()).evaluate(promptWith(writes), {
    budget,
    messages: [{ role: "user", text }],
    resources: [],
  });
  expect(budget.consumed.totalTokens).toBe(2_065);
});

test("LIM-5 a request that failed or was given up leaves nothing reserved", async () => {
  const environment = fakeEnvironment();
  const budget = trackBudget({ maxTotalTokens: 5_000 });
  const model = Object.assign(
    scriptedModel([
      { failure: "throttle", kind: "rate_limit", message: "slow down" },
      { failure: "provider", reason: "bad_request", message: "no" },
    ]),
    { maxOutputTokens: 100 },
  );
  const evaluating = rejection(modelAdapter(model, environment).evaluate(ask("Ask."), { budget }));
  await environment.clock.advance(30_000);
  expect(await evaluating).toMatchObject({ code: "provider" });
  expect(budget.remaining().totalTokens).toBe(5_000);
});
