import {
  definePrompt,
  deadlineIn,
  defineTool,
  trackBudget,
  type ModelFailure,
  type ModelProvider,
  type ModelResponse,
  type Pace,
} from "@proviso/core";
import { agentAdapter, createSession, modelAdapter } from "@proviso/runtime";
import { paced, sharedPace, sharedPacing } from "@proviso/runtime/routing";
import { fakeClock, fakeEnvironment, recordEvents, scriptedModel, type FakeClock } from "@proviso/runtime/testing";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();
const yes: ModelResponse = {
  message: { role: "assistant", text: "yes", toolCalls: [] },
  finishReason: "stop",
  usage: { inputTokens: 10, outputTokens: 5 },
};

/** A model that records when it was asked, and answers what `answer` says. */
function model(clock: FakeClock, answer: () => ModelResponse | ModelFailure = () => yes) {
  const startedAt = clock.now();
  const askedAt: number[] = [];
  const provider: ModelProvider = {
    name: "m",
    model: "m-1",
    maxOutputTokens: 100,
    capabilities: { tools: true, nativeOutput: true },
    generate: () => {
      askedAt.push(clock.now() - startedAt);
      return Promise.resolve(answer());
    },
  };
  return { provider, askedAt };
}

const slow = (clock: FakeClock): Pace => sharedPace({ requestsPerMinute: 60, clock });

test("PAC-2 paced sends the requests of all evaluations at one pace", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const { provider, askedAt } = model(clock);
  const adapter = paced(modelAdapter(provider, environment), { requestsPerMinute: 60, clock });
  const all = Promise.all(Array.from({ length: 4 }, () => adapter.evaluate(prompt)));
  await clock.advance(10_000);
  await all;
  expect(askedAt.map((ms) => Math.round(ms / 100))).toEqual([0, 9, 19, 29]);
});

test("PAC-2 an adapter learns its pace from what its answers and refusals state", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  let asked = 0;
  const refusal: ModelFailure = {
    failure: "throttle",
    kind: "rate_limit",
    message: "slow down",
    retryAfterMs: 2_000,
    rateLimit: { requests: 30 },
  };
  const { provider, askedAt } = model(clock, () => (asked++ === 0 ? refusal : { ...yes, rateLimit: { requests: 60 } }));
  const pace = sharedPace({ clock });
  const adapter = paced(modelAdapter(provider, environment), pace);
  const first = adapter.evaluate(prompt);
  await clock.advance(0);
  expect(pace.state()).toMatchObject({ requestsPerMinute: 30, share: expect.closeTo(0.995 * 0.85) as number });
  const second = adapter.evaluate(prompt);
  await clock.advance(20_000);
  await Promise.all([first, second]);
  expect(pace.state()).toMatchObject({ requestsPerMinute: 60, inFlight: 0, queued: 0 });
  // The Retry-After of the first stops the second, too.
  expect(askedAt.length).toBe(3);
  expect(askedAt[1]).toBeGreaterThanOrEqual(2_000);
});

test.each([
  ["rate_limit", 4_000, 4_000, 0.995 * 0.85],
  ["rate_limit", undefined, 0, 0.995 * 0.85],
  ["server_error", 4_000, 4_000, 0.995],
  ["server_error", undefined, 0, 0.995],
] as const)(
  "PAC-5 what a refusal of kind %s with a Retry-After of %s does to the others: a wait of %d ms, a share of %d",
  async (kind, retryAfterMs, waitMs, share) => {
    const environment = fakeEnvironment();
    const { clock } = environment;
    const refusal: ModelFailure = { failure: "throttle", kind, message: "later", retry: false, retryAfterMs };
    let answered = 0;
    const { provider, askedAt } = model(clock, () => (answered++ === 1 ? refusal : yes));
    const pace = sharedPace({ clock, requestsPerMinute: 6_000_000 });
    const adapter = paced(modelAdapter(provider, environment), pace);
    await adapter.evaluate(prompt);
    await expect(adapter.evaluate(prompt)).rejects.toMatchObject({ code: "throttled", kind });
    expect(pace.state().share).toBeCloseTo(share, 9);
    const others = Promise.all([adapter.evaluate(prompt), adapter.evaluate(prompt)]);
    await clock.advance(10_000);
    await others;
    expect(askedAt).toHaveLength(4);
    for (const at of askedAt.slice(2)) {
      expect(at - (askedAt[1] ?? 0)).toBeGreaterThanOrEqual(waitMs);
      expect(at - (askedAt[1] ?? 0)).toBeLessThan(waitMs + 100);
    }
  },
);

