import { DefinitionError, definePrompt, defineTool, type ProviderAdapter } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { estimate, memoryUsageStore, usageStatistics, type UsageSample } from "@proviso/estimation";
import { fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "../../runtime/test/support.ts";
import { sampleOf } from "./support.ts";

const ask = definePrompt({ ns: "tests", key: "ask", params: z.object({ text: z.string() }), text: "Ask: {{text}}" });
const named = (model: string, maxOutputTokens?: number): ProviderAdapter =>
  modelAdapter(Object.assign(scriptedModel([]), { model, maxOutputTokens }), fakeEnvironment());

const storeOf = (samples: readonly Partial<UsageSample>[]) => {
  const store = memoryUsageStore();
  for (const values of samples) store.record(sampleOf(values));
  return store;
};
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test("EST-1 nothing is sent, emitted or written", async () => {
  const model = scriptedModel([]);
  const session = createSession();
  const events = recordEvents(session);
  const history = usageStatistics(session);
  const before = JSON.stringify(session.toJSON());
  await estimate(ask.bind({ text: "x" }), { adapter: modelAdapter(model, fakeEnvironment()), history });
  expect(model.callCount).toBe(0);
  expect(events).toEqual([]);
  expect(JSON.stringify(session.toJSON())).toBe(before);
  expect(await history.samples({})).toEqual([]);
});

describe("EST-1 a wrong argument is a DefinitionError", () => {
  const prompt = ask.bind({ text: "x" });
  const adapter = named("gpt-4o-mini");
  const wrong: readonly (readonly [said: string, prompt: unknown, options: unknown])[] = [
    ["bound prompt", undefined, { adapter }],
    ["bound prompt", ask, { adapter }],
    ["adapter", prompt, undefined],
    ["adapter", prompt, {}],
    ["history", prompt, { adapter, history: null }],
    ["history", prompt, { adapter, history: createSession() }],
    ["model", prompt, { adapter, model: "" }],
    ["essage", prompt, { adapter, messages: [{ role: "nobody" }] }],
  ];
  test.each(wrong)("EST-1 it says %s", async (said, given, options) => {
    const error = await rejection(estimate(given as never, options as never));
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error.message).toContain(said);
  });
});

test("EST-2 a prompt that cannot be rendered spends nothing, and the estimate says why", async () => {
  const broken = definePrompt({
    ns: "tests",
    key: "broken",
    sections: [
      {
        key: "a",
        text: "a",
        enabled: () => {
          throw new Error("no luck");
        },
      },
    ],
  }).bind();
  const told = await estimate(broken, { adapter: named("gpt-4o-mini") });
  expect(told.fault).toContain("no luck");
  expect(told.inputTokens).toEqual({ p50: 0, p90: 0 });
  expect(told.costUsd).toMatchObject({ known: false, reason: expect.stringContaining("no luck") });
});

test("EST-2 a history that cannot be read gives way to the priors, and the estimate says why", async () => {
  const samples = (): never => {
    throw new Error("The disk is gone.");
  };
  const told = await estimate(ask.bind({ text: "x" }), { adapter: named("gpt-4o-mini"), history: { samples } });
  expect(told).toMatchObject({ basis: "priors", confidence: 0.05, fault: "The disk is gone." });
});

test("EST-2 it answers for any text, any messages, any history", async () => {
  const count = fc.nat({ max: 1e6 });
  const anySample = fc.record({ inputTokens: count, outputTokens: count, turns: count, durationMs: count });
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.array(fc.string()), fc.array(anySample), async (text, said, samples) => {
      const messages = said.map((each) => ({ role: "user" as const, text: each }));
      const adapter = named("gpt-4o-mini");
      const told = await estimate(ask.bind({ text }), { adapter, messages, history: storeOf(samples) });
      for (const name of ["inputTokens", "outputTokens", "outputTokensPerTurn", "turns", "durationMs"] as const) {
        expect(told[name].p50).toBeGreaterThanOrEqual(0);
        expect(told[name].p90).toBeGreaterThanOrEqual(told[name].p50);
        expect(Number.isInteger(told[name].p50) && Number.isInteger(told[name].p90)).toBe(true);
      }
      expect(told.samples).toBe(samples.length);
      expect(told.confidence).toBeGreaterThanOrEqual(0.05);
      expect(told.confidence).toBeLessThan(1);
      expect(told.costUsd.known).toBe(true);
    }),
    { seed: 6, numRuns: 50 },
  );
});

