import { BudgetExceededError, definePrompt, defineTool, trackBudget } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "../support.ts";

const look = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({}),
  readOnly: true,
  execute: () => "seen",
});
const prompt = definePrompt({ key: "p", sections: [{ key: "task", text: "Look.", tools: [look] }] }).bind();
const busy: ScriptedStep = { failure: "throttle", kind: "server_error", message: "busy" };
const [small, large] = [
  { inputTokens: 1_000, outputTokens: 100 },
  { inputTokens: 100_000, outputTokens: 10_000 },
];

function chain(...members: readonly (readonly ScriptedStep[])[]) {
  const environment = fakeEnvironment();
  const adapters = members.map((steps, index) => {
    const pricing = index === 0 ? { input: 10, output: 10 } : undefined;
    return modelAdapter(scriptedModel(steps), { pricing, throttle: { maxAttempts: 1 }, ...environment });
  });
  return fallback(adapters, environment);
}

test("RTE-10 LIM-14 the usage of a chain says how much of it has no price", async () => {
  const adapter = chain([{ toolCalls: [{ name: "look" }], usage: small }, busy], [{ text: "end", usage: large }]);
  const budget = trackBudget({ maxTotalTokens: 1_000_000 });
  const session = createSession();
  const ended: unknown[] = [];
  session.on("prompt.executed", ({ usage }) => ended.push(usage));
  const { usage } = await adapter.evaluate(prompt, { budget, session });
  const sum = { totalTokens: 111_100, costUsd: 0.011, unpricedTokens: 110_000 };
  expect(usage).toMatchObject(sum);
  expect(budget.consumed).toMatchObject(sum);
  expect(ended).toEqual([usage]);
});

test("RTE-10 LIM-14 where each part has a price, or none has, nothing is partial", async () => {
  const priced = await chain([{ text: "end", usage: small }]).evaluate(prompt);
  expect(priced.usage).not.toHaveProperty("unpricedTokens");
  const without = await chain([busy], [{ text: "end", usage: large }]).evaluate(prompt);
  expect(without.usage).not.toHaveProperty("unpricedTokens");
  expect(without.usage).not.toHaveProperty("costUsd");
});

test("LIM-12 LIM-14 an answer that does not report its cost ends a limit in dollars, whatever a try before it has reported", async () => {
  const refused: ScriptedStep = {
    failure: "provider",
    reason: "content_filter",
    message: "no",
    usage: { ...small, costUsd: 0.01 },
  };
  // It reports its costs, but not that of its first answer.
  const forgetful: readonly ScriptedStep[] = [
    { toolCalls: [{ name: "look" }], usage: large },
    { text: "end", usage: { ...small, costUsd: 0.01 } },
  ];
  const adapter = fallback(
    [[refused], forgetful].map((steps) => modelAdapter(scriptedModel(steps), fakeEnvironment())),
    { on: ["content_filter"], ...fakeEnvironment() },
  );
  const error = await rejection(adapter.evaluate(prompt, { budget: { maxCostUsd: 1 } }));
  expect(error).toBeInstanceOf(BudgetExceededError);
  expect(error).toMatchObject({ dimension: "cost", usage: { costUsd: 0.01, unpricedTokens: 110_000 } });
});
