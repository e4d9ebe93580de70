import {
  definePrompt,
  trackBudget,
  type Budget,
  type ModelProvider,
  type ModelRequest,
  type ProviderAdapter,
  type RouteStep,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fallback, hedged } from "@proviso/runtime/routing";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { rejection } from "../support.ts";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();
type Answer = Awaited<ReturnType<ModelProvider["generate"]>>;
type Environment = ReturnType<typeof fakeEnvironment>;

const answer = (text: string, inputTokens: number, outputTokens: number, finishReason = "stop") => ({
  message: { role: "assistant", text, toolCalls: [] },
  finishReason,
  usage: { inputTokens, outputTokens },
});

interface Made {
  readonly environment?: Environment;
  /** US dollars for a million tokens. */
  readonly price?: number;
  readonly maxOutputTokens?: number;
}

/** A model that answers as `generate` does, and notes each request. */
function model(
  name: string,
  generate: (request: ModelRequest) => unknown,
  { environment = fakeEnvironment(), price = 1, maxOutputTokens }: Made = {},
) {
  const requests: ModelRequest[] = [];
  const provider: ModelProvider = {
    name,
    model: `${name}-1`,
    maxOutputTokens,
    capabilities: { tools: true, nativeOutput: false, outputLimit: { least: 1 } },
    async generate(request) {
      requests.push(request);
      return (await generate(request)) as Answer;
    },
  };
  const adapter = modelAdapter(provider, {
    ...environment,
    pricing: { input: price, output: price },
    throttle: { maxAttempts: 1 },
  });
  return { requests, adapter };
}

/** Uses all that it may, and answers nothing that can be used. */
const greedy = (request: ModelRequest) => answer("", 10, request.maxOutputTokens ?? 5_000);
const half = (request: ModelRequest) => answer("", 10, Math.floor((request.maxOutputTokens ?? 5_000) / 2));
const chains = {
  fallback: (adapters: readonly ProviderAdapter[]) => fallback(adapters),
  hedged: (adapters: readonly ProviderAdapter[]) => hedged(adapters, { afterMs: 60_000 }),
  nested: ([a, b, c, d]: readonly ProviderAdapter[]) =>
    fallback([hedged([a, b] as ProviderAdapter[], { afterMs: 60_000 }), fallback([c, d] as ProviderAdapter[])]),
  within: ([a, b, c, d]: readonly ProviderAdapter[]) =>
    hedged([fallback([a, b] as ProviderAdapter[]), fallback([c, d] as ProviderAdapter[])], { afterMs: 60_000 }),
};
const kinds = Object.keys(chains) as (keyof typeof chains)[];

const budgets: readonly (readonly [string, Budget, (budget: ReturnType<typeof trackBudget>) => number, number])[] = [
  ["total tokens", { maxTotalTokens: 1_000 }, ({ consumed }) => consumed.totalTokens, 1_000],
  ["output tokens", { maxOutputTokens: 1_000 }, ({ consumed }) => consumed.outputTokens, 1_000],
  ["dollars", { maxCostUsd: 0.001 }, ({ consumed }) => (consumed.costUsd ?? 0) * 1e6, 1_000],
];

describe.each(kinds)("%s", (kind) => {
  test.each(budgets)("LIM-10 its models together stay within %s", async (_, given, spentOf, limit) => {
    for (const generate of [greedy, half]) {
      const models = ["a", "b", "c", "d"].map((name) => model(name, generate));
      const budget = trackBudget(given);
      const error = await rejection(chains[kind](models.map(({ adapter }) => adapter)).evaluate(prompt, { budget }));
      // The estimate of the input is a few tokens off.
      expect(spentOf(budget)).toBeLessThanOrEqual(limit + 40);
      expect(budget.remaining().totalTokens).toBeGreaterThanOrEqual(-40);
      expect(["BudgetExceededError", "ProviderError"]).toContain(error.name);
    }
  });

  test("LIM-10 what fails at no cost leaves all of the room to the next", async () => {
    const busy = () => ({ failure: "throttle", kind: "rate_limit", message: "busy" });
    const models = ["a", "b", "c"].map((name) => model(name, busy));
    const last = model("d", () => answer("d", 10, 5));
    const budget = trackBudget({ maxTotalTokens: 1_000 });
    const adapters = [...models, last].map(({ adapter }) => adapter);
    expect((await chains[kind](adapters).evaluate(prompt, { budget })).text).toBe("d");
    expect(last.requests[0]?.maxOutputTokens).toBeGreaterThan(900);
    expect(budget.consumed.totalTokens).toBe(15);
  });
});

