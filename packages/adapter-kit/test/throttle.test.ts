import { deadlineIn, definePrompt, defineTool, errorReason, type ModelFailure } from "@proviso/core";
import { modelFailureFrom } from "@proviso/adapter-kit";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeClock, fakeEnvironment, recordEvents, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { call, promptWith, rejection } from "../../runtime/test/support.ts";

const refused = (more: object = {}): ModelFailure => ({
  failure: "throttle",
  kind: "rate_limit",
  message: "slow down",
  ...more,
});
const answer = (status: number, headers: Record<string, string> = {}, payload?: unknown): ModelFailure =>
  modelFailureFrom({ status, headers: new Headers(headers) }, payload);

interface Watched {
  readonly delays: readonly (number | undefined)[];
  readonly outcome: { readonly output?: unknown; readonly code?: unknown } & Record<string, unknown>;
  readonly requests: number;
  readonly logged: readonly string[];
}

async function evaluated(
  steps: readonly ScriptedStep[],
  options: Parameters<typeof modelAdapter>[1] = {},
): Promise<Watched> {
  const environment = fakeEnvironment(7);
  const session = createSession();
  const events = recordEvents(session);
  const logged: string[] = [];
  const log = (level: string) => (_: object, message: string) => void logged.push(`${level} ${message}`);
  const logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
  const model = scriptedModel(steps);
  const settled = modelAdapter(model, { ...environment, logger, ...options })
    .evaluate(promptWith(), { session })
    .catch((error: unknown) => error);
  await environment.clock.advance(600_000);
  const delays = events.flatMap((event) =>
    event.type === "provider.throttled" && "delayMs" in event ? [event.delayMs] : [],
  );
  return { delays, outcome: (await settled) as Watched["outcome"], requests: model.callCount, logged };
}

test.each([
  [429, {}, undefined, "rate_limit"],
  [429, {}, { error: { code: "insufficient_quota" } }, "quota_exhausted"],
  [403, {}, { error: { code: "insufficient_quota" } }, "quota_exhausted"],
  [408, {}, undefined, "timeout"],
  [409, {}, undefined, "unknown"],
  [500, {}, undefined, "server_error"],
  [502, {}, undefined, "server_error"],
  [504, {}, undefined, "server_error"],
  [529, {}, undefined, "server_error"],
])("THR-1 status %i %j %j is retried as %s", (status, headers, payload, kind) => {
  expect(answer(status, headers, payload)).toMatchObject({ failure: "throttle", kind, status });
});

/** What OpenAI's reasoning models answer with when they have thought up to the limit. */
const unfinished =
  "Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.";

test.each([
  [400, {}, undefined, "bad_request"],
  [400, {}, { error: { code: "context_length_exceeded" } }, "context_length"],
  [400, {}, { error: { message: unfinished } }, "truncated"],
  [400, {}, { error: { message: `litellm.BadRequestError: OpenAIException - ${unfinished}` } }, "truncated"],
  [400, {}, { error: { message: `Your text says: ${unfinished}` } }, "bad_request"],
  [401, {}, undefined, "api_key"],
  [403, {}, undefined, "api_key"],
  [404, {}, undefined, "not_found"],
  [422, {}, undefined, "bad_request"],
  [501, {}, undefined, "unknown"],
  [505, {}, undefined, "unknown"],
])("THR-1 status %i %j %j is not retried: %s", (status, headers, payload, reason) => {
  expect(answer(status, headers, payload)).toMatchObject({ failure: "provider", reason });
});

test("THR-1 what a network throws is retried, what is anything else is not", async () => {
  const reset = Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
  const timeout = new DOMException("too slow", "TimeoutError");
  const { outcome, requests } = await evaluated([
    { error: reset },
    { error: new TypeError("fetch failed") },
    { error: timeout },
    { error: new Error("ask failed", { cause: Object.assign(new Error("getaddrinfo"), { code: "EAI_AGAIN" }) }) },
    { text: "done" },
  ]);
  expect([outcome["output"], requests]).toEqual(["done", 5]);
  const odd = await evaluated([{ error: new Error("odd") }, { text: "never" }]);
  expect([odd.outcome.code, odd.requests]).toEqual(["provider", 1]);
});

