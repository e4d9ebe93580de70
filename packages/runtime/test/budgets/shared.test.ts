import {
  definePrompt,
  deadlineIn,
  defineTool,
  trackBudget,
  type BudgetTracker,
  type ModelProvider,
} from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "../support.ts";

const ask = definePrompt({ ns: "tests", key: "ask", text: "Ask." }).bind();

/** Answers when it is told to. */
function held(maxOutputTokens?: number) {
  const open: (() => void)[] = [];
  const provider: ModelProvider = {
    name: "held",
    model: "m",
    maxOutputTokens,
    capabilities: { tools: true, nativeOutput: true, outputLimit: { least: 1 } },
    async generate() {
      await new Promise<void>((resolve) => open.push(resolve));
      const usage = { inputTokens: 20, outputTokens: 10, totalTokens: 30 };
      return { message: { role: "assistant", text: "ok", toolCalls: [] }, finishReason: "stop", usage };
    },
  };
  return { provider, open };
}
const pricing = { input: 1, output: 1 };
const turn = async (): Promise<void> => {
  for (let n = 0; n < 50; n++) await Promise.resolve();
};

test("LIM-5 a request that does not fit beside others waits for them, and is not refused", async () => {
  const { provider, open } = held();
  const adapter = modelAdapter(provider, { ...fakeEnvironment(), pricing });
  const budget = trackBudget({ maxTotalTokens: 200 });
  const all = [1, 2, 3].map(() => adapter.evaluate(ask, { budget }));
  for (let asked = 1; asked <= 3; asked++) {
    await turn();
    expect(open).toHaveLength(asked);
    open[asked - 1]?.();
  }
  await Promise.all(all);
  expect(budget.consumed.totalTokens).toBe(90);
});

test("LIM-5 where answers are bounded as many run at once as fit", async () => {
  const { provider, open } = held(50);
  const adapter = modelAdapter(provider, { ...fakeEnvironment(), pricing });
  const budget = trackBudget({ maxOutputTokens: 160 });
  const all = Array.from({ length: 5 }, () => adapter.evaluate(ask, { budget }));
  await turn();
  expect(open).toHaveLength(3);
  for (let n = 0; n < 5; n++) {
    open[n]?.();
    await turn();
  }
  await Promise.all(all);
  expect(budget.consumed.outputTokens).toBe(50);
});

test("LIM-5 a bound that is larger than what is usual is reserved as it is", async () => {
  const { provider, open } = held(30_000);
  const adapter = modelAdapter(provider, { ...fakeEnvironment(), pricing });
  const budget = trackBudget({ maxOutputTokens: 70_000 });
  const all = [1, 2, 3].map(() => adapter.evaluate(ask, { budget }));
  await turn();
  expect(open).toHaveLength(2);
  for (let n = 0; n < 3; n++) {
    open[n]?.();
    await turn();
  }
  await Promise.all(all);
});

test("LIM-5 it is refused only when it could not fit alone, and the error says how much there is", async () => {
  const { provider, open } = held(50);
  const adapter = modelAdapter(provider, { ...fakeEnvironment(), pricing });
  const budget = trackBudget({ maxTotalTokens: 100 });
  const first = adapter.evaluate(ask, { budget });
  await turn();
  const long = definePrompt({ ns: "tests", key: "long", text: "word ".repeat(200) }).bind();
  const error = await rejection(adapter.evaluate(long, { budget }));
  expect(error).toMatchObject({ code: "budget", dimension: "total_tokens", limit: 100, spent: 0 });
  expect(error["reserved"]).toBeGreaterThan(50);
  expect(error["wanted"]).toBeGreaterThan(200);
  expect(error.message).not.toContain("is spent");
  open[0]?.();
  await first;
});

