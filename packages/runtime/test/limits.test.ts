import {
  deadlineAt,
  deadlineIn,
  defineTool,
  provideFactory,
  resourceKey,
  systemClock,
  trackBudget,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeClock, fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, promptWith, rejection } from "./support.ts";

const never = (): Promise<never> => new Promise(() => {});
const hang = defineTool({ name: "hang", description: "Hangs.", input: z.object({}), execute: () => never() });
const ok = defineTool({ name: "ok", description: "Works.", input: z.object({}), execute: () => "ok" });

test("LIM-1 the earliest deadline counts; an expired one fails before rendering, without event and request", async () => {
  const clock = fakeClock();
  const session = createSession();
  const events = recordEvents(session);
  const model = scriptedModel([]);
  const late = deadlineIn(60_000, clock);
  const past = deadlineAt(new Date(clock.now() - 1), clock);
  for (const options of [
    { deadline: past },
    { budget: { deadline: past } },
    { deadline: late, budget: { maxTotalTokens: 9, deadline: past } },
    { deadline: past, budget: { maxTotalTokens: 9, deadline: late } },
  ]) {
    const error = await rejection(modelAdapter(model, { clock }).evaluate(promptWith(), { session, ...options }));
    expect(error).toMatchObject({ code: "deadline", expiresAt: past.expiresAt });
  }
  expect([events, model.callCount]).toEqual([[], 0]);
});

test("LIM-1 the earlier of the option's deadline and the budget's ends an evaluation, whichever of the two it is", async () => {
  for (const [ofOption, ofBudget] of [
    [1_000, 2_000],
    [2_000, 1_000],
  ] as const) {
    const clock = fakeClock();
    const startedAt = clock.now();
    const evaluation = rejection(
      modelAdapter(hangingModel, { clock }).evaluate(promptWith(), {
        deadline: deadlineIn(ofOption, clock),
        budget: { deadline: deadlineIn(ofBudget, clock) },
      }),
    );
    await clock.advance(3_000);
    const error = await evaluation;
    expect(error).toMatchObject({ code: "deadline", expiresAt: new Date(startedAt + 1_000) });
    expect(error.message).toContain(new Date(startedAt + 1_000).toISOString());
  }
});

const stuckKey = resourceKey<object>("stuck");
const hangingModel = { ...scriptedModel([]), generate: never };
const stuck = [
  ["a provider that never answers", () => hangingModel, {}, "request"],
  ["a tool that never settles", () => scriptedModel([{ toolCalls: [call("hang")] }]), {}, "tool"],
  [
    "a resource that never opens",
    () => scriptedModel([]),
    { resources: [provideFactory(stuckKey, never, { eager: true })] },
    "render",
  ],
  [
    "a resource that never closes",
    () => hangingModel,
    { resources: [provideFactory(stuckKey, () => ({}), { eager: true, close: never })] },
    "request",
  ],
] as const;

test.each(stuck)(
  "LIM-2 with %s, evaluate settles within 100 ms of its deadline and of an abort",
  async (_, model, options, phase) => {
    for (const how of ["deadline", "abort"] as const) {
      const { clock, random, newId } = fakeEnvironment(3);
      const controller = new AbortController();
      let settledAt = Infinity;
      const evaluation = rejection(
        modelAdapter(model(), { clock, random, newId }).evaluate(promptWith(hang), {
          ...options,
          signal: controller.signal,
          ...(how === "deadline" ? { deadline: deadlineIn(1_000, clock) } : {}),
        }),
      ).finally(() => (settledAt = clock.now()));
      const startedAt = clock.now();
      await clock.advance(1_000);
      if (how === "abort") controller.abort(new Error("enough"));
      await clock.advance(100);
      expect(settledAt - startedAt).toBeLessThanOrEqual(1_100);
      expect(await evaluation).toMatchObject({ code: how === "abort" ? "aborted" : "deadline", phase });
    }
  },
);

test("LIM-2 in real time too, and nothing begins afterwards", async () => {
  const model = scriptedModel([{ toolCalls: [call("hang"), call("ok")] }, { text: "never" }]);
  // A timer of the same loop comes as late as the deadline's own where others keep the machine busy.
  const late = systemClock.sleep(600).then(() => Promise.reject(new Error("late")));
  const error = await Promise.race([
    rejection(modelAdapter(model).evaluate(promptWith(hang, ok), { deadline: deadlineIn(500) })),
    late,
  ]);
  expect(error).toMatchObject({ code: "deadline", phase: "tool" });
  expect(error["toolResults"]).toHaveLength(1);
  expect(model.callCount).toBe(1);
});

test("LIM-3 one signal reaches provider and handler; afterwards no listener and no sleeper is left", async () => {
  const clock = fakeClock();
  const controller = new AbortController();
  let listeners = 0;
  const { signal } = controller;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...given: Parameters<typeof add>) => {
    listeners += 1;
    add(...given);
  };
  signal.removeEventListener = (...given: Parameters<typeof remove>) => {
    listeners -= 1;
    remove(...given);
  };
  let seen: AbortSignal | undefined;
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: (_, context) => void (seen = context.signal),
  });
  const model = scriptedModel([{ toolCalls: [call("look")] }, { text: "done" }]);
  await modelAdapter(model, { clock }).evaluate(promptWith(look), { signal, deadline: deadlineIn(5_000, clock) });
  expect(seen?.aborted).toBe(true);
  expect(model.requests[0]?.signal.aborted).toBe(false);
  expect(listeners).toBe(0);
  expect(clock.pending).toBe(0);
});