test("THR-2 five attempts, each wait uniform up to a doubled bound, capped", async () => {
  await fc.assert(
    fc.asyncProperty(fc.double({ min: 0, max: 0.999, noNaN: true }), async (share) => {
      const steps = Array.from({ length: 5 }, () => refused());
      const { delays, outcome, requests } = await evaluated(steps, { random: () => share });
      expect(delays).toEqual([500, 1_000, 2_000, 4_000].map((bound) => share * bound).concat([undefined as never]));
      expect([outcome.code, outcome["attempts"], requests]).toEqual(["throttled", 5, 5]);
    }),
    { numRuns: 20 },
  );
  const capped = await evaluated(
    Array.from({ length: 7 }, () => refused()),
    { random: () => 0.999, throttle: { maxAttempts: 7 } },
  );
  expect(Math.max(...capped.delays.map((delay) => delay ?? 0))).toBeCloseTo(0.999 * 8_000);
});

test("THR-2 a request waits 30 s in total by default", async () => {
  const steps = Array.from({ length: 40 }, () => refused());
  const { delays, outcome } = await evaluated(steps, { random: () => 0.999, throttle: { maxAttempts: 40 } });
  const waited = delays.reduce<number>((sum, delay) => sum + (delay ?? 0), 0);
  expect(waited).toBeGreaterThan(20_000);
  expect(waited).toBeLessThanOrEqual(30_000);
  expect(outcome).toMatchObject({ code: "throttled", attempts: delays.length });
});

const now = "Sat, 21 Nov 2026 10:00:00 GMT";
test.each([
  [{ "retry-after": "3" }, 3_000],
  [{ "retry-after": "0.5" }, 500],
  [{ "retry-after-ms": "1500", "retry-after": "9" }, 1_500],
  [{ "retry-after": "Sat, 21 Nov 2026 10:00:07 GMT", date: now }, 7_000],
  [{ "retry-after": "Sat, 21 Nov 2026 09:59:00 GMT", date: now }, undefined],
  [{ "retry-after": "-5" }, undefined],
  [{ "retry-after": "soon" }, undefined],
  [{}, undefined],
])("THR-3 %j asks for %s ms", (headers, retryAfterMs) => {
  expect(answer(429, headers)).toMatchObject({ retryAfterMs });
});

test.each([
  ["Sat Nov 28 04:00:10 2026", "Sat, 28 Nov 2026 04:00:00 GMT"],
  ["Sat Nov  7 04:00:10 2026", "Sat Nov  7 04:00:00 2026"],
  ["Saturday, 28-Nov-26 04:00:10 GMT", "Sat, 28 Nov 2026 04:00:00 GMT"],
  ["Sat, 28 Nov 2026 04:00:10 +0000", "Sat, 28 Nov 2026 04:00:00 GMT"],
])("THR-3 the date %s is GMT in whichever zone the machine is", (wanted, date) => {
  for (const zone of ["America/New_York", "Asia/Tokyo"]) {
    vi.stubEnv("TZ", zone);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(answer(429, { date, "retry-after": wanted })).toMatchObject({ retryAfterMs: 10_000 });
  }
});

test.each([Number.NaN, Infinity, -5, "5", null])(
  "THR-3 a provider that asks for %j ms asked for nothing",
  async (asked) => {
    const plain = await evaluated([refused(), { text: "done" }]);
    const odd = await evaluated([refused({ retryAfterMs: asked }), { text: "done" }]);
    expect(odd).toEqual(plain);
    expect(odd.outcome.output).toBe("done");
  },
);

test("THR-3 Retry-After is the floor, jitter goes on top", async () => {
  const { delays, outcome } = await evaluated([refused({ retryAfterMs: 2_000 }), { text: "done" }], {
    random: () => 0.5,
  });
  expect([delays, outcome["output"]]).toEqual([[2_250], "done"]);
});

test("THR-4 a floor that passes the total fails at once and says how long was asked for; jitter never makes one fail", async () => {
  const early = await evaluated([refused({ retryAfterMs: 30_001 })]);
  expect([early.outcome.code, early.outcome["retryAfterMs"], early.delays]).toEqual(["throttled", 30_001, [undefined]]);
  const fitting = await evaluated([refused({ retryAfterMs: 30_000 }), { text: "done" }], { random: () => 0.9 });
  expect([fitting.outcome["output"], fitting.delays]).toEqual(["done", [30_000]]);
});