test("PAC-3 while it waits for its turn, a request holds nothing of a budget", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const { provider } = model(clock);
  const budget = trackBudget({ maxTotalTokens: 240 });
  const adapter = modelAdapter(provider, environment);
  const pacing = slow(clock);
  const waiting = [1, 2, 3].map(() => adapter.evaluate(prompt, { budget, pacing }));
  await clock.advance(0);
  // Each reserves more than 100 tokens: beside two that held theirs, it would wait.
  const direct = await adapter.evaluate(prompt, { budget, pacing: "off" });
  expect(direct.output).toBe("yes");
  await clock.advance(5_000);
  await Promise.all(waiting);
  expect(budget.consumed.totalTokens).toBe(60);
});

test("PAC-3 a turn that would come after the deadline is refused at once, and nothing is sent", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const { provider, askedAt } = model(clock);
  const adapter = paced(modelAdapter(provider, environment), slow(clock));
  const before = Promise.all([1, 2, 3].map(() => adapter.evaluate(prompt)));
  await clock.advance(0);
  const session = createSession();
  const events = recordEvents(session);
  const deadline = deadlineIn(1_500, clock);
  const failing = adapter.evaluate(prompt, { session, deadline });
  await expect(failing).rejects.toMatchObject({
    code: "throttled",
    kind: "rate_limit",
    retryAfterMs: expect.closeTo(2_915, -2) as number,
    attempts: 1,
    message: expect.stringMatching(
      /^The request was not sent \(rate_limit\): By its pace it could be sent in \d+ ms/,
    ) as string,
  });
  expect(events.map(({ type }) => type)).toEqual(["prompt.rendered", "provider.throttled", "prompt.failed"]);
  expect(askedAt).toHaveLength(1);
  await clock.advance(5_000);
  await before;
});

test("PAC-3 an evaluation that is aborted while it waits ends at once, and its place goes to the next", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const { provider, askedAt } = model(clock);
  const pace = slow(clock);
  const adapter = paced(modelAdapter(provider, environment), pace);
  const controller = new AbortController();
  const first = adapter.evaluate(prompt);
  const aborted = adapter.evaluate(prompt, { signal: controller.signal });
  const next = adapter.evaluate(prompt);
  await clock.advance(100);
  controller.abort();
  await expect(aborted).rejects.toMatchObject({ code: "aborted" });
  expect(pace.state()).toMatchObject({ queued: 1, inFlight: 0 });
  await clock.advance(1_000);
  await Promise.all([first, next]);
  expect(askedAt.map((ms) => Math.round(ms / 100))).toEqual([0, 9]);
});

test("PAC-4 provider.responded says how long the request waited for its turn", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const session = createSession();
  const events = recordEvents(session);
  const adapter = paced(modelAdapter(model(clock).provider, environment), slow(clock));
  const both = Promise.all([adapter.evaluate(prompt), adapter.evaluate(prompt, { session })]);
  await clock.advance(2_000);
  await both;
  const responded = events.find(({ type }) => type === "provider.responded");
  expect(responded).toMatchObject({ queuedMs: expect.closeTo(905, -1) as number });
});

test("PAC-1 an evaluation inside another inherits its pacing, unless it has its own", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const inner = model(clock);
  const child = modelAdapter(inner.provider, environment);
  const delegate = (pacing?: "off") =>
    defineTool({
      name: "delegate",
      description: "Asks another model.",
      input: z.object({}),
      execute: async (_, { evaluate }) => {
        await evaluate(prompt, { adapter: child, pacing });
        return (await evaluate(prompt, { adapter: child, pacing })).output;
      },
    });
  const evaluated = async (pacing?: "off"): Promise<number> => {
    const outer = modelAdapter(scriptedModel([{ toolCalls: [{ name: "delegate" }] }, { text: "done" }]), environment);
    const paces = sharedPacing({ requestsPerMinute: 20, clock });
    const parent = definePrompt({ key: "q", sections: [{ key: "s", text: "Go.", tools: [delegate(pacing)] }] }).bind();
    const from = inner.askedAt.length;
    const evaluating = outer.evaluate(parent, { pacing: paces });
    await clock.advance(10_000);
    await evaluating;
    const [first = 0, second = 0] = inner.askedAt.slice(from);
    return second - first;
  };
  expect(await evaluated()).toBeCloseTo(2_916, -2);
  expect(await evaluated("off")).toBe(0);
});

