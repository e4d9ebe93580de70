// What strangers found in crowds of chains on one budget.
import { definePrompt, trackBudget, type ModelProvider, type ModelRequest, type ProviderAdapter } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fallback, hedged, paced, type FallbackOptions } from "@proviso/runtime/routing";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { rejection } from "../support.ts";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();
type Answer = Awaited<ReturnType<ModelProvider["generate"]>>;
type Environment = ReturnType<typeof fakeEnvironment>;

const answer = (text: string, usage: unknown, finishReason = "stop") => ({
  message: { role: "assistant", text, toolCalls: [] },
  finishReason,
  usage,
});
const busy = (usage?: unknown) => ({ failure: "throttle", kind: "server_error", message: "busy", usage });

interface Made {
  readonly environment?: Environment;
  readonly pricing?: { readonly input: number; readonly output: number };
  readonly capabilities?: Partial<ModelProvider["capabilities"]>;
  readonly maxOutputTokens?: number;
}

function model(name: string, generate: (request: ModelRequest) => unknown, made: Made = {}) {
  const { environment = fakeEnvironment(), pricing, capabilities, maxOutputTokens } = made;
  const requests: ModelRequest[] = [];
  const provider: ModelProvider = {
    name,
    model: `${name}-1`,
    maxOutputTokens,
    capabilities: { tools: true, nativeOutput: false, outputLimit: { least: 1 }, ...capabilities },
    async generate(request) {
      requests.push(request);
      return (await generate(request)) as Answer;
    },
  };
  return { requests, adapter: modelAdapter(provider, { ...environment, pricing, throttle: { maxAttempts: 1 } }) };
}

const late = { afterMs: 60_000 };

test("LIM-10 what a try has cost is counted once for a hedge that comes third", async () => {
  const environment = fakeEnvironment();
  const [a, b] = [model("a", () => busy({ inputTokens: 10, outputTokens: 400 })), model("b", () => busy())];
  const [c, d] = [model("c", () => answer("c", { inputTokens: 10, outputTokens: 20 })), model("d", () => busy())];
  for (const chain of [fallback([a.adapter, b.adapter, hedged([c.adapter, d.adapter], late)], environment)]) {
    expect((await chain.evaluate(prompt, { budget: trackBudget({ maxTotalTokens: 900 }) })).text).toBe("c");
    // Of the 490 that are left each has its half, less its input.
    expect(c.requests.at(-1)?.maxOutputTokens).toBeGreaterThan(200);
    expect(c.requests.at(-1)?.maxOutputTokens).toBeLessThan(245);
  }
});

test.each([
  [{ input: 2, output: 8 }, { input: 1.25, output: 10 }, 0.02],
  [{ input: 100, output: 1 }, { input: 1, output: 100 }, 0.3],
])(
  "LIM-10 LIM-12 dollars hold where the dearest of two models depends on the answer's length: %j, %j",
  async (one, other, usd) => {
    const greedy = ({ maxOutputTokens }: ModelRequest) =>
      answer("", { inputTokens: 10, outputTokens: maxOutputTokens ?? 1_000_000 });
    for (const pricing of [
      [one, other],
      [other, one],
    ] as const) {
      const models = pricing.map((each, index) => model("ab"[index] as string, greedy, { pricing: each }));
      const budget = trackBudget({ maxCostUsd: usd });
      await rejection(fallback(models.map(({ adapter }) => adapter)).evaluate(prompt, { budget }));
      expect(budget.consumed.costUsd).toBeLessThanOrEqual(usd * 1.01);
    }
  },
);

test("LIM-6 LIM-10 a total that is more than input and output counts for the next try", async () => {
  const a = model("a", () => answer("", { inputTokens: 10, outputTokens: 5, totalTokens: 950 }));
  const b = model("b", ({ maxOutputTokens = 5_000 }) => answer("", { inputTokens: 10, outputTokens: maxOutputTokens }));
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  await rejection(fallback([a.adapter, b.adapter]).evaluate(prompt, { budget }));
  expect(budget.consumed.totalTokens).toBeLessThan(1_050);
});

