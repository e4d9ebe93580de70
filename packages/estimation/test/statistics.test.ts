import { DefinitionError, definePrompt, defineTool, type Session } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { memoryUsageStore, usageStatistics, type UsageStore } from "@proviso/estimation";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, promptWith, rejection } from "../../runtime/test/support.ts";
import { sampleOf } from "./support.ts";

const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "seen" });
const ask = definePrompt({ ns: "tests", key: "ask", text: "Ask away." }).bind();

async function evaluate(session: Session, steps: readonly ScriptedStep[], prompt = promptWith(look)): Promise<void> {
  const { clock, ...environment } = fakeEnvironment();
  const adapter = modelAdapter(scriptedModel(steps, { clock }), { ...environment, clock });
  await Promise.all([adapter.evaluate(prompt, { session }), clock.advance(10_000)]);
}

test("EST-7 an evaluation's events add up to one sample of names and numbers", async () => {
  const session = createSession();
  const statistics = usageStatistics(session);
  await evaluate(session, [
    {
      toolCalls: [call("look")],
      usage: { inputTokens: 100, outputTokens: 30, cachedInputTokens: 5, costUsd: 0.25 },
      afterMs: 400,
    },
    { text: "A secret answer.", usage: { inputTokens: 200, outputTokens: 20, costUsd: 0.5 }, afterMs: 600 },
  ]);
  expect(await statistics.samples({})).toEqual([
    {
      prompt: "tests/prompt",
      model: "scripted-model",
      characters: promptWith(look).render().text.length,
      inputTokens: 300,
      cachedInputTokens: 5,
      outputTokens: 50,
      largestOutputTokens: 30,
      turns: 2,
      durationMs: 1_000,
      costUsd: 0.75,
    },
  ]);
});

test("EST-7 what was ended early is not counted, an answer that did not parse is", async () => {
  const session = createSession();
  const statistics = usageStatistics(session);
  await rejection(evaluate(session, [{ failure: "provider", reason: "bad_request", message: "no" }], ask));
  expect(await statistics.samples({})).toEqual([]);
  const structured = definePrompt({ key: "sum", text: "Add.", output: z.object({ sum: z.number() }) })
    .bind()
    .asText();
  await evaluate(session, [{ text: "no JSON" }], structured);
  const parsed = definePrompt({ key: "sum", text: "Add.", output: z.object({ sum: z.number() }) }).bind();
  const error = await rejection(modelAdapter(scriptedModel([{ text: "no JSON" }])).evaluate(parsed, { session }));
  expect(error["code"]).toBe("output");
  expect(await statistics.samples({ prompt: "app/sum" })).toHaveLength(2);
});

test("EST-7 a nested evaluation counts as its own prompt's", async () => {
  const session = createSession();
  const statistics = usageStatistics(session);
  const environment = fakeEnvironment(2);
  const inner = modelAdapter(
    scriptedModel([{ text: "inner", usage: { inputTokens: 7, outputTokens: 3 } }]),
    environment,
  );
  const delegate = defineTool({
    name: "delegate",
    description: "Asks another.",
    input: z.object({}),
    execute: async (_, { evaluate: nested }) => (await nested(ask, { adapter: inner })).text,
  });
  await evaluate(
    session,
    [
      { toolCalls: [call("delegate")], usage: { inputTokens: 10, outputTokens: 5 } },
      { text: "done", usage: { inputTokens: 10, outputTokens: 5 } },
    ],
    promptWith(delegate),
  );
  const inputOf = async (prompt: string): Promise<readonly number[]> =>
    (await statistics.samples({ prompt })).map(({ inputTokens }) => inputTokens);
  expect(await inputOf("tests/ask")).toEqual([7]);
  expect(await inputOf("tests/prompt")).toEqual([20]);
});

test("EST-7 sessions are observed into a store until that is ended, each once", async () => {
  const store = memoryUsageStore();
  const statistics = usageStatistics(store);
  const [one, other] = [createSession(), createSession()];
  const stop = statistics.observe(one);
  expect(statistics.observe(one)).toBe(stop);
  statistics.observe(other);
  for (const session of [one, other]) await evaluate(session, [{ text: "ok" }], ask);
  stop();
  stop();
  for (const session of [one, other]) await evaluate(session, [{ text: "ok" }], ask);
  expect(await store.samples({ prompt: "tests/ask", model: "scripted-model" })).toHaveLength(3);
  expect(() => usageStatistics({} as never)).toThrow(DefinitionError);
  expect(() => usageStatistics(undefined as never)).toThrow(DefinitionError);
});

test("EST-8 a store that refuses fails no evaluation, and gets the samples when it can take them", async () => {
  const kept = memoryUsageStore();
  let full = true;
  const store: UsageStore = {
    samples: kept.samples,
    record(sample) {
      if (full) throw new Error("The disk is full.");
      kept.record(sample);
    },
  };
  const told: unknown[] = [];
  const statistics = usageStatistics(store, { onError: (error) => told.push(error) });
  const session = createSession();
  statistics.observe(session);
  await evaluate(session, [{ text: "ok" }], ask);
  expect(told).toEqual([new Error("The disk is full.")]);
  expect(statistics.pending).toBe(1);
  expect(() => statistics.flush()).toThrow("The disk is full.");
  full = false;
  await evaluate(session, [{ text: "ok" }], ask);
  expect(statistics.pending).toBe(0);
  expect(await store.samples({})).toHaveLength(2);
});

test("EST-9 memory keeps the newest 512 of each prompt on a model, of each model, of everything", async () => {
  const store = memoryUsageStore();
  for (let turns = 1; turns <= 600; turns++) store.record(sampleOf({ prompt: "a/one", model: "m", turns }));
  store.record(sampleOf({ prompt: "a/two", model: "m" }));
  store.record(sampleOf({ prompt: "a/two", model: "n" }));
  const turns = (await store.samples({ prompt: "a/one", model: "m" })).map((sample) => sample.turns);
  expect(turns.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 512 }, (_, index) => index + 89));
  expect(await store.samples({ prompt: "a/two" })).toHaveLength(2);
  expect(await store.samples({ model: "m" })).toHaveLength(512);
  expect((await store.samples({})).filter(({ prompt }) => prompt === "a/two")).toHaveLength(2);
  expect(await store.samples({ prompt: "a/none" })).toEqual([]);
});

test("EST-9 of more prompts than it keeps, the one that was used longest ago goes first", async () => {
  const store = memoryUsageStore();
  for (let i = 0; i < 3_000; i++) store.record(sampleOf({ prompt: `a/p${i}`, model: "m" }));
  expect(await store.samples({ prompt: "a/p0", model: "m" })).toEqual([]);
  expect(await store.samples({ prompt: "a/p2999", model: "m" })).toHaveLength(1);
  expect(await store.samples({ model: "m" })).toHaveLength(512);
});