test("EST-3 priors grow with text, messages and tools, and keep to maxOutputTokens", async () => {
  const adapter = named("gpt-4o-mini");
  const short = await estimate(ask.bind({ text: "x" }), { adapter });
  const long = await estimate(ask.bind({ text: "x" + " word".repeat(1_000) }), { adapter });
  expect(short).toMatchObject({ basis: "priors", samples: 0, confidence: 0.05, turns: { p50: 1, p90: 2 } });
  expect(long.inputTokens.p50 - short.inputTokens.p50).toBe(1_000);
  const messages = [{ role: "user" as const, text: "word ".repeat(2_000) }];
  const later = await estimate(ask.bind({ text: "x" }), { adapter, messages });
  // 8 around each message.
  expect(later.inputTokens.p50 - short.inputTokens.p50).toBe(2_008);

  const input = z.object({ id: z.string() });
  const tool = defineTool({ name: "look", description: "d".repeat(400), input, execute: () => "done" });
  const sections = [{ key: "ask", text: "Ask: x", tools: [tool] }] as const;
  const withTools = await estimate(definePrompt({ key: "tools", sections }).bind(), { adapter });
  expect(withTools.turns).toEqual({ p50: 3, p90: 10 });
  expect(withTools.inputTokens.p50).toBeGreaterThan(3 * (short.inputTokens.p50 + 100));

  const bounded = await estimate(ask.bind({ text: "x" }), { adapter: named("gpt-4o-mini", 30) });
  expect(bounded.outputTokensPerTurn).toEqual({ p50: 30, p90: 30 });
  expect(bounded.outputTokens).toEqual({ p50: 30, p90: 60 });
});

test.each([
  { count: 9, p50: 5, p90: 9 },
  { count: 10, p50: 6, p90: 10 },
  { count: 19, p50: 10, p90: 18 },
  { count: 20, p50: 11, p90: 19 },
  { count: 199, p50: 100, p90: 180 },
  { count: 512, p50: 257, p90: 462 },
])("EST-4 of $count evaluations, the ⌈(n+1)q⌉-th smallest", async ({ count, p50, p90 }) => {
  const history = storeOf(
    upTo(count).map((n) => ({ outputTokens: n * 10, turns: n, durationMs: n * 100, largestOutputTokens: n * 5 })),
  );
  const told = await estimate(ask.bind({ text: "x" }), { adapter: named("gpt-4o-mini"), history });
  expect(told).toMatchObject({
    basis: "history",
    samples: count,
    outputTokens: { p50: p50 * 10, p90: p90 * 10 },
    outputTokensPerTurn: { p50: p50 * 5, p90: p90 * 5 },
    turns: { p50, p90 },
    durationMs: { p50: p50 * 100, p90: p90 * 100 },
  });
});

test("EST-4 input grows with the prompt that is estimated", async () => {
  const history = storeOf(upTo(20).map(() => ({ characters: 100, inputTokens: 50 })));
  const adapter = named("gpt-4o-mini");
  for (const length of [94, 994]) {
    const { inputTokens, outputTokens } = await estimate(ask.bind({ text: "x".repeat(length - "Ask: ".length) }), {
      adapter,
      history,
    });
    expect(inputTokens).toEqual({ p50: length / 2, p90: length / 2 });
    expect(outputTokens).toEqual({ p50: 20, p90: 20 });
  }
});

test("EST-4 what tools add to a request does not grow with the text", async () => {
  const input = z.object({ id: z.string() });
  const look = defineTool({ name: "look", description: "d".repeat(3_000), input, execute: () => "done" });
  const template = definePrompt({
    ns: "tests",
    key: "ask",
    params: z.object({ text: z.string() }),
    sections: [{ key: "ask", text: "{{text}}", tools: [look] }],
  });
  // Half a token for each character, the tool's 3,000 and some among them.
  const history = storeOf(upTo(20).map(() => ({ characters: 100, inputTokens: 1_600 })));
  const adapter = named("gpt-4o-mini");
  const { inputTokens } = await estimate(template.bind({ text: "x".repeat(1_100) }), { adapter, history });
  expect(inputTokens.p50).toBeGreaterThan(1_600 + 450);
  expect(inputTokens.p50).toBeLessThan(1_600 + 550);
});

test("EST-5 the nearest samples count of which there are nine, with less confidence the farther they are", async () => {
  const adapter = named("gpt-4o-mini");
  const told = async (samples: readonly Partial<UsageSample>[]) =>
    estimate(ask.bind({ text: "x" }), { adapter, history: storeOf(samples) });
  const same = upTo(9).map(() => ({ turns: 4 }));
  const sameModel = upTo(9).map(() => ({ turns: 5, prompt: "tests/other" }));
  const others = upTo(9).map(() => ({ turns: 6, prompt: "tests/other", model: "other" }));

  const nearest = await told([...same, ...sameModel, ...others]);
  expect(nearest).toMatchObject({ turns: { p50: 4 }, samples: 9, confidence: 0.05 + (0.95 * 9) / 29 });
  const nearer = await told([...sameModel, ...others]);
  expect(nearer).toMatchObject({ turns: { p50: 5 }, samples: 9, confidence: 0.05 + (0.95 * 0.5 * 9) / 29 });
  const near = await told(others);
  expect(near).toMatchObject({ turns: { p50: 6 }, samples: 9, confidence: 0.05 + (0.95 * 0.25 * 9) / 29 });
  // Too few of its own: those of the model are enough.
  expect(await told([...same.slice(1), ...sameModel])).toMatchObject({ samples: 17 });
});