test("RTE-7 LIM-5 evaluations that wait for room see what the breaker has learnt meanwhile", async () => {
  const environment = fakeEnvironment();
  const a = model("a", () => busy({ inputTokens: 10, outputTokens: 40 }), { environment, maxOutputTokens: 150 });
  const b = model(
    "b",
    async () => {
      await environment.clock.sleep(100);
      return busy();
    },
    { environment, maxOutputTokens: 150 },
  );
  const options: FallbackOptions = { breaker: { failures: 1 } };
  const chain = fallback([a.adapter, b.adapter], { ...environment, ...options });
  const budget = trackBudget({ maxTotalTokens: 400 });
  const all = Array.from({ length: 2 }, () => rejection(chain.evaluate(prompt, { budget })));
  await environment.clock.advance(1_000);
  await Promise.all(all);
  expect(b.requests.length).toBe(1);
  expect(budget.remaining().totalTokens).toBe(400 - budget.consumed.totalTokens);
});

test("RTE-11 LIM-10 a model of a hedge that there was no room for is asked once another one has failed", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const bounded = { environment, capabilities: { outputLimit: undefined }, maxOutputTokens: 300 };
  const fails = async () => {
    await clock.sleep(500);
    return busy();
  };
  // What it has cost leaves room for one of the others.
  const a = model("a", () => busy({ inputTokens: 10, outputTokens: 440 }), bounded);
  const b = model("b", fails, bounded);
  let askedAt = 0;
  const startedAt = clock.now();
  const answers = () => {
    askedAt = clock.now() - startedAt;
    return answer("c", { inputTokens: 10, outputTokens: 5 });
  };
  const c = model("c", answers, bounded);
  const evaluating = hedged([a.adapter, b.adapter, c.adapter], { afterMs: 100 }).evaluate(prompt, {
    budget: { maxTotalTokens: 1_000 },
  });
  await clock.advance(2_000);
  expect((await evaluating).text).toBe("c");
  expect(askedAt).toBe(500);
});

test("LIM-5 LIM-10 a model of a chain whose room others have overspent waits for what is reserved", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const bounded = { environment, capabilities: { outputLimit: undefined }, maxOutputTokens: 200 };
  const after = async (ms: number, what: unknown) => {
    await clock.sleep(ms);
    return what;
  };
  const a = model("a", () => after(200, busy()), bounded);
  const b = model("b", () => answer("b", { inputTokens: 10, outputTokens: 5 }), bounded);
  const greedy = model("x", () => after(100, answer("x", { inputTokens: 10, outputTokens: 690 })), bounded);
  const modest = model("y", () => after(300, answer("y", { inputTokens: 10, outputTokens: 10 })), bounded);
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const all = [greedy.adapter, modest.adapter, hedged([a.adapter, b.adapter], late)].map((adapter) =>
    adapter.evaluate(prompt, { budget }),
  );
  await clock.advance(2_000);
  expect((await Promise.all(all)).map(({ text }) => text)).toEqual(["x", "y", "b"]);
});

test("LIM-12 a chain of a model with a price and one that reports its costs is limited in dollars", async () => {
  const usage = { inputTokens: 10, outputTokens: 10 };
  const priced = model("a", () => answer("", usage), { pricing: { input: 1, output: 1 } });
  const reporting = model("b", () => answer("b", { ...usage, costUsd: 0.001 }), {
    capabilities: { reportsCost: true },
  });
  const silent = model("c", () => answer("c", usage));
  const budget = trackBudget({ maxCostUsd: 1 });
  const { text } = await fallback([priced.adapter, reporting.adapter]).evaluate(prompt, { budget });
  expect(text).toBe("b");
  expect(budget.consumed.costUsd).toBeCloseTo(0.00102);
  const error = await rejection(fallback([priced.adapter, silent.adapter]).evaluate(prompt, { budget }));
  expect(error.message).toContain('the price of "c-1" is not known');
});