test("PAC-1 sharedPacing has one pace for each adapter and model", () => {
  const paces = sharedPacing();
  expect(paces.lane("openai", "a")).toBe(paces.lane("openai", "a"));
  expect(paces.lane("openai", "a")).not.toBe(paces.lane("openai", "b"));
  expect(paces.lane("openai", "a")).not.toBe(paces.lane("litellm", "a"));
  expect(() => sharedPacing({ requestsPerMinute: -1 })).toThrow(/requestsPerMinute/);
});

test("PAC-1 what cannot be paced is refused: an agent, an adapter of other making, no adapter", () => {
  const agent = agentAdapter({ name: "a", model: "a", drive: () => Promise.resolve(yes) });
  for (const adapter of [agent, { name: "x" }, undefined]) {
    expect(() => paced(adapter as never)).toThrow(/paced needs an adapter that modelAdapter made/);
  }
});

test("PAC-1 an option that is no pace is refused before anything is sent", async () => {
  const { provider, askedAt } = model(fakeClock());
  const pacing = { requestsPerMinute: 60 };
  await expect(modelAdapter(provider).evaluate(prompt, { pacing: pacing as never })).rejects.toThrow(
    /pacing must be "off"/,
  );
  expect(askedAt).toEqual([]);
});

test.each([
  [
    "a turn whose giveBack throws",
    {
      ok: true,
      turn: {
        queuedMs: 0,
        end() {},
        giveBack: () => {
          throw new Error("giveBack");
        },
      },
    },
  ],
  ["no entry at all", undefined],
])("SEC-3 a pace of the application's that lets go too late, with %s, ends no process", async (_, late) => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const { promise, resolve } = Promise.withResolvers<never>();
  const entered = Promise.withResolvers<void>();
  const enter = (): Promise<never> => {
    entered.resolve();
    return promise;
  };
  const pace: Pace = { state: () => ({ queued: 0, inFlight: 0, share: 1 }) as never, enter };
  const leaving = new AbortController();
  const evaluating = paced(modelAdapter(scriptedModel([{ text: "yes" }])), pace).evaluate(prompt, {
    signal: leaving.signal,
  });
  await entered.promise;
  leaving.abort();
  await expect(evaluating).rejects.toMatchObject({ code: "aborted" });
  resolve(late as never);
  await new Promise((done) => setImmediate(done));
  expect(unhandled).toEqual([]);
});

test.each([
  [
    "a proxy of it",
    (own: Pace, enter: Pace["enter"]) =>
      new Proxy(own, { get: (pace, key) => (key === "enter" ? enter : Reflect.get(pace, key)) }),
  ],
  [
    "an object that inherits from it",
    (own: Pace, enter: Pace["enter"]) => Object.assign(Object.create(own) as Pace, { enter }),
  ],
  ["an enter in its enter's place", (own: Pace, enter: Pace["enter"]) => Object.assign(own, { enter })],
])("PAC-1 a pace of ours that an application wraps is asked as the application says: %s", async (_, wrapped) => {
  const own = sharedPace();
  let asked = 0;
  const enter = own.enter.bind(own);
  const pace = wrapped(own, (...given) => {
    asked += 1;
    return enter(...given);
  });
  const { text } = await paced(modelAdapter(scriptedModel([{ text: "yes" }])), pace).evaluate(prompt);
  expect([text, asked]).toEqual(["yes", 1]);
});

test.each([[null], [5], ["60"], [[]]])("PAC-1 %j is neither a pace nor options of one: a DefinitionError", (given) => {
  const adapter = modelAdapter(scriptedModel([]));
  const isDefinitionError = expect.objectContaining({ name: "DefinitionError" }) as Error;
  expect(() => paced(adapter, given as never)).toThrow(isDefinitionError);
  expect(() => sharedPace(given as never)).toThrow(isDefinitionError);
  expect(() => sharedPacing(given as never)).toThrow(isDefinitionError);
});
