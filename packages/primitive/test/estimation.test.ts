import { DefinitionError, trackBudget } from "@proviso/core";
import { definePrimitive } from "@proviso/primitive";
import { createSession, modelAdapter } from "@proviso/runtime";
import { usageStatistics } from "@proviso/estimation";
import { recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { afterEach, expect, test, vi } from "vitest";
import { classifier, label, systemPrompt } from "./support.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

const good = { output: { label: "good" } };

test("BLK-14 without history it comes from priors, with low confidence, and no request is sent", async () => {
  const { primitive, model } = classifier([]);
  const short = await primitive.estimateExecution("A fine day.");
  const long = await primitive.estimateExecution("A fine day. ".repeat(1000));
  expect(short).toMatchObject({ basis: "priors", samples: 0 });
  expect(short.confidence).toBeLessThan(0.2);
  expect(short.inputTokens.p50).toBeGreaterThan(0);
  expect(short.inputTokens.p90).toBeGreaterThanOrEqual(short.inputTokens.p50);
  expect(long.inputTokens.p50).toBeGreaterThan(short.inputTokens.p50 + 2000);
  expect(model.callCount).toBe(0);
});

test("BLK-14 with history it comes from what runs have spent", async () => {
  const session = createSession();
  const history = usageStatistics(session);
  const { primitive, model } = classifier(Array.from({ length: 20 }, () => good));
  for (let i = 0; i < 20; i++) await primitive.run("A fine day.", { session });
  const events = recordEvents(session);
  const estimated = await primitive.estimateExecution("A fine day.", { history });
  expect(estimated).toMatchObject({ basis: "history", samples: 20, outputTokens: { p50: 5, p90: 5 } });
  expect(estimated.confidence).toBeGreaterThan((await primitive.estimateExecution("A fine day.")).confidence);
  expect(model.callCount).toBe(20);
  expect(events).toEqual([]);
});

test.each([42, null, undefined, {}, "", " ", Symbol("s")])(
  "BLK-14 the payload %o would not be sent: it costs nothing, and the fault says why",
  async (payload) => {
    const { primitive } = classifier([]);
    const estimated = await primitive.estimateExecution(payload as string);
    expect(estimated).toMatchObject({ inputTokens: { p90: 0 }, turns: { p90: 0 }, costUsd: { known: false } });
    expect(estimated.fault).toContain("must be a text");
  },
);

test("BLK-14 a model that cannot be reached costs nothing either", async () => {
  for (const name of ["LITELLM_BASE_URL", "AI_GATEWAY_API_KEY"]) vi.stubEnv(name, "");
  const primitive = definePrimitive({ name: "classify", systemPrompt, output: label, model: "m" });
  const estimated = await primitive.estimateExecution("A fine day.");
  expect(estimated).toMatchObject({ inputTokens: { p50: 0 } });
  expect(estimated.fault).toContain("AI_GATEWAY_API_KEY");
});

test("BLK-14 a history that is none is a DefinitionError", async () => {
  const { primitive } = classifier([]);
  await expect(primitive.estimateExecution("A.", { history: {} as never })).rejects.toThrow(DefinitionError);
});

test("BLK-14 an estimate is a run's expectation: more run at once within a budget", async () => {
  const atOnce = async (expected: boolean): Promise<number> => {
    let [running, most] = [0, 0];
    const script = scriptedModel(Array.from({ length: 4 }, () => ({ ...good, afterMs: 1 })));
    const generate: typeof script.generate = async (request) => {
      most = Math.max(most, ++running);
      return script.generate(request).finally(() => (running -= 1));
    };
    const adapter = modelAdapter({ ...script, maxOutputTokens: 100_000, generate });
    const primitive = definePrimitive({ name: "classify", systemPrompt, output: label, adapter });
    const expect = expected ? { outputTokensPerTurn: { p90: 50 } } : undefined;
    const budget = trackBudget({ maxTotalTokens: 150_000 });
    await Promise.all(["A.", "B.", "C.", "D."].map((payload) => primitive.run(payload, { budget, expect })));
    return most;
  };
  expect(await atOnce(false)).toBe(1);
  expect(await atOnce(true)).toBe(4);
});