test.each(["fallback", "hedged"] as const)(
  "LIM-10 %s asks no model that there is no room for, and names the budget",
  async (kind) => {
    const [a, b] = [model("a", greedy), model("b", () => answer("b", 1, 1))];
    const budget = trackBudget({ maxOutputTokens: 100 });
    const throttled = model("t", () => ({
      failure: "throttle",
      kind: "rate_limit",
      message: "busy",
      usage: { inputTokens: 5, outputTokens: 99 },
    }));
    const error = await rejection(chains[kind]([throttled.adapter, a.adapter, b.adapter]).evaluate(prompt, { budget }));
    expect(error).toMatchObject({ name: "BudgetExceededError", dimension: "output_tokens", limit: 100 });
    expect(a.requests[0]?.maxOutputTokens ?? 0).toBeLessThanOrEqual(1);
    expect(b.requests.length).toBe(0);
    expect(error.message).toContain("no room for the request to another model");
    expect(budget.consumed.outputTokens).toBeLessThanOrEqual(100);
  },
);

test("LIM-5 the next model of a chain waits for the room that others hold on the tracker", async () => {
  const environment = fakeEnvironment();
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const blank = model("a", () => answer("", 10, 300), { environment, maxOutputTokens: 450 });
  const next = model("b", () => answer("b", 10, 400), { environment, maxOutputTokens: 450 });
  const slow = model(
    "s",
    async ({ signal }) => {
      await environment.clock.sleep(1_000, signal);
      return answer("slow", 10, 20);
    },
    { environment, maxOutputTokens: 450 },
  );
  const options = { budget };
  const first = slow.adapter.evaluate(prompt, options);
  const second = fallback([blank.adapter, next.adapter], environment).evaluate(prompt, options);
  await environment.clock.advance(500);
  expect([blank.requests.length, next.requests.length]).toEqual([1, 0]);
  await environment.clock.advance(1_000);
  expect((await first).text).toBe("slow");
  expect((await second).text).toBe("b");
  expect(budget.consumed.totalTokens).toBe(30 + 310 + 410);
  expect(budget.remaining().totalTokens).toBe(250);
});

test("LIM-2 LIM-5 a chain that waits for room ends with its signal, and holds nothing afterwards", async () => {
  const environment = fakeEnvironment();
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const blank = model("a", () => answer("", 10, 300), { environment, maxOutputTokens: 450 });
  const slow = model("s", ({ signal }) => environment.clock.sleep(1_000, signal), {
    environment,
    maxOutputTokens: 450,
  });
  const options = { budget };
  const [one, other] = [new AbortController(), new AbortController()];
  const first = rejection(slow.adapter.evaluate(prompt, { ...options, signal: one.signal }));
  const second = rejection(
    fallback([blank.adapter, slow.adapter], environment).evaluate(prompt, { ...options, signal: other.signal }),
  );
  await environment.clock.advance(100);
  other.abort();
  expect((await second).name).toBe("AbortedError");
  expect(budget.consumed.totalTokens).toBe(310);
  one.abort();
  expect((await first).name).toBe("AbortedError");
  expect(budget.remaining().totalTokens).toBe(690);
  expect(slow.requests.length).toBe(1);
});

describe("RTE-11 a loser that is a chain", () => {
  async function route(environment: Environment, adapter: ProviderAdapter, ms: number) {
    const session = createSession();
    let steps: readonly RouteStep[] | undefined;
    session.on("provider.responded", (event) => void (steps = event.route));
    const evaluating = adapter.evaluate(prompt, { session });
    await environment.clock.advance(ms);
    const { usage, text } = await evaluating;
    return {
      usage,
      text,
      steps: (steps ?? []).map(({ provider, outcome, usage: own }) => [provider, outcome, own?.costUsd]),
    };
  }

  function slow(environment: Environment, name: string, ms: number, price: number) {
    const generate = async ({ signal }: ModelRequest) => {
      await environment.clock.sleep(ms, signal);
      return answer(name, 10, 10);
    };
    return model(name, generate, { environment, price }).adapter;
  }

  test("is charged for each of its models that was asked, at its own price", async () => {
    const environment = fakeEnvironment();
    const [a, b, c] = [1, 100, 10_000].map((price, index) =>
      slow(environment, "abc"[index] as string, index === 2 ? 10 : 10_000, price * 1e6),
    ) as [ProviderAdapter, ProviderAdapter, ProviderAdapter];
    const inner = hedged([a, b], { afterMs: 100 });
    const { steps, usage } = await route(environment, hedged([inner, c], { afterMs: 500 }), 1_000);
    const input = (steps[0]?.[2] as number) ?? 0;
    expect(input).toBeGreaterThan(0);
    expect(steps).toEqual([
      ["a", "cancelled", input],
      ["b", "cancelled", input * 100],
      ["c", "answered", 200_000],
    ]);
    expect(usage.costUsd).toBeCloseTo(input * 101 + 200_000);
    expect(usage.estimated).toBe(true);
  });

  test("is charged what its failed tries reported, and an estimate of the one under way", async () => {
    const environment = fakeEnvironment();
    const failing = model("a", () => answer("", 7, 0), { environment, price: 1e6 }).adapter;
    const [b, c] = [slow(environment, "b", 10_000, 100e6), slow(environment, "c", 10, 10_000e6)];
    const { steps, usage } = await route(
      environment,
      hedged([fallback([failing, b], environment), c], { afterMs: 500 }),
      1_000,
    );
    expect(steps.map(([name, outcome]) => [name, outcome])).toEqual([
      ["a", "invalid_response"],
      ["b", "cancelled"],
      ["c", "answered"],
    ]);
    expect(steps[0]?.[2]).toBe(7);
    expect(usage.costUsd).toBeCloseTo(7 + (steps[1]?.[2] as number) + 200_000);
  });
});