test("LIM-5 LIM-2 a wait ends at the deadline and at an abort, and leaves nothing reserved", async () => {
  const environment = fakeEnvironment();
  const { provider, open } = held();
  const adapter = modelAdapter(provider, { ...environment, pricing });
  const budget = trackBudget({ maxTotalTokens: 200 });
  const first = adapter.evaluate(ask, { budget });
  await turn();
  const late = rejection(adapter.evaluate(ask, { budget, deadline: deadlineIn(100, environment.clock) }));
  const controller = new AbortController();
  const aborted = rejection(adapter.evaluate(ask, { budget, signal: controller.signal }));
  const last = adapter.evaluate(ask, { budget });
  await turn();
  controller.abort("enough");
  expect(await aborted).toMatchObject({ code: "aborted", cause: "enough", phase: "request" });
  await environment.clock.advance(100);
  expect(await late).toMatchObject({ code: "deadline", phase: "request" });
  open[0]?.();
  await turn();
  open[1]?.();
  await Promise.all([first, last]);
  expect(budget.consumed.totalTokens).toBe(60);
  expect(budget.remaining().totalTokens).toBe(140);
});

test("LIM-5 who comes first is served first: small requests do not overtake a large one", async () => {
  const { provider, open } = held(50);
  const order: string[] = [];
  const adapter = modelAdapter(provider, { ...fakeEnvironment(), pricing });
  const budget = trackBudget({ maxTotalTokens: 400 });
  const running = [1, 2, 3].map(() => adapter.evaluate(ask, { budget }));
  const long = definePrompt({ ns: "tests", key: "long", text: "word ".repeat(200) }).bind();
  const large = adapter.evaluate(long, { budget }).then(() => order.push("large"));
  const small = adapter.evaluate(ask, { budget }).then(() => order.push("small"));
  await turn();
  // A fourth small one would fit, the large one not: it comes first all the same.
  expect(open).toHaveLength(3);
  for (let n = 0; n < 5; n++) {
    open[n]?.();
    await turn();
  }
  await Promise.all([...running, large, small]);
  expect(order).toEqual(["large", "small"]);
});

/** As somebody would write it over a store: nothing but what the interface asks for. */
function ownTracker(shared: BudgetTracker): BudgetTracker {
  return {
    budget: shared.budget,
    get consumed() {
      return shared.consumed;
    },
    remaining: shared.remaining,
    exceeded: shared.exceeded,
    reserve: shared.reserve,
  };
}

test("LIM-5 requests wait for each other on an application's own tracker too", async () => {
  const shared = trackBudget({ maxTotalTokens: 100 });
  const own = ownTracker(shared);
  const { provider, open } = held(50);
  const adapter = modelAdapter(provider, { ...fakeEnvironment(), pricing });
  const all = [1, 2].map(() => adapter.evaluate(ask, { budget: own }));
  await turn();
  expect(open).toHaveLength(1);
  open[0]?.();
  await turn();
  open[1]?.();
  await Promise.all(all);
  expect([shared.consumed.totalTokens, shared.remaining().totalTokens]).toEqual([60, 40]);
});

test("LIM-5 no request waits for what another process has reserved", async () => {
  const shared = trackBudget({ maxTotalTokens: 100 });
  shared.reserve({ inputTokens: 90, outputTokens: 0 });
  const adapter = modelAdapter(held(50).provider, { ...fakeEnvironment(), pricing });
  expect(await rejection(adapter.evaluate(ask, { budget: ownTracker(shared) }))).toMatchObject({
    code: "budget",
    phase: "request",
    reserved: 90,
    spent: 0,
  });
});

test("LIM-5 LIM-7 two budgets that are given in different orders keep no request waiting for ever", async () => {
  const { provider, open } = held();
  const adapter = modelAdapter(provider, { ...fakeEnvironment(), pricing });
  const [a, b] = [trackBudget({ maxTotalTokens: 200 }), trackBudget({ maxTotalTokens: 200 })];
  const all = [a, b, a, b].map((budget) => adapter.evaluate(ask, { budget }));
  for (let n = 0; n < 4; n++) {
    await turn();
    open[n]?.();
  }
  await Promise.all(all);
  expect([a.consumed.totalTokens, b.consumed.totalTokens]).toEqual([60, 60]);
});