/** A refusal, then an answer without latency: what becomes of an evaluation with so much time, for many seeds. */
async function withDeadline(refusal: ModelFailure, leftMs: number, seeds: number): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {};
  for (let seed = 0; seed < seeds; seed++) {
    const environment = fakeEnvironment(seed);
    const model = scriptedModel([refusal, { text: "done" }]);
    const settled = modelAdapter(model, environment)
      .evaluate(promptWith(), { deadline: deadlineIn(leftMs, environment.clock) })
      .then(
        ({ output }) => String(output),
        (error: unknown) => (error as { readonly code: string }).code,
      );
    await environment.clock.advance(60_000);
    const outcome = await settled;
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  return outcomes;
}

test("THR-4 a wait leaves time for the request that it is made for, whatever the jitter", async () => {
  expect(await withDeadline(refused({ retryAfterMs: 100 }), 400, 300)).toEqual({ done: 300 });
  expect(await withDeadline(refused(), 60, 100)).toEqual({ done: 100 });
});

test("THR-4 a floor that reaches the very deadline is not waited for", async () => {
  expect(await withDeadline(refused({ retryAfterMs: 400 }), 400, 3)).toEqual({ throttled: 3 });
  expect(await withDeadline(refused({ retryAfterMs: 399 }), 400, 3)).toEqual({ done: 3 });
});

test("THR-4 half of what the deadline leaves after the floor is the request's", async () => {
  const clock = fakeClock();
  const session = createSession();
  const events = recordEvents(session);
  const model = scriptedModel([refused({ retryAfterMs: 100 }), { text: "done" }]);
  const options = { session, deadline: deadlineIn(400, clock) };
  const settled = modelAdapter(model, { clock, random: () => 0.5 }).evaluate(promptWith(), options);
  await clock.advance(400);
  expect((await settled).output).toBe("done");
  expect(events.filter(({ type }) => type === "provider.throttled")).toMatchObject([{ delayMs: 175 }]);
});

test("THR-1 ERR-2 what is not to be asked again is given up at once as what it is", async () => {
  const never = { "x-should-retry": "False ", "retry-after": "3" };
  for (const [status, kind, label] of [
    [429, "rate_limit", "rate_limit_error"],
    [503, "server_error", "server_error"],
    [408, "timeout", "timeout_error"],
  ] as const) {
    const { outcome, requests, delays } = await evaluated([answer(status, never), { text: "never" }]);
    expect(outcome).toMatchObject({ code: "throttled", kind, status, attempts: 1, retryAfterMs: 3_000 });
    expect([errorReason(outcome), requests, delays]).toEqual([label, 1, [undefined]]);
  }
});

test("THR-5 an exhausted quota is an error in the log when a later attempt meets it, too, and once", async () => {
  const quota = refused({ kind: "quota_exhausted" });
  const late = await evaluated([refused(), quota]);
  const throttled = (lines: readonly string[]) => lines.filter((line) => line.endsWith("prompt.throttled"));
  expect(throttled(late.logged)).toEqual(["warn prompt.throttled", "error prompt.throttled"]);
  const patient = await evaluated([refused(), quota, refused(), quota, { text: "done" }], {
    throttle: { maxTotalDelayMs: 300_000 },
  });
  expect(throttled(patient.logged).filter((line) => line.startsWith("error"))).toHaveLength(1);
});

test("THR-5 an exhausted quota fails at once, is logged once as an error, and can be waited for", async () => {
  const quota = refused({ kind: "quota_exhausted" });
  const atOnce = await evaluated([quota]);
  expect([atOnce.outcome.code, atOnce.outcome["kind"], atOnce.requests]).toEqual(["throttled", "quota_exhausted", 1]);
  const patient = await evaluated([quota, quota, { text: "done" }], {
    throttle: { maxTotalDelayMs: 300_000 },
    random: () => 0,
  });
  expect([patient.outcome["output"], patient.delays]).toEqual(["done", [60_000, 60_000]]);
  expect(patient.logged.filter((line) => line === "error prompt.throttled")).toHaveLength(1);
});