describe("RTE-10 an abort at any moment", () => {
  test.each(["fallback", "hedged"] as const)(
    "loses nothing that a try of %s reported, and counts it once",
    async (kind) => {
      const seen = new Set<number>();
      for (let ticks = 0; ticks < 60; ticks++) {
        const controller = new AbortController();
        const abortLater = async (): Promise<void> => {
          for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
          controller.abort();
        };
        const a = model("a", () => answer("", 100, 10));
        const b = model("b", () => {
          void abortLater();
          return answer("b", 200, 20);
        });
        const budget = trackBudget({ maxTotalTokens: 100_000 });
        const evaluating = chains[kind]([a.adapter, b.adapter]).evaluate(prompt, { budget, signal: controller.signal });
        await evaluating.catch(() => {});
        expect(budget.remaining().totalTokens).toBe(100_000 - budget.consumed.totalTokens);
        seen.add(budget.consumed.totalTokens);
        // Two ticks are what reading the answer of any model takes.
        if (ticks > 3) expect(budget.consumed.totalTokens).toBe(330);
      }
      expect([...seen].every((tokens) => tokens === 110 || tokens === 330)).toBe(true);
    },
  );
});

test("RTE-10 what a try had streamed when it was aborted is counted once, beside what failed before", async () => {
  const environment = fakeEnvironment();
  const a = model("a", () => answer("", 100, 10), { environment });
  const text = "words ".repeat(400);
  const b = model(
    "b",
    async ({ onDelta, signal }) => {
      onDelta?.({ kind: "text", text });
      await environment.clock.sleep(10_000, signal);
    },
    { environment },
  );
  const budget = trackBudget({ maxTotalTokens: 100_000 });
  const controller = new AbortController();
  const reading = async (): Promise<void> => {
    const { signal } = controller;
    for await (const _ of fallback([a.adapter, b.adapter], environment).stream(prompt, { budget, signal }));
  };
  const evaluating = rejection(reading());
  await environment.clock.advance(10);
  controller.abort();
  expect((await evaluating).name).toBe("AbortedError");
  const { inputTokens, outputTokens } = budget.consumed;
  expect(inputTokens).toBeGreaterThan(100);
  expect(inputTokens).toBeLessThan(130);
  expect(outputTokens).toBeGreaterThan(300);
  expect(outputTokens).toBeLessThan(900);
});

test.each(["fallback", "hedged"] as const)(
  "RTE-4 LIM-10 %s: what a model had streamed before it refused the limit of the budget is taken back",
  async (kind) => {
    const a = model("a", ({ onDelta, maxOutputTokens }) => {
      const isLimited = maxOutputTokens !== undefined;
      onDelta?.({ kind: "text", text: isLimited ? "old" : "new" });
      if (!isLimited) return answer("new", 10, 1);
      return { failure: "provider", reason: "context_length", message: "Too long with this limit." };
    });
    const shown: string[] = [];
    for await (const event of chains[kind]([a.adapter]).stream(prompt, { budget: { maxTotalTokens: 1_000 } })) {
      if (event.type === "text.delta") shown.push(event.text);
      if (event.type === "text.reset") shown.push("reset");
    }
    expect(shown).toEqual(["old", "reset", "new"]);
  },
);
