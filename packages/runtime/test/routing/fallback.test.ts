import {
  deadlineIn,
  DefinitionError,
  definePrompt,
  defineTool,
  trackBudget,
  type ModelFailure,
  type ModelProvider,
  type ProviderThrottled,
  type RouteStep,
} from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fallback, paced, sharedPace, sharedPacing, type FallbackOptions } from "@proviso/runtime/routing";
import {
  fakeEnvironment,
  recordEvents,
  scriptedModel,
  type ScriptedModel,
  type ScriptedStep,
} from "@proviso/runtime/testing";
import { createSession } from "@proviso/runtime";
import { expect, test } from "vitest";
import { z } from "zod";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();
const busy: ModelFailure = { failure: "throttle", kind: "server_error", message: "busy" };
const noKey: ModelFailure = { failure: "provider", reason: "api_key", message: "no key" };

const answered = (text: string): ReturnType<ModelProvider["generate"]> =>
  Promise.resolve({ message: { role: "assistant", text, toolCalls: [] }, finishReason: "stop" });

/** A scripted model under a name of its own. */
function named(name: string, steps: readonly ScriptedStep[], more: Partial<ModelProvider> = {}) {
  const script = scriptedModel(steps);
  const provider: ModelProvider = { ...script, name, model: `${name}-1`, ...more };
  return { script, provider };
}

function chain(
  scripts: readonly (readonly ScriptedStep[])[],
  options: FallbackOptions = {},
  more: readonly Partial<ModelProvider>[] = [],
) {
  const environment = fakeEnvironment();
  const models = scripts.map((steps, index) => named("abc"[index] as string, steps, more[index]));
  const adapters = models.map(({ provider }) => modelAdapter(provider, environment));
  const asked = (): readonly number[] => models.map(({ script }: { script: ScriptedModel }) => script.requests.length);
  return { environment, adapters, asked, adapter: fallback(adapters, { ...options, ...environment }) };
}

test("RTE-1 a request that fails goes to the next adapter in the same turn, and no tool is repeated", async () => {
  let ran = 0;
  const tool = defineTool({
    name: "count",
    description: "Counts.",
    input: z.object({}),
    execute: () => void ran++,
  });
  const counting = definePrompt({ key: "c", sections: [{ key: "s", text: "Count.", tools: [tool] }] }).bind();
  const { adapter, asked } = chain([[{ toolCalls: [{ name: "count" }] }, busy], [{ text: "one" }]]);
  const session = createSession();
  const events = recordEvents(session);
  const routes: (readonly RouteStep[] | undefined)[] = [];
  session.on("provider.responded", ({ route }) => routes.push(route));
  const response = await adapter.evaluate(counting, { session });
  expect(response).toMatchObject({ output: "one", provider: "b", turns: 2 });
  expect([ran, asked()]).toEqual([1, [2, 1]]);
  const requested = events.filter(({ type }) => type === "provider.requested");
  expect(requested.length).toBe(2);
  expect(routes[1]?.map(({ provider, outcome }) => [provider, outcome])).toEqual([
    ["a", "server_error"],
    ["b", "answered"],
  ]);
});

test.each<[string, ScriptedStep]>([
  ["throttle", { ...busy, kind: "rate_limit" }],
  ["throttle, unknown", { ...busy, kind: "unknown" }],
  ["a broken connection", { error: new TypeError("fetch failed") }],
  ["not_found", { ...noKey, reason: "not_found" }],
  ["context_length", { ...noKey, reason: "context_length" }],
  ["invalid_response", { text: "" }],
])("RTE-2 goes on after %s", async (_, step) => {
  const { adapter } = chain([[step], [{ text: "yes" }]]);
  expect((await adapter.evaluate(prompt)).output).toBe("yes");
});

test.each<[string, ScriptedStep]>([
  ["api_key", noKey],
  ["bad_request", { ...noKey, reason: "bad_request" }],
  ["content_filter", { text: "no", finishReason: "content-filter" }],
  ["truncated", { text: "no", finishReason: "length" }],
])("RTE-2 ends as one adapter would after %s", async (reason, step) => {
  const { adapter, asked } = chain([[step], [{ text: "yes" }]]);
  await expect(adapter.evaluate(prompt)).rejects.toMatchObject({ code: "provider", reason });
  expect(asked()).toEqual([1, 0]);
});

