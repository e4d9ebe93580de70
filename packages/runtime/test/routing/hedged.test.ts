import {
  definePrompt,
  trackBudget,
  type ModelProvider,
  type ModelRequest,
  type Pace,
  type ProviderAdapter,
  type RouteStep,
} from "@proviso/core";
import { agentAdapter, createSession, modelAdapter } from "@proviso/runtime";
import { fallback, hedged, paced, priced, type HedgeOptions } from "@proviso/runtime/routing";
import { fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();

interface Service {
  /** Milliseconds of each request until its answer. */
  readonly takesMs: number | readonly number[];
  readonly maxOutputTokens?: number;
  readonly failsWith?: "rate_limit" | undefined;
  /** Pieces that it streams before it answers, each so many milliseconds after the last. */
  readonly deltas?: readonly (readonly [ms: number, text: string])[];
  readonly ignoresAbort?: boolean;
}

/** Adapters over services whose answers take time, on one clock. */
function services(...all: readonly Service[]) {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const requests: { readonly by: string; readonly at: number; readonly signal: AbortSignal; abortedAt?: number }[] = [];
  const adapters = all.map(({ takesMs, failsWith, deltas = [], ignoresAbort = false, maxOutputTokens }, index) => {
    const name = "abc"[index] as string;
    let count = 0;
    const provider: ModelProvider = {
      name,
      model: `${name}-1`,
      maxOutputTokens,
      capabilities: { tools: true, nativeOutput: false },
      async generate({ signal, onDelta }: ModelRequest) {
        const request: (typeof requests)[number] = { by: name, at: clock.now(), signal };
        requests.push(request);
        signal.addEventListener("abort", () => (request.abortedAt = clock.now()));
        const waited = ignoresAbort ? undefined : signal;
        for (const [ms, text] of onDelta === undefined ? [] : deltas) {
          await clock.sleep(ms, waited);
          onDelta?.({ kind: "text", text });
        }
        const durations = typeof takesMs === "number" ? [takesMs] : takesMs;
        await clock.sleep(durations[Math.min(count++, durations.length - 1)] as number, waited);
        if (failsWith !== undefined) return { failure: "throttle", kind: failsWith, message: "busy" };
        return {
          message: { role: "assistant", text: name, toolCalls: [] },
          finishReason: "stop",
          usage: { inputTokens: 100, outputTokens: 10 },
        };
      },
    };
    return modelAdapter(provider, { ...environment, pricing: { input: 1_000_000, output: 1_000_000 } });
  });
  return { adapters, clock, requests };
}

function outcomes(route: readonly RouteStep[] = []): readonly (readonly [string, string])[] {
  return route.map(({ provider, outcome }) => [provider, outcome]);
}

test("RTE-11 the next adapter is asked when an answer takes long, and the first answer wins", async () => {
  const { adapters, clock, requests } = services({ takesMs: 10_000 }, { takesMs: 500 });
  const session = createSession();
  let route: readonly RouteStep[] | undefined;
  session.on("provider.responded", (event) => void (route = event.route));
  const evaluating = hedged(adapters, { afterMs: 2_000 }).evaluate(prompt, { session });
  const startedAt = clock.now();
  await clock.advance(1_999);
  expect(requests.length).toBe(1);
  await clock.advance(501);
  const response = await evaluating;
  expect(response).toMatchObject({ output: "b", provider: "b" });
  expect(requests.map(({ by, at, abortedAt }) => [by, at - startedAt, abortedAt && abortedAt - startedAt])).toEqual([
    ["a", 0, 2_500],
    ["b", 2_000, undefined],
  ]);
  expect(outcomes(route)).toEqual([
    ["a", "cancelled"],
    ["b", "answered"],
  ]);
  expect(clock.pending).toBe(0);
});

test("RTE-11 after an answer in time no other adapter is asked", async () => {
  const { adapters, clock, requests } = services({ takesMs: 500 }, { takesMs: 500 });
  const evaluating = hedged(adapters, { afterMs: 2_000 }).evaluate(prompt);
  await clock.advance(500);
  expect(await evaluating).toMatchObject({ output: "a", usage: { totalTokens: 110, estimated: false } });
  expect(requests.length).toBe(1);
  expect(clock.pending).toBe(0);
});

test("RTE-11 who ignores the abort is not waited for", async () => {
  const { adapters, clock } = services({ takesMs: 60_000, ignoresAbort: true }, { takesMs: 500 });
  const evaluating = hedged(adapters, { afterMs: 1_000 }).evaluate(prompt);
  await clock.advance(1_500);
  expect((await evaluating).output).toBe("b");
});

test("RTE-11 streamed, the first delta wins, and nothing of the others is shown", async () => {
  const slow: Service = { takesMs: 1_000, deltas: [[3_000, "a"]], ignoresAbort: true };
  const { adapters, clock, requests } = services(slow, { takesMs: 4_000, deltas: [[500, "b"]] });
  const stream = hedged(adapters, { afterMs: 1_000 }).stream(prompt);
  const texts: string[] = [];
  const reading = (async () => {
    for await (const event of stream) if (event.type === "text.delta") texts.push(event.text);
  })();
  await clock.advance(1_500);
  expect(requests[0]?.signal.aborted).toBe(true);
  await clock.advance(10_000);
  await reading;
  expect([(await stream.response).output, texts.join("")]).toEqual(["b", "b"]);
});

test("RTE-11 who has lost wins no more, though the winner fails", async () => {
  const late: Service = { takesMs: 1_000, deltas: [[3_000, "late"]], ignoresAbort: true };
  const { adapters, clock, requests } = services(
    late,
    { takesMs: 500, deltas: [[500, "half"]], failsWith: "rate_limit" },
    { takesMs: 500, deltas: [[1_500, "c"]] },
  );
  const stream = hedged(adapters, { afterMs: 1_000 }).stream(prompt);
  const shown: string[] = [];
  const reading = (async () => {
    for await (const event of stream) {
      if (event.type === "text.delta") shown.push(event.text);
      if (event.type === "text.reset") shown.push("reset");
    }
  })();
  await clock.advance(10_000);
  await reading;
  expect((await stream.response).output).toBe("c");
  expect(shown).toEqual(["half", "reset", "c"]);
  // Who has lost can be asked again: slow is not failed.
  expect(requests.map(({ by }) => by)).toEqual(["a", "b", "a", "c"]);
});

test("RTE-11 what fails after its first delta is taken back, and the next is asked at once", async () => {
  const { adapters, clock } = services(
    { takesMs: 100, deltas: [[100, "half"]], failsWith: "rate_limit" },
    { takesMs: 100, deltas: [[100, "b"]] },
  );
  const stream = hedged(adapters, { afterMs: 5_000 }).stream(prompt);
  const shown: string[] = [];
  const reading = (async () => {
    for await (const event of stream) {
      if (event.type === "text.delta") shown.push(event.text);
      if (event.type === "text.reset") shown.push("reset");
    }
  })();
  await clock.advance(1_000);
  await reading;
  expect(shown).toEqual(["half", "reset", "b"]);
});

test("RTE-11 after a failure the next is asked at once, also while another one takes long", async () => {
  const { adapters, clock, requests } = services(
    { takesMs: 2_100, failsWith: "rate_limit" },
    { takesMs: 60_000 },
    { takesMs: 10 },
  );
  const startedAt = clock.now();
  const evaluating = hedged(adapters, { afterMs: 2_000 }).evaluate(prompt);
  await clock.advance(2_110);
  expect((await evaluating).output).toBe("c");
  expect(requests.map(({ by, at }) => [by, at - startedAt])).toEqual([
    ["a", 0],
    ["b", 2_000],
    ["c", 2_100],
  ]);
});

test("RTE-10 RTE-11 what a loser cost is an estimate, at its own price, and the sum says so", async () => {
  const { adapters, clock } = services({ takesMs: 10_000 }, { takesMs: 500 });
  const session = createSession();
  let route: readonly RouteStep[] = [];
  session.on("provider.responded", (event) => void (route = event.route ?? []));
  const evaluating = hedged(adapters, { afterMs: 1_000 }).evaluate(prompt, { session });
  await clock.advance(1_500);
  const { usage } = await evaluating;
  const lost = route[0]?.usage?.inputTokens ?? 0;
  expect(lost).toBeGreaterThan(0);
  expect(usage).toMatchObject({ inputTokens: 100 + lost, outputTokens: 10, estimated: true, costUsd: 110 + lost });
});

test("RTE-11 a budget has room for all that are asked at once, or nothing is sent", async () => {
  const bounded: Service = { takesMs: 500, maxOutputTokens: 1_000 };
  const { adapters, clock, requests } = services(bounded, bounded);
  const alone = (adapters[0] as (typeof adapters)[0]).evaluate(prompt, {
    budget: trackBudget({ maxTotalTokens: 1_500 }),
  });
  await clock.advance(500);
  await alone;
  const evaluating = hedged(adapters, { afterMs: 1_000 }).evaluate(prompt, {
    budget: trackBudget({ maxTotalTokens: 1_500 }),
  });
  await expect(evaluating).rejects.toMatchObject({ code: "budget" });
  expect(requests.length).toBe(1);
});

test("RTE-11 the end of the evaluation aborts all", async () => {
  const { adapters, clock, requests } = services({ takesMs: 10_000 }, { takesMs: 10_000 });
  const controller = new AbortController();
  const evaluating = hedged(adapters, { afterMs: 1_000 }).evaluate(prompt, { signal: controller.signal });
  const outcome = expect(evaluating).rejects.toMatchObject({ code: "aborted" });
  await clock.advance(1_500);
  controller.abort();
  await outcome;
  expect(requests.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  expect(clock.pending).toBe(0);
});

test("LIM-2 RTE-11 after the end of the evaluation nothing waits for a model that ignores the abort but its own answer", async () => {
  const { adapters, clock, requests } = services(
    { takesMs: 5_000, ignoresAbort: true },
    { takesMs: 5_000, ignoresAbort: true },
  );
  let sleeps = 0;
  const { sleep } = clock;
  clock.sleep = (ms, signal) => (++sleeps > 20 ? new Promise<void>(() => {}) : sleep.call(clock, ms, signal));
  const controller = new AbortController();
  const evaluating = hedged(adapters, { afterMs: 1_000 }).evaluate(prompt, { signal: controller.signal });
  const failed = evaluating.catch((error: Error) => error.name);
  await clock.advance(100);
  controller.abort();
  expect(await failed).toBe("AbortedError");
  await clock.advance(5_000);
  expect(sleeps).toBeLessThan(10);
  expect(requests.length).toBe(1);
});

test("RTE-11 a failure asks the next at once; when all fail it is one refusal", async () => {
  const fails: Service = { takesMs: 100, failsWith: "rate_limit" };
  const { adapters, clock, requests } = services(fails, { takesMs: 100 });
  const evaluating = hedged(adapters, { afterMs: 5_000 }).evaluate(prompt);
  await clock.advance(200);
  expect((await evaluating).output).toBe("b");
  expect(requests.length).toBe(2);
  const none = services(fails, fails);
  const session = createSession();
  const events = recordEvents(session);
  const controller = new AbortController();
  const failing = hedged(none.adapters, { afterMs: 5_000 }).evaluate(prompt, { session, signal: controller.signal });
  const outcome = expect(failing).rejects.toMatchObject({ code: "aborted" });
  await none.clock.advance(200);
  const throttled = events.filter(({ type }) => type === "provider.throttled");
  expect(throttled).toMatchObject([{ route: [{ outcome: "rate_limit" }, { outcome: "rate_limit" }] }]);
  controller.abort();
  await outcome;
});

test("RTE-11 by percentile nothing is hedged before 20 requests", async () => {
  // The second and the twentieth are slow: with fewer requests behind them they would be hedged after 100 ms.
  const durations = [100, 1_000, ...Array.from({ length: 17 }, () => 100), 1_000, 10_000];
  const { adapters, clock, requests } = services({ takesMs: durations }, { takesMs: 100 });
  const adapter = hedged(adapters, { afterPercentile: 95 });
  for (let number = 0; number < 20; number++) {
    const evaluating = adapter.evaluate(prompt);
    await clock.advance(1_000);
    await evaluating;
  }
  expect(requests.map(({ by }) => by)).toEqual(Array.from({ length: 20 }, () => "a"));
  const late = adapter.evaluate(prompt);
  await clock.advance(1_100);
  expect((await late).output).toBe("b");
});

test("RTE-11 by percentile a request that lost counts with the time until then: its answer would have taken longer", async () => {
  const durations = [...Array.from({ length: 20 }, () => 100), 10_000];
  const { adapters, clock, requests } = services({ takesMs: durations }, { takesMs: 100 });
  const adapter = hedged(adapters, { afterPercentile: 95 });
  const hedgedAfter: number[] = [];
  for (let number = 0; number < 23; number++) {
    const startedAt = clock.now();
    const evaluating = adapter.evaluate(prompt);
    await clock.advance(1_000);
    await evaluating;
    const last = requests.at(-1);
    if (last?.by === "b") hedgedAfter.push(last.at - startedAt);
  }
  // Of 22 the 21st counts, which is the first one that lost.
  expect(hedgedAfter).toEqual([100, 100, 200]);
});

test("RTE-11 PAC-2 by percentile the time that a request waits for its pace is no part of it", async () => {
  const { adapters, clock, requests } = services(
    { takesMs: [...Array.from({ length: 20 }, () => 100), 10_000] },
    { takesMs: 100 },
  );
  const [a, b] = adapters as [ProviderAdapter, ProviderAdapter];
  let queuedMs = 5_000;
  const pace: Pace = {
    async enter() {
      await clock.sleep(queuedMs);
      return { ok: true, turn: { queuedMs, end() {}, giveBack() {} } };
    },
    state: () => ({ queued: 0, inFlight: 0, requestsPerMinute: undefined, tokensPerMinute: undefined, share: 1 }),
  };
  const adapter = hedged([paced(a, pace), b], { afterPercentile: 95 });
  for (let number = 0; number < 20; number++) {
    const evaluating = adapter.evaluate(prompt);
    await clock.advance(6_000);
    await evaluating;
  }
  queuedMs = 0;
  const startedAt = clock.now();
  const evaluating = adapter.evaluate(prompt);
  await clock.advance(6_000);
  expect((await evaluating).output).toBe("b");
  expect(requests.slice(20).map(({ by, at }) => [by, at - startedAt])).toEqual([
    ["a", 0],
    ["b", 100],
  ]);
});

test("RTE-11 a chain in which the others are tried first can be hedged, and the other way round", async () => {
  const { adapters, clock } = services({ takesMs: 100, failsWith: "rate_limit" }, { takesMs: 9_000 }, { takesMs: 50 });
  const [a, b, c] = adapters as [(typeof adapters)[0], (typeof adapters)[0], (typeof adapters)[0]];
  const session = createSession();
  let route: readonly RouteStep[] | undefined;
  session.on("provider.responded", (event) => void (route = event.route));
  const evaluating = hedged([fallback([a, b]), c], { afterMs: 1_000 }).evaluate(prompt, { session });
  await clock.advance(1_100);
  expect((await evaluating).output).toBe("c");
  expect(outcomes(route).at(-1)).toEqual(["c", "answered"]);
  const other = services({ takesMs: 9_000 }, { takesMs: 50 }, { takesMs: 50 });
  const [d, e, f] = other.adapters as [typeof a, typeof a, typeof a];
  const second = fallback([hedged([d, e], { afterMs: 1_000 }), f]).evaluate(prompt);
  await other.clock.advance(1_100);
  expect((await second).output).toBe("b");
});

const agent = agentAdapter({
  name: "agent",
  model: "agent-1",
  drive: async () => ({ message: { role: "assistant", text: "", toolCalls: [] }, finishReason: "stop" }),
});

test.each<[string, () => unknown]>([
  ["an empty list", () => hedged([], { afterMs: 1 })],
  ["an agent", () => hedged([agent], { afterMs: 1 })],
  ["no time", () => hedged(services({ takesMs: 1 }).adapters, {} as HedgeOptions)],
  ["a time that is none", () => hedged(services({ takesMs: 1 }).adapters, { afterMs: -1 })],
  ["a percentile below 50", () => hedged(services({ takesMs: 1 }).adapters, { afterPercentile: 49 })],
  ["priced: an adapter of other making", () => priced({ ...agent })],
])("RTE-11 RTE-13 refuses %s when it is made", (_, make) => {
  expect(make).toThrow(expect.objectContaining({ name: "DefinitionError" }));
});

test("CCH-5 RTE-10 priced answers the adapter itself, whose usage has a cost", async () => {
  const { adapters, clock } = services({ takesMs: 1 });
  const evaluating = priced(adapters[0] as (typeof adapters)[0]).evaluate(prompt);
  await clock.advance(1);
  expect((await evaluating).usage.costUsd).toBe(110);
});

test.each(["rejects", "throws"])(
  "LIM-2 RTE-11 where the clock's sleep %s, an answer is waited for and no other model is asked",
  async (how) => {
    const { adapters, requests } = services({ takesMs: 0 });
    const answer = Promise.withResolvers<void>();
    const broken = {
      now: () => 0,
      sleep(): Promise<void> {
        const error = new Error("The timer is gone.");
        if (how === "throws") throw error;
        return Promise.reject(error);
      },
    };
    const model: ModelProvider = {
      ...scriptedModel([]),
      async generate() {
        await answer.promise;
        return { message: { role: "assistant", text: "late", toolCalls: [] }, finishReason: "stop" };
      },
    };
    const evaluating = hedged([modelAdapter(model, { clock: broken }), ...adapters], { afterMs: 100 }).evaluate(prompt);
    setImmediate(answer.resolve);
    expect((await evaluating).output).toBe("late");
    expect(requests).toEqual([]);
  },
);

test.each<[string, (list: ProviderAdapter[]) => ProviderAdapter, readonly [number, number], number]>([
  ["one after another, in a fallback", fallback, [1_000, 500], 1_500],
  ["one after another", (list) => hedged(list, { afterMs: 60_000 }), [1_000, 500], 1_500],
  ["side by side", (list) => hedged(list, { afterMs: 100 }), [1_000, 2_000], 2_100],
])(
  "RTE-11 PAC-2 the time that tries wait for their paces is summed, and counts once: %s",
  async (_, together, ms, sum) => {
    const environment = fakeEnvironment();
    const { clock } = environment;
    const waiting = (queuedMs: number): Pace => ({
      async enter() {
        await clock.sleep(queuedMs);
        return { ok: true, turn: { queuedMs, end() {}, giveBack() {} } };
      },
      state: () => ({ queued: 0, inFlight: 0, requestsPerMinute: undefined, tokensPerMinute: undefined, share: 1 }),
    });
    const busy = { failure: "throttle", kind: "rate_limit", message: "busy" } as const;
    const [refusing, answering] = [scriptedModel([busy]), scriptedModel([{ text: "yes" }])];
    const session = createSession();
    const events = recordEvents(session);
    const evaluating = together([
      paced(modelAdapter(refusing, environment), waiting(ms[0])),
      paced(modelAdapter(answering, environment), waiting(ms[1])),
    ]).evaluate(prompt, { session });
    await clock.advance(5_000);
    await evaluating;
    expect(events.find(({ type }) => type === "provider.responded")).toMatchObject({ queuedMs: sum });
  },
);