test.each([
  ["reported", { inputTokens: 10, outputTokens: 1 }, { inputTokens: 10, outputTokens: 150 }],
  ["estimated", { outputTokens: 1 }, { inputTokens: 10, outputTokens: 150 }],
  ["estimated", undefined, undefined],
])(
  "LIM-10 LOOP-5 an answer that its model's own bound cut short stays that, after a try whose cost is %s",
  async (_, before, usage) => {
    const a = model("a", () => busy(before));
    const b = model("b", () => answer("yes yes", usage, "length"), { maxOutputTokens: 150 });
    const error = await rejection(
      fallback([a.adapter, b.adapter]).evaluate(prompt, { budget: { maxTotalTokens: 5_000 } }),
    );
    expect(error).toMatchObject({ name: "ProviderError", reason: "truncated" });
    expect(b.requests[0]?.maxOutputTokens).toBeUndefined();
  },
);

type Chain = (adapters: readonly [ProviderAdapter, ProviderAdapter], environment: Environment) => ProviderAdapter;
test.each<readonly [string, Chain]>([
  ["hedged", (adapters) => hedged(adapters, late)],
  ["a fallback in a hedge", (adapters, environment) => hedged([fallback(adapters, environment)], late)],
])("LIM-5 where nothing else of it is under way, %s waits for what others hold", async (_, chainOf) => {
  const environment = fakeEnvironment();
  const made = { environment, maxOutputTokens: 450 };
  const slow = model(
    "s",
    async () => {
      await environment.clock.sleep(1_000);
      return answer("slow", { inputTokens: 10, outputTokens: 20 });
    },
    { environment, maxOutputTokens: 60 },
  );
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const a = model("a", () => answer("", { inputTokens: 10, outputTokens: 440 }), made);
  const b = model("b", () => answer("b", { inputTokens: 10, outputTokens: 400 }), made);
  const first = slow.adapter.evaluate(prompt, { budget });
  const second = chainOf([a.adapter, b.adapter], environment).evaluate(prompt, { budget });
  await environment.clock.advance(3_000);
  expect((await first).text).toBe("slow");
  expect((await second).text).toBe("b");
  expect(budget.remaining().totalTokens).toBe(1_000 - budget.consumed.totalTokens);
});

test.each([
  ["one at a time", { maxInFlight: 1 }],
  ["two before its first answer", {}],
])(
  "LIM-5 PAC-2 what waits for a pace holds no room that others wait for which have their turn: %s",
  async (_, options) => {
    const environment = fakeEnvironment();
    const made = { environment, maxOutputTokens: 450 };
    const a = model("a", () => answer("", { inputTokens: 10, outputTokens: 100 }), made);
    const b = model("b", () => answer("b", { inputTokens: 10, outputTokens: 10 }), made);
    const c = model("c", () => busy(), made);
    const inner = paced(fallback([a.adapter, b.adapter], environment), options);
    const alone = paced(model("d", () => answer("d", { inputTokens: 10, outputTokens: 10 }), made).adapter, options);
    for (const chain of [fallback([inner, c.adapter], environment), hedged([inner, c.adapter], late)]) {
      const budget = trackBudget({ maxTotalTokens: 1_800 });
      const all = Array.from({ length: 4 }, () => chain.evaluate(prompt, { budget }));
      await environment.clock.advance(120_000);
      expect((await Promise.all(all)).map(({ text }) => text)).toEqual(["b", "b", "b", "b"]);
      expect(budget.remaining().totalTokens).toBe(1_800 - budget.consumed.totalTokens);
    }
    // The pace of one adapter, which is asked alone and in a chain.
    const budget = trackBudget({ maxTotalTokens: 1_000 });
    const chain = fallback([alone, c.adapter], environment);
    const all = Array.from({ length: 6 }, (_each, index) =>
      (index % 2 === 0 ? alone : chain).evaluate(prompt, { budget }),
    );
    await environment.clock.advance(120_000);
    expect((await Promise.all(all)).every(({ text }) => text === "d")).toBe(true);
  },
);