test("RTE-2 `on` says which failures go on", async () => {
  const { adapter } = chain([[noKey], [{ text: "yes" }]], { on: ["api_key"] });
  expect((await adapter.evaluate(prompt)).output).toBe("yes");
  const other = chain([[{ ...busy, retry: false }], [{ text: "yes" }]], { on: ["api_key"] });
  await expect(other.adapter.evaluate(prompt)).rejects.toMatchObject({ code: "throttled" });
  expect(other.asked()).toEqual([1, 0]);
});

test("RTE-3 when all refuse, the earliest wait is the Retry-After, and that one is asked again", async () => {
  const limited = (retryAfterMs: number): ModelFailure => ({ ...busy, kind: "rate_limit", retryAfterMs });
  const { adapter, asked, environment } = chain([[limited(9_000)], [limited(3_000), { text: "yes" }]]);
  const session = createSession();
  const throttled: ProviderThrottled[] = [];
  session.on("provider.throttled", (event) => throttled.push(event));
  const startedAt = environment.clock.now();
  const evaluating = adapter.evaluate(prompt, { session });
  await environment.clock.advance(8_000);
  const { provider, turns } = await evaluating;
  expect([provider, turns, asked()]).toEqual(["b", 1, [1, 2]]);
  expect(throttled).toMatchObject([{ retryAfterMs: 3_000, kind: "rate_limit" }]);
  expect(throttled[0]?.route?.map(({ outcome }) => outcome)).toEqual(["rate_limit", "rate_limit"]);
  expect(environment.clock.now() - startedAt).toBe(8_000);
});

test("RTE-3 when no one is left, the evaluation ends as the last refusal says", async () => {
  const { adapter } = chain([[{ ...noKey, reason: "not_found" }], [{ ...noKey, reason: "context_length" }]]);
  await expect(adapter.evaluate(prompt)).rejects.toMatchObject({ code: "provider", reason: "context_length" });
});

test("RTE-4 what a failed try has streamed is taken back before the next one's deltas", async () => {
  const { adapter } = chain([[], [{ text: "right" }]], {}, [
    {
      generate: ({ onDelta }) => {
        onDelta?.({ kind: "text", text: "wrong" });
        setTimeout(() => onDelta?.({ kind: "text", text: "late" }), 0);
        return Promise.resolve(busy);
      },
    },
  ]);
  const shown: string[] = [];
  for await (const event of adapter.stream(prompt)) {
    if (event.type === "text.delta") shown.push(event.text);
    if (event.type === "text.reset") shown.push("(reset)");
  }
  expect(shown).toEqual(["wrong", "(reset)", "right"]);
});

test("RTE-5 an evaluation stays where it went, and the next begins with the order again", async () => {
  const tool = defineTool({ name: "t", description: "Does nothing.", input: z.object({}), execute: () => 1 });
  const calling = definePrompt({ key: "c", sections: [{ key: "s", text: "Go.", tools: [tool] }] }).bind();
  const call = { toolCalls: [{ name: "t" }] };
  const { adapter, asked } = chain([
    [busy, { text: "a again" }],
    [call, { text: "b" }],
  ]);
  expect((await adapter.evaluate(calling)).output).toBe("b");
  expect(asked()).toEqual([1, 2]);
  expect((await adapter.evaluate(calling)).provider).toBe("a");
});

test("RTE-6 one that does not take the settings is passed over; where none does, nothing is sent", async () => {
  const capabilities = { tools: true, nativeOutput: true };
  const { adapter, asked } = chain([[{ text: "a" }], [{ text: "b" }]], {}, [
    { capabilities },
    { capabilities: { ...capabilities, settings: ["seed"] } },
  ]);
  const { output } = await adapter.evaluate(prompt, { settings: { seed: 1 } });
  expect([output, asked()]).toEqual(["b", [0, 1]]);
  const refused = adapter.evaluate(prompt, { settings: { topP: 1 } });
  await expect(refused).rejects.toMatchObject({ code: "provider", reason: "bad_request", phase: "request" });
  expect(asked()).toEqual([0, 1]);
});