test("THR-6 giving up is a ThrottleError with all its fields, and an event", async () => {
  const last = refused({ payload: { why: "busy" }, retryAfterMs: 10, status: 429 });
  const { outcome, delays } = await evaluated([refused(), last], { throttle: { maxAttempts: 2 } });
  expect(outcome).toMatchObject({
    code: "throttled",
    kind: "rate_limit",
    attempts: 2,
    retryAfterMs: 10,
    status: 429,
    providerPayload: { why: "busy" },
  });
  expect(delays).toEqual([expect.any(Number), undefined]);
});

test.each([
  ["Rate limit reached", "Rate limit reached. It asked for 10 ms."],
  ["Rate limit reached. ", "Rate limit reached. It asked for 10 ms."],
  ["Slow down!", "Slow down! It asked for 10 ms."],
])("THR-6 the service's message is a sentence of its own: %j", async (message, told) => {
  const { outcome } = await evaluated([refused({ message, retryAfterMs: 10 })], { throttle: { maxAttempts: 1 } });
  expect(outcome).toMatchObject({ message: `The provider refused the request (rate_limit): ${told}` });
});

test("THR-7 a retried request never repeats a tool; THR-8 nothing waits before a refusal", async () => {
  const clock = fakeClock();
  let runs = 0;
  const count = defineTool({ name: "count", description: "Counts.", input: z.object({}), execute: () => ++runs });
  const model = scriptedModel([{ toolCalls: [call("count")] }, refused({ retryAfterMs: 100 }), { text: "done" }]);
  const settled = modelAdapter(model, { clock }).evaluate(promptWith(count));
  await clock.advance(0);
  expect([runs, model.callCount]).toEqual([1, 2]);
  await clock.advance(10_000);
  await settled;
  expect([runs, model.callCount]).toEqual([1, 3]);
  expect(model.requests[2]?.messages).toEqual(model.requests[1]?.messages);
});

test("LIM-8 of several attempts each costs what was reported for it, and nothing where nothing was", async () => {
  const usage = { inputTokens: 4, outputTokens: 1, totalTokens: 5 };
  const steps = [refused(), refused({ usage }), { text: "done", usage: { inputTokens: 10, outputTokens: 5 } }];
  const { outcome, requests } = await evaluated(steps);
  expect(requests).toBe(3);
  expect(outcome["usage"]).toMatchObject({ inputTokens: 14, outputTokens: 6, totalTokens: 20, estimated: false });
});

test("LIM-2 no attempt begins when a listener of its provider.requested has aborted", async () => {
  const environment = fakeEnvironment(7);
  const session = createSession();
  const controller = new AbortController();
  session.on("provider.requested", ({ attempt }) => void (attempt === 2 && controller.abort()));
  const model = scriptedModel([refused(), { text: "never" }]);
  const evaluating = rejection(
    modelAdapter(model, environment).evaluate(promptWith(), { session, signal: controller.signal }),
  );
  await environment.clock.advance(600_000);
  expect(await evaluating).toMatchObject({ code: "aborted", phase: "request", usage: { totalTokens: 0 } });
  expect(model.callCount).toBe(1);
});

test("THR-2 a policy that cannot be is refused when the adapter is made", async () => {
  for (const throttle of [
    { maxAttempts: 0 },
    { maxAttempts: 1.5 },
    { baseDelayMs: -1 },
    { maxDelayMs: Number.NaN },
    { wrong: 1 },
  ]) {
    expect(() => modelAdapter(scriptedModel([]), { throttle })).toThrow(/throttle policy/);
  }
  void rejection;
});

test("PRO-8 ERR-2 a server that cannot be reached is reported as that, once the attempts are over", async () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:9"), { code: "ECONNREFUSED" });
  const down = modelAdapter(
    scriptedModel([{ error: refused }, { error: new TypeError("fetch failed", { cause: refused }) }]),
    { throttle: { maxAttempts: 2, baseDelayMs: 0 } },
  );
  const error: unknown = await down
    .evaluate(definePrompt({ key: "p", text: "Hi." }).bind())
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    code: "throttled",
    kind: "network",
    message:
      "The request could not be sent 2 times (network): The server could not be reached: connect ECONNREFUSED 127.0.0.1:9",
  });
  expect(errorReason(error)).toBe("network_error");
});