test("EST-5 fewer than nine: the nearest count, and no p90 is below the priors'", async () => {
  const adapter = named("gpt-4o-mini");
  const history = storeOf([
    { turns: 1, outputTokens: 5 },
    { turns: 1, outputTokens: 9_000 },
  ]);
  const priors = await estimate(ask.bind({ text: "x" }), { adapter });
  const told = await estimate(ask.bind({ text: "x" }), { adapter, history });
  expect(told).toMatchObject({ basis: "history", samples: 2, turns: { p50: 1, p90: priors.turns.p90 } });
  expect(told.outputTokens.p90).toBe(9_000);
  expect(told.confidence).toBeGreaterThan(priors.confidence);
});

describe("EST-6 costs", () => {
  const cost = async (model: string, samples: readonly Partial<UsageSample>[] = []) =>
    (await estimate(ask.bind({ text: "x".repeat(95) }), { adapter: named(model), history: storeOf(samples) })).costUsd;

  test("EST-6 by the model's prices, from priors and from history", async () => {
    const priors = await cost("gpt-4o-mini");
    if (!priors.known) throw new Error(priors.reason);
    // 33 of the text, 20 around it.
    expect(priors.p50).toBeCloseTo((53 * 0.15 + 250 * 0.6) / 1e6, 12);
    expect(priors.p90).toBeGreaterThan(priors.p50);
    const learned = await cost(
      "gpt-4o-mini",
      upTo(9).map(() => ({ inputTokens: 1_000, outputTokens: 100 })),
    );
    if (!learned.known) throw new Error(learned.reason);
    expect(learned.p90).toBeCloseTo((1_000 * 0.15 + 100 * 0.6) / 1e6, 12);
    expect(await cost("openai/gpt-4o-mini")).toEqual(priors);
  });

  test("EST-6 EST-5 of fewer than nine evaluations, the p90 is not below the priors'", async () => {
    const [priors, few] = [await cost("gpt-4o-mini"), await cost("gpt-4o-mini", [{ outputTokens: 1 }])];
    if (!priors.known || !few.known) throw new Error("The price is not known.");
    expect(few.p90).toBe(priors.p90);
    expect(few.p50).toBeLessThan(priors.p50);
  });

  test("EST-6 cached input is priced as such", async () => {
    const of = (cachedInputTokens: number) =>
      cost(
        "gpt-4o-mini",
        upTo(9).map(() => ({ inputTokens: 1_000, cachedInputTokens })),
      );
    const [none, all] = [await of(0), await of(1_000)];
    if (!none.known || !all.known) throw new Error("The price is not known.");
    expect(none.p50 - all.p50).toBeCloseTo((1_000 * (0.15 - 0.075)) / 1e6, 12);
  });

  test("EST-6 what providers reported comes first, and grows with the prompt", async () => {
    expect(
      await cost(
        "gpt-4o-mini",
        upTo(9).map(() => ({ costUsd: 0.25 })),
      ),
    ).toEqual({ known: true, p50: 0.25, p90: 0.25 });
    const half = await cost(
      "nobody",
      upTo(9).map(() => ({ model: "nobody", costUsd: 0.25, characters: 200, outputTokens: 0 })),
    );
    expect(half).toEqual({ known: true, p50: 0.125, p90: 0.125 });
  });

  test("EST-6 of a model without a price it is not known, never zero", async () => {
    const reason = expect.stringContaining('"nobody"') as string;
    expect(await cost("nobody")).toEqual({ known: false, reason });
    expect(
      await cost(
        "nobody",
        upTo(9).map(() => ({ model: "nobody" })),
      ),
    ).toEqual({ known: false, reason });
    // What another model's provider has charged says nothing of this one.
    expect(
      await cost(
        "nobody",
        upTo(9).map(() => ({ costUsd: 0.25, model: "other" })),
      ),
    ).toMatchObject({ known: false });
    expect(await cost("whisper-1")).toMatchObject({ known: false, reason: expect.stringContaining("tokens") });
  });

  test("EST-6 the model of a foreign adapter has to be given", async () => {
    const adapter: ProviderAdapter = { ...named("gpt-4o-mini") };
    const prompt = ask.bind({ text: "x" });
    const { costUsd } = await estimate(prompt, { adapter });
    expect(costUsd).toMatchObject({ known: false, reason: expect.stringContaining("option model") });
    expect((await estimate(prompt, { adapter, model: "gpt-4o-mini" })).costUsd.known).toBe(true);
  });
});

test("EST-2 a prompt that asks nothing has no estimate, as it is never sent", async () => {
  const chat = definePrompt({
    key: "chat",
    params: z.object({ said: z.string() }),
    sections: [
      { key: "rules", text: "Be brief." },
      { key: "said", role: "user", text: "{{said}}" },
    ],
  });
  const told = await estimate(chat.bind({ said: " " }), { adapter: named("gpt-4o-mini") });
  expect(told.fault).toContain('The prompt "app/chat" has no user message');
});