test("RTE-6 tools and native output are what all have", async () => {
  const { adapter, asked } = chain([[{ text: '{"ok":true}' }], []], {}, [
    {},
    { capabilities: { tools: false, nativeOutput: false } },
  ]);
  const tool = defineTool({ name: "t", description: "Does nothing.", input: z.object({}), execute: () => 1 });
  const calling = definePrompt({ key: "c", sections: [{ key: "s", text: "Go.", tools: [tool] }] }).bind();
  await expect(adapter.evaluate(calling)).rejects.toMatchObject({ code: "provider", reason: "bad_request" });
  const typed = definePrompt({ key: "o", text: "Go.", output: z.object({ ok: z.boolean() }) }).bind();
  const { text, output } = await adapter.evaluate(typed);
  expect([text, output, asked()]).toEqual([null, { ok: true }, [1, 0]]);
});

test("RTE-7 five failures in a row open a breaker for 30 s, then one request tries", async () => {
  const steps = [busy, busy, busy, busy, busy, busy, { text: "a" }];
  const { adapter, asked, environment } = chain([steps, Array(20).fill({ text: "b" }) as ScriptedStep[]]);
  const times = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) await adapter.evaluate(prompt);
  };
  await times(7);
  expect(asked()).toEqual([5, 7]);
  await environment.clock.advance(29_000);
  await times(1);
  expect(asked()).toEqual([5, 8]);
  await environment.clock.advance(1_000);
  // Of two at once one tries. It fails, which opens the breaker again.
  await Promise.all([adapter.evaluate(prompt), adapter.evaluate(prompt)]);
  await times(1);
  expect(asked()).toEqual([6, 11]);
  await environment.clock.advance(30_000);
  expect((await adapter.evaluate(prompt)).provider).toBe("a");
});

test("RTE-7 a Retry-After opens it for as long as it says, and `breaker: false` asks always", async () => {
  const limited: ModelFailure = { ...busy, kind: "rate_limit", retryAfterMs: 5_000 };
  const scripts = [[limited, { text: "a" }] as ScriptedStep[], Array(5).fill({ text: "b" }) as ScriptedStep[]];
  const { adapter, asked, environment } = chain(scripts);
  await adapter.evaluate(prompt);
  await adapter.evaluate(prompt);
  expect(asked()).toEqual([1, 2]);
  await environment.clock.advance(5_000);
  expect((await adapter.evaluate(prompt)).provider).toBe("a");
  const always = chain(scripts, { breaker: false });
  await always.adapter.evaluate(prompt);
  expect((await always.adapter.evaluate(prompt)).provider).toBe("a");
});

test("RTE-7 a breaker that opened while the clock ran ahead does not stay open for it", async () => {
  let offset = 0;
  let asked = 0;
  const { clock } = fakeEnvironment();
  const ahead = { now: () => clock.now() + offset, sleep: clock.sleep.bind(clock) };
  const failing: ModelProvider = {
    ...scriptedModel([]),
    name: "a",
    async generate() {
      if (asked++ > 0) return answered("a");
      offset = 86_400_000;
      return { ...busy, kind: "server_error" };
    },
  };
  const other: ModelProvider = { ...scriptedModel([]), name: "b", generate: () => answered("b") };
  const adapter = fallback([modelAdapter(failing, { clock: ahead }), modelAdapter(other, { clock: ahead })], {
    clock: ahead,
    breaker: { failures: 1, openMs: 200 },
  });
  expect((await adapter.evaluate(prompt)).provider).toBe("b");
  offset = 0;
  // Where the clock was set back is seen now.
  expect((await adapter.evaluate(prompt)).provider).toBe("b");
  await clock.advance(200);
  expect((await adapter.evaluate(prompt)).provider).toBe("a");
});

test("RTE-7 a Retry-After of years closes an adapter for an hour, not for the life of the process", async () => {
  const limited: ModelFailure = { ...busy, kind: "rate_limit", retryAfterMs: 99_999_999_999_999 };
  const scripts = [[limited, { text: "a" }] as ScriptedStep[], Array(5).fill({ text: "b" }) as ScriptedStep[]];
  const { adapter, asked, environment } = chain(scripts);
  await adapter.evaluate(prompt);
  await environment.clock.advance(3_599_000);
  await adapter.evaluate(prompt);
  expect(asked()).toEqual([1, 2]);
  await environment.clock.advance(1_000);
  expect((await adapter.evaluate(prompt)).provider).toBe("a");
});