const usage = (totalTokens: number) => ({ inputTokens: totalTokens, outputTokens: 0, totalTokens });

test("LIM-4 a budget is checked before a request, after an answer before its tools, and after a tool", async () => {
  const over = scriptedModel([{ toolCalls: [call("ok")], usage: usage(101) }]);
  const error = await rejection(modelAdapter(over).evaluate(promptWith(ok), { budget: { maxTotalTokens: 100 } }));
  expect(error).toMatchObject({ code: "budget", dimension: "total_tokens", usage: { totalTokens: 101 } });
  expect(error["toolResults"]).toEqual([]);

  const exact = scriptedModel([{ toolCalls: [call("ok")], usage: usage(100) }, { text: "never" }]);
  const spent = await rejection(modelAdapter(exact).evaluate(promptWith(ok), { budget: { maxTotalTokens: 100 } }));
  expect([spent["code"], exact.callCount, (spent["toolResults"] as unknown[]).length]).toEqual(["budget", 1, 1]);

  const enough = scriptedModel([{ text: "done", usage: usage(100) }]);
  await modelAdapter(enough).evaluate(promptWith(), { budget: { maxTotalTokens: 100 } });
});

test("LIM-4 a tracker counts every evaluation that shares it", async () => {
  const budget = trackBudget({ maxTotalTokens: 250 });
  const adapter = modelAdapter(scriptedModel([1, 2, 3].map(() => ({ text: "done", usage: usage(100) }))));
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => adapter.evaluate(promptWith(), { budget })));
  expect(budget.consumed.totalTokens).toBe(300);
  expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(1);
  expect(budget.exceeded()).toBe("total_tokens");
});

test.each([
  ["missing", {}],
  ["negative", { inputTokens: -5, outputTokens: -1 }],
  ["no numbers", { inputTokens: "12", outputTokens: Number.NaN }],
  ["infinite", { inputTokens: Infinity, outputTokens: 1e308 }],
])("LIM-6 usage that is %s counts as an estimate and is marked", async (_, reported) => {
  const { usage: counted } = await modelAdapter(
    scriptedModel([{ text: "word ".repeat(10), usage: reported as never }]),
  ).evaluate(promptWith());
  expect(counted).toMatchObject({ outputTokens: 10, estimated: true });
  expect(counted.inputTokens).toBeGreaterThan(0);
});

test("LIM-6 zero is zero", async () => {
  const { usage: counted } = await modelAdapter(scriptedModel([{ text: "x", usage: usage(0) }])).evaluate(promptWith());
  expect(counted).toMatchObject({ totalTokens: 0, estimated: false });
});

test("LIM-6 a call with arguments that are no text does not switch a shared budget off", async () => {
  let requests = 0;
  const model = {
    ...scriptedModel([]),
    generate: () => {
      const toolCalls = [{ id: `c${(requests += 1)}`, name: "ok", arguments: {} as never }];
      return Promise.resolve({
        message: { role: "assistant", text: "", toolCalls },
        finishReason: "tool-calls",
      } as const);
    },
  };
  const budget = trackBudget({ maxTotalTokens: 300 });
  const error = await rejection(modelAdapter(model).evaluate(promptWith(ok), { budget, maxTurns: 40 }));
  expect(error).toMatchObject({ code: "provider", reason: "invalid_response" });
  expect(requests).toBe(1);
  expect(budget.consumed.totalTokens).toBeGreaterThanOrEqual(0);
  const later = modelAdapter(scriptedModel([{ text: "free", usage: usage(1_000_000) }]));
  expect(await rejection(later.evaluate(promptWith(), { budget }))).toMatchObject({ code: "budget" });
});

const looksLike = (left: number) => ({
  budget: { maxTotalTokens: 9_000 },
  consumed: { ...usage(0), cachedInputTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, estimated: false },
  remaining: () => ({ totalTokens: left, inputTokens: left, outputTokens: left, costUsd: left }),
  exceeded: () => undefined,
  reserve: () => ({ settle: () => {} }),
});

test("LIM-6 a tracker of one's own that says NaN is left has nothing left, and a deadline that says so has passed", async () => {
  const model = scriptedModel([{ text: "done" }]);
  const none = modelAdapter(model).evaluate(promptWith(), { budget: looksLike(Number.NaN) });
  expect(await rejection(none)).toMatchObject({ code: "budget" });
  const deadline = { expiresAt: new Date(0), remainingMs: () => Number.NaN };
  expect(await rejection(modelAdapter(model).evaluate(promptWith(), { deadline }))).toMatchObject({ code: "deadline" });
  expect(model.callCount).toBe(0);
  await modelAdapter(model).evaluate(promptWith(), { budget: looksLike(5_000) });
});