test.each(["bad_request", "context_length"])(
  "LIM-10 a limit that one model of a chain refuses as %s is taken from that one alone",
  async (reason) => {
    const environment = fakeEnvironment();
    let isBusy = true;
    const picky = model(
      "a",
      ({ maxOutputTokens = 0 }) => {
        if (maxOutputTokens > 4_096) return { failure: "provider", reason, message: "max_tokens is too large" };
        return isBusy ? busy() : answer("a", { inputTokens: 10, outputTokens: 100 });
      },
      { environment },
    );
    const other = model(
      "b",
      ({ maxOutputTokens = 100_000 }) => answer("", { inputTokens: 10, outputTokens: maxOutputTokens }),
      { environment },
    );
    const chain = fallback([picky.adapter, other.adapter], environment);
    const budget = trackBudget({ maxTotalTokens: 30_000 });
    await rejection(chain.evaluate(prompt, { budget }));
    expect(budget.consumed.totalTokens).toBeLessThan(30_100);
    expect(picky.requests.map(({ maxOutputTokens }) => maxOutputTokens === undefined)).toEqual([false, true]);
    isBusy = false;
    expect((await chain.evaluate(prompt, { budget: trackBudget({ maxTotalTokens: 30_000 }) })).text).toBe("a");
  },
);

test("LIM-10 RTE-11 a model that waited for its pace has what those of its hedge have left", async () => {
  const environment = fakeEnvironment();
  const greedy = async ({ maxOutputTokens = 5_000, signal }: ModelRequest) => {
    await environment.clock.sleep(30_000, signal);
    return answer("", { inputTokens: 10, outputTokens: maxOutputTokens }, "length");
  };
  const [a, b] = [model("a", greedy, { environment }), model("b", greedy, { environment })];
  // One other request is under way, which keeps the second one waiting.
  const slow = paced(a.adapter, { maxInFlight: 1 });
  const first = rejection(slow.evaluate(prompt));
  await environment.clock.advance(29_000);
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const ended = rejection(hedged([slow, b.adapter], { afterMs: 200 }).evaluate(prompt, { budget }));
  await environment.clock.advance(120_000);
  await first;
  expect((await ended).name).toBe("BudgetExceededError");
  const limits = [...a.requests.slice(1), ...b.requests].map(({ maxOutputTokens = 0 }) => maxOutputTokens);
  expect(limits.reduce((sum, limit) => sum + limit, 0)).toBeLessThanOrEqual(1_000);
  expect(budget.remaining().totalTokens).toBe(1_000 - budget.consumed.totalTokens);
});

test("LIM-4 LIM-10 where others have spent all while a model of a hedge waited for its pace, none is asked", async () => {
  const environment = fakeEnvironment();
  const answers = async ({ signal }: ModelRequest) => {
    await environment.clock.sleep(30_000, signal);
    return answer("a", { inputTokens: 10, outputTokens: 10 });
  };
  const [a, b] = [model("a", answers, { environment }), model("b", answers, { environment })];
  const slow = paced(a.adapter, { maxInFlight: 1 });
  const first = slow.evaluate(prompt);
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const ended = rejection(hedged([slow, b.adapter], { afterMs: 1_000 }).evaluate(prompt, { budget }));
  await environment.clock.advance(500);
  const spent = { inputTokens: 995, outputTokens: 0, totalTokens: 995 };
  budget.reserve({ inputTokens: 0, outputTokens: 0 })?.settle(spent as never);
  await environment.clock.advance(300_000);
  await first;
  expect((await ended).name).toBe("BudgetExceededError");
  expect([a.requests.length, b.requests.length]).toEqual([1, 0]);
});