test("RTE-7 a try whose provider never settles is over with its evaluation, and so is its turn at a pace", async () => {
  const environment = fakeEnvironment();
  let asked = 0;
  const provider: ModelProvider = {
    ...scriptedModel([]),
    name: "a",
    generate: () => (asked++ === 0 ? Promise.resolve(busy) : asked === 2 ? new Promise(() => {}) : answered("a")),
  };
  const other: ModelProvider = { ...scriptedModel([]), name: "b", generate: () => answered("b") };
  const pace = sharedPace({ maxInFlight: 1, clock: environment.clock });
  const adapter = fallback([paced(modelAdapter(provider, environment), pace), modelAdapter(other, environment)], {
    ...environment,
    breaker: { failures: 1, openMs: 100 },
  });
  expect((await adapter.evaluate(prompt)).provider).toBe("b");
  await environment.clock.advance(100);
  const late = adapter
    .evaluate(prompt, { deadline: deadlineIn(50, environment.clock) })
    .catch((error: unknown) => error);
  await environment.clock.advance(50);
  expect(await late).toMatchObject({ code: "deadline" });
  expect(pace.state().inFlight).toBe(0);
  expect((await adapter.evaluate(prompt)).provider).toBe("a");
});

test("RTE-10 the usage of all tries is summed, and an estimate among them is marked", async () => {
  const spent: ScriptedStep = { ...busy, usage: { inputTokens: 7, outputTokens: 2 } };
  const { adapter } = chain([[spent], [{ text: "yes" }]]);
  const budget = trackBudget({ maxTotalTokens: 10_000 });
  const { usage } = await adapter.evaluate(prompt, { budget });
  expect(usage).toMatchObject({ inputTokens: 17, outputTokens: 7, estimated: false });
  expect(budget.consumed).toMatchObject({ inputTokens: 17, outputTokens: 7 });
  const silent = chain([[{ ...busy, usage: { inputTokens: 7 } }], [{ text: "yes" }]]);
  expect((await silent.adapter.evaluate(prompt)).usage).toMatchObject({ inputTokens: 17, estimated: true });
});

test("RTE-10 each try is charged at its own model's price", async () => {
  const environment = fakeEnvironment();
  const usage = { inputTokens: 1_000_000, outputTokens: 0 };
  const first = named("a", [{ ...busy, usage }]).provider;
  const second = named("b", [{ text: "yes", usage }]).provider;
  const adapter = fallback([
    modelAdapter(first, { ...environment, pricing: { input: 1, output: 1 } }),
    modelAdapter(second, { ...environment, pricing: { input: 10, output: 10 } }),
  ]);
  expect((await adapter.evaluate(prompt)).usage.costUsd).toBeCloseTo(11);
});

test("RTE-10 an evaluation that is aborted in the second try has paid for the first", async () => {
  const controller = new AbortController();
  const { adapter } = chain([[{ ...busy, usage: { inputTokens: 7, outputTokens: 2 } }], []], {}, [
    {},
    {
      generate: () => {
        queueMicrotask(() => controller.abort());
        return new Promise(() => {});
      },
    },
  ]);
  const failed = adapter.evaluate(prompt, { signal: controller.signal });
  await expect(failed).rejects.toMatchObject({ code: "aborted", usage: { inputTokens: 7, outputTokens: 2 } });
});

test("LIM-6 RTE-10 a usage that is no number of tokens is estimated in a chain too", async () => {
  const usage = { inputTokens: -5, outputTokens: Number.NaN };
  const { adapter } = chain([[{ text: "an answer", usage } as ScriptedStep]]);
  const { usage: counted } = await adapter.evaluate(prompt);
  expect(counted.estimated).toBe(true);
  expect(counted.inputTokens).toBeGreaterThan(0);
  expect(counted.outputTokens).toBeGreaterThan(0);
});

test("LIM-10 RTE-10 a try that could not finish within its limit costs the whole limit, after another one too", async () => {
  const unfinished: ModelFailure = { failure: "provider", reason: "truncated", message: "Could not finish." };
  const limited = { capabilities: { tools: true, nativeOutput: true, outputLimit: { least: 1 } } };
  for (const before of [[], [{ ...busy, usage: { inputTokens: 7, outputTokens: 0 } }]]) {
    const { adapter } = chain([...before.map((failure) => [failure]), [unfinished]], {}, [limited, limited]);
    const budget = trackBudget({ maxOutputTokens: 90 });
    const failed = adapter.evaluate(prompt, { budget });
    await expect(failed).rejects.toMatchObject({ code: "budget", usage: { outputTokens: 90, estimated: true } });
    expect(budget.consumed.outputTokens).toBe(90);
  }
});