describe("LIM-5 a tracker of the application's that throws when a request settles", () => {
  /** A tracker over a store that is down once. */
  function overStore(maxTotalTokens: number, down = { isNow: true }): BudgetTracker {
    const inner = trackBudget({ maxTotalTokens });
    return {
      budget: inner.budget,
      get consumed() {
        return inner.consumed;
      },
      remaining: () => inner.remaining(),
      exceeded: () => inner.exceeded(),
      reserve(wanted) {
        const reservation = inner.reserve(wanted);
        if (reservation === undefined) return undefined;
        return {
          settle(actual) {
            reservation.settle(actual);
            if (!down.isNow) return;
            down.isNow = false;
            throw new Error("the store is down");
          },
        };
      },
    };
  }

  test("keeps no other request waiting", async () => {
    const budget = overStore(1_000);
    const { provider, open } = held(900);
    const adapter = modelAdapter(provider, { ...fakeEnvironment(), pricing });
    const evaluating = Promise.allSettled([1, 2].map(() => adapter.evaluate(ask, { budget })));
    for (let asked = 1; asked <= 2; asked++) {
      await turn();
      expect(open).toHaveLength(asked);
      open[asked - 1]?.();
    }
    const both = await evaluating;
    expect(both.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect(budget.remaining().totalTokens).toBe(1_000 - 2 * 30);
  });

  test("keeps nothing reserved of the tracker around it", async () => {
    const [inside, around] = [overStore(5_000), trackBudget({ maxTotalTokens: 5_000 })];
    const ask = defineTool({
      name: "ask",
      description: "Asks.",
      input: z.object({}),
      execute: async (_, context) => (await context.evaluate("Inside.", { budget: inside })).text,
    });
    const prompt = definePrompt({ key: "outer", sections: [{ key: "task", text: "Ask.", tools: [ask] }] }).bind();
    const usage = { inputTokens: 10, outputTokens: 5 };
    const model = scriptedModel([
      { toolCalls: [{ name: "ask" }], usage },
      { text: "in", usage },
      { text: "out", usage },
    ]);
    await modelAdapter(model).evaluate(prompt, { budget: around });
    expect(around.consumed.totalTokens).toBe(45);
    expect(around.remaining().totalTokens).toBe(5_000 - 45);
  });

  test("keeps nothing reserved of a tracker that a handler reserves from with it", async () => {
    const down = { isNow: false };
    const [inside, around] = [overStore(5_000, down), trackBudget({ maxTotalTokens: 5_000 })];
    const left: number[] = [];
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: z.object({}),
      execute(_, { budget }) {
        left.push(around.remaining().totalTokens);
        const reservation = budget?.reserve({ inputTokens: 10, outputTokens: 0 });
        left.push(around.remaining().totalTokens);
        down.isNow = true;
        expect(() =>
          reservation?.settle({ ...inside.consumed, totalTokens: 0, inputTokens: 0, outputTokens: 0 }),
        ).toThrow();
        left.push(around.remaining().totalTokens);
      },
    });
    const inner = definePrompt({ key: "inner", sections: [{ key: "task", text: "Look.", tools: [look] }] }).bind();
    const ask = defineTool({
      name: "ask",
      description: "Asks.",
      input: z.object({}),
      execute: async (_, context) => (await context.evaluate(inner, { budget: inside })).text,
    });
    const prompt = definePrompt({ key: "outer", sections: [{ key: "task", text: "Ask.", tools: [ask] }] }).bind();
    const steps = [
      { toolCalls: [{ name: "ask" }] },
      { toolCalls: [{ name: "look" }] },
      { text: "in" },
      { text: "out" },
    ];
    await modelAdapter(scriptedModel(steps)).evaluate(prompt, { budget: around });
    const [before = 0] = left;
    expect(left).toEqual([before, before - 10, before]);
  });
});