test("RTE-3 THR-2 a hedge whose models were all asked at last, and refused for the moment, is throttled", async () => {
  const environment = fakeEnvironment();
  const made = { environment, maxOutputTokens: 300, capabilities: { outputLimit: undefined } };
  const later = async () => {
    await environment.clock.sleep(500);
    return busy();
  };
  const a = model("a", () => busy({ inputTokens: 25, outputTokens: 375 }), made);
  const [b, c] = [model("b", later, made), model("c", () => busy(), made)];
  const ended = rejection(
    hedged([a.adapter, b.adapter, c.adapter], { afterMs: 100 }).evaluate(prompt, { budget: { maxTotalTokens: 1_100 } }),
  );
  await environment.clock.advance(5_000);
  expect((await ended).name).toBe("ThrottleError");
  expect(c.requests.length).toBe(1);
});

test("LIM-10 the limit of the model that answered decides whether the budget cut it short, whichever lost after it", async () => {
  const environment = fakeEnvironment();
  const x = model("x", () => answer("", { inputTokens: 100, outputTokens: 2_900 }), { environment });
  const y = model(
    "y",
    async ({ maxOutputTokens = 0 }) => {
      await environment.clock.sleep(500);
      return answer("part", { inputTokens: 100, outputTokens: maxOutputTokens }, "length");
    },
    { environment },
  );
  const z = model("z", ({ signal }) => environment.clock.sleep(60_000, signal), { environment });
  const ended = rejection(
    hedged([fallback([x.adapter, y.adapter], environment), z.adapter], { afterMs: 100 }).evaluate(prompt, {
      budget: { maxTotalTokens: 10_000 },
    }),
  );
  await environment.clock.advance(5_000);
  expect((await ended).name).toBe("BudgetExceededError");
});

test("LIM-10 LOOP-5 a limit that was not sent cut nothing short", async () => {
  const small = model("a", () => answer("cut", { inputTokens: 10, outputTokens: 150 }, "length"), {
    maxOutputTokens: 150,
  });
  const big = model("b", () => answer("b", undefined), {});
  const chain = fallback([small.adapter, big.adapter]);
  const error = await rejection(chain.evaluate(prompt, { budget: { maxTotalTokens: 185 } }));
  expect(small.requests[0]?.maxOutputTokens).toBeUndefined();
  expect(error).toMatchObject({ name: "ProviderError", reason: "truncated" });
});

test.each(["fallback", "hedged"])(
  "LIM-4 LIM-5 %s: a later try for which too little is left is refused at once, with what earlier ones cost as spent",
  async (kind) => {
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = async () => {
      asked.resolve();
      await answered.promise;
      return answer("slow", { inputTokens: 10, outputTokens: 5 });
    };
    const budget = trackBudget({ maxTotalTokens: 1_000 });
    const evaluating = model("other", slow, { maxOutputTokens: 1 }).adapter.evaluate(prompt, { budget });
    await asked.promise;
    const held = 1_000 - budget.remaining().totalTokens;
    const dear = () => busy({ inputTokens: 10, outputTokens: 940 });
    const made = { maxOutputTokens: 100, capabilities: { outputLimit: { least: 50 } } };
    const failing = ["a", "b"].map((name) => model(name, dear, made).adapter);
    const chain = kind === "fallback" ? fallback(failing) : hedged(failing, late);
    const error = await rejection(chain.evaluate(prompt, { budget }));
    expect(error).toMatchObject({ code: "budget", limit: 1_000, spent: 950, reserved: held });
    expect(error.message).toContain(`limit 1000, spent 950, reserved ${held}, wanted`);
    expect(held).toBeGreaterThan(0);
    answered.resolve();
    await evaluating;
    expect(budget.consumed.totalTokens).toBe(965);
  },
);