test("RTE-5 an order may return copies of its candidates", async () => {
  const other: ModelProvider = { ...scriptedModel([]), name: "b", generate: () => answered("b") };
  const adapter = fallback([modelAdapter(scriptedModel([])), modelAdapter(other)], {
    order: (candidates) => candidates.map((candidate) => ({ ...candidate })).toReversed(),
  });
  expect((await adapter.evaluate(prompt)).provider).toBe("b");
});

test.each<[string, unknown]>([
  [
    "throws",
    () => {
      throw new Error("no order");
    },
  ],
  ["returns no list", () => undefined],
  ["returns what is no candidate", () => [null]],
])("RTE-5 an order that %s is named in the error", async (_, order) => {
  const adapter = fallback([modelAdapter(scriptedModel([]))], { order: order as never });
  const error: unknown = await adapter.evaluate(prompt).catch((thrown: unknown) => thrown);
  expect((error as Error).message).toContain("order");
  expect((error as Error).cause).toBeInstanceOf(DefinitionError);
});

test("RTE-12 the secrets of all members are hidden", async () => {
  const environment = fakeEnvironment();
  const [first, second] = ["secret-of-a", "secret-of-b"] as const;
  const leaking = named("b", [{ ...noKey, message: `bad ${first} and ${second}` }]).provider;
  const adapter = fallback([
    modelAdapter(named("a", [busy]).provider, { ...environment, secrets: [first] }),
    modelAdapter(leaking, { ...environment, secrets: [second] }),
  ]);
  const error = await adapter.evaluate(prompt).catch((caught: unknown) => caught as Error);
  expect(error).toMatchObject({ code: "provider", reason: "api_key" });
  expect(String((error as Error).message)).not.toMatch(/secret-of/);
});

test("RTE-12 chains nest, keep paces, and show the tries of the chain inside", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const make = (name: string, steps: readonly ScriptedStep[]) => modelAdapter(named(name, steps).provider, environment);
  const pace = sharedPace({ requestsPerMinute: 60, clock });
  const inner = fallback([make("a", [busy]), make("b", [busy])]);
  const outer = fallback([inner, paced(make("c", [{ text: "yes" }]), pace)]);
  const { provider } = await outer.evaluate(prompt);
  expect(provider).toBe("c");
  expect(pace.state()).toMatchObject({ inFlight: 0 });
  const lanes: string[] = [];
  const shared = sharedPacing({ clock });
  const pacing = {
    lane(name: string, model: string) {
      lanes.push(name);
      return shared.lane(name, model);
    },
  };
  await fallback([make("a", [busy]), make("b", [{ text: "yes" }])]).evaluate(prompt, { pacing });
  expect(lanes).toEqual(["a", "b"]);
});

test("RTE-13 an empty chain, a foreign adapter, and an adapter that is there twice are refused", () => {
  const one = modelAdapter(named("a", []).provider);
  const foreign = { ...one };
  for (const adapters of [[], [foreign], [one, one], [one, fallback([one])], undefined, [null]]) {
    expect(() => fallback(adapters as never)).toThrow(expect.objectContaining({ name: "DefinitionError" }));
  }
});

test("RTE-13 ERR-3 the message of an empty chain, and of an order with a stranger, says what was wrong", async () => {
  const one = modelAdapter(scriptedModel([]));
  expect(() => fallback(one as never, one as never)).toThrow("needs a list of at least one adapter, not an object.");
  expect(() => fallback([])).toThrow("fallback needs a list of at least one adapter, not an empty list.");
  const ordered = (order: unknown) =>
    fallback([modelAdapter(scriptedModel([]))], { order: order as never }).evaluate(prompt);
  await expect(ordered((all: readonly object[]) => [all[0], "b"])).rejects.toThrow(
    'fallback: order must return a list of its candidates, and item 1 of what it returned is "b".',
  );
  await expect(ordered(() => "b")).rejects.toThrow('a list of its candidates, not "b".');
});

test("RTE-13 options that cannot be are refused where the chain is made", () => {
  const one = modelAdapter(named("a", []).provider);
  const wrong = [{ on: ["odd"] }, { on: "timeout" }, { breaker: { failures: 0 } }, { breaker: true }, { order: 1 }];
  for (const options of [...wrong, { breaker: { openMs: -1 } }, { unknown: 1 }, null, 5]) {
    expect(() => fallback([one], options as never)).toThrow(expect.objectContaining({ name: "DefinitionError" }));
  }
});
