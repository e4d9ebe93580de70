import { definePrompt, trackBudget, type BudgetTracker, type ModelProvider } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { fc } from "../state/support.ts";
import { rejection } from "../support.ts";

const ask = definePrompt({ ns: "tests", key: "ask", text: "Ask." }).bind();
const turn = async (): Promise<void> => {
  for (let n = 0; n < 50; n++) await Promise.resolve();
};

/** A gateway that reports what each answer cost, in the order of its requests, and whose prices nobody knows. */
function gateway(costs: readonly (number | "fails")[], inside?: () => Promise<unknown>) {
  const seen = { requests: 0, most: 0 };
  let open = 0;
  const provider: ModelProvider = {
    name: "gateway",
    model: "a-name-of-its-own",
    capabilities: { tools: true, nativeOutput: true, reportsCost: true },
    async generate() {
      const cost = costs[seen.requests++ % costs.length] ?? 0;
      seen.most = Math.max(seen.most, ++open);
      await turn();
      await inside?.();
      open -= 1;
      if (cost === "fails") return { failure: "provider", reason: "bad_request", message: "no" };
      const usage = { inputTokens: 10, outputTokens: 100, costUsd: cost };
      return { message: { role: "assistant", text: "ok", toolCalls: [] }, finishReason: "stop", usage };
    },
  };
  return { adapter: modelAdapter(provider, fakeEnvironment()), seen };
}

const codesOf = async (times: number, evaluate: () => Promise<unknown>): Promise<readonly unknown[]> => {
  const one = (): Promise<unknown> =>
    evaluate().then(
      () => "ok",
      (error: unknown) => (error as { readonly code: string }).code,
    );
  return Promise.all(Array.from({ length: times }, one));
};

test("LIM-5 side by side, a cap in dollars holds without a price as it does one after another", async () => {
  const { adapter, seen } = gateway([0.1]);
  const budget = trackBudget({ maxCostUsd: 0.35 });
  const codes = await codesOf(20, () => adapter.evaluate(ask, { budget }));
  expect(codes.filter((code) => code === "ok")).toHaveLength(3);
  expect(seen.requests).toBe(4);
  expect(budget.consumed.costUsd).toBeCloseTo(0.4);
  expect(budget.remaining().totalTokens).toBe(Infinity);
});

test("LIM-4 what a request without a known price would cost is not shown where the limit is reached", async () => {
  const { adapter, seen } = gateway([0.5, 0.5]);
  const budget = trackBudget({ maxCostUsd: 1 });
  await codesOf(2, () => adapter.evaluate(ask, { budget }));
  const error = await rejection(adapter.evaluate(ask, { budget }));
  expect(error).toMatchObject({
    code: "budget",
    dimension: "cost",
    limit: 1,
    spent: 1,
    reserved: 0,
    wanted: undefined,
  });
  expect(error.message).toMatch(/US dollars: limit 1, spent 1, reserved 0\.$/);
  expect(seen.requests).toBe(2);
});

test("LIM-5 once an answer has reported its cost, as many requests without a price run at once as fit", async () => {
  const { adapter, seen } = gateway([0.1]);
  const budget = trackBudget({ maxCostUsd: 1.05 });
  await codesOf(10, () => adapter.evaluate(ask, { budget }));
  expect(seen).toEqual({ requests: 10, most: 9 });
  expect(budget.consumed.costUsd).toBeCloseTo(1);
});

test("LIM-5 the dearest answer so far is what a request without a price holds, not the last", async () => {
  const { adapter, seen } = gateway([1, 0.125]);
  const budget = trackBudget({ maxCostUsd: 3 });
  await codesOf(20, () => adapter.evaluate(ask, { budget }));
  expect(seen.most).toBe(2);
});

test("LIM-5 an answer that cost nothing says nothing of what the next ones cost", async () => {
  const { adapter, seen } = gateway([0, 0, ...Array.from({ length: 18 }, () => 1)]);
  const budget = trackBudget({ maxCostUsd: 3 });
  await codesOf(20, () => adapter.evaluate(ask, { budget }));
  expect([budget.consumed.costUsd, seen.requests]).toEqual([3, 5]);
});

test("LIM-5 a request that failed has shown no cost: the next one without a price goes alone, too", async () => {
  const { adapter, seen } = gateway(["fails", "fails", "fails"]);
  await codesOf(3, () => adapter.evaluate(ask, { budget: trackBudget({ maxCostUsd: 1 }) }));
  const budget = trackBudget({ maxCostUsd: 1 });
  seen.most = 0;
  expect(await codesOf(3, () => adapter.evaluate(ask, { budget }))).toEqual(["provider", "provider", "provider"]);
  expect(seen.most).toBe(1);
  expect(budget.remaining().costUsd).toBe(1);
});

test("LIM-5 without a cap in dollars requests without a price do not wait for each other", async () => {
  const { adapter, seen } = gateway([0.1]);
  const budget = trackBudget({ maxTotalTokens: 1_000_000 });
  await codesOf(5, () => adapter.evaluate(ask, { budget }));
  expect(seen.most).toBe(5);
});

test("LIM-5 what a model without a price evaluates while it answers does not wait for it", async () => {
  const budget: BudgetTracker = trackBudget({ maxCostUsd: 1 });
  const inner = gateway([0.25]);
  const { adapter } = gateway([0.5], () => inner.adapter.evaluate(ask, { budget }));
  await adapter.evaluate(ask, { budget });
  expect(budget.consumed.costUsd).toBeCloseTo(0.75);
  expect(budget.remaining().costUsd).toBeCloseTo(0.25);
});

test("LIM-5 whatever answers cost, a cap is passed by less than what the dearer ones that were under way had beyond those before", async () => {
  const cents = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 30 });
  const check = fc.asyncProperty(cents, fc.integer({ min: 1, max: 200 }), async (costs, limit) => {
    const { adapter, seen } = gateway(costs.map((cost) => cost / 100));
    const budget = trackBudget({ maxCostUsd: limit / 100 });
    await codesOf(costs.length, () => adapter.evaluate(ask, { budget }));
    const spent = Math.round((budget.consumed.costUsd ?? 0) * 100);
    const dearest = Math.max(...costs);
    // Each that is under way may cost as much as the dearest, and holds at least what the first one cost.
    const most = limit - 1 + dearest + seen.most * (dearest - (costs[0] ?? 0));
    expect(spent).toBeLessThanOrEqual(most);
    const all = costs.reduce((sum, cost) => sum + cost, 0);
    // What fits is not refused.
    if (all < limit) expect(spent).toBe(all);
  });
  await fc.assert(check, { seed: 20_261_125, numRuns: 60 });
});
