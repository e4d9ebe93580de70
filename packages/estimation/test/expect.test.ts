import { definePrompt, trackBudget, type ModelProvider } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { estimate } from "@proviso/estimation";
import { fakeEnvironment } from "@proviso/runtime/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rejection } from "../../runtime/test/support.ts";

const ask = (text: string) => definePrompt({ ns: "tests", key: "ask", text }).bind();
const expecting = (p90: number) => ({ outputTokensPerTurn: { p90 } });

/** A token for each byte sent, and answers of the given sizes. */
function modelOf(
  answers: readonly number[],
  maxOutputTokens?: number,
): ModelProvider & { readonly asked: number; readonly mostAtOnce: number } {
  let asked = 0;
  let atOnce = 0;
  let mostAtOnce = 0;
  return {
    name: "model",
    model: "model",
    maxOutputTokens,
    capabilities: { tools: true, nativeOutput: true },
    get asked() {
      return asked;
    },
    get mostAtOnce() {
      return mostAtOnce;
    },
    async generate({ messages }) {
      const outputTokens = answers[asked++ % answers.length] ?? 0;
      mostAtOnce = Math.max(mostAtOnce, ++atOnce);
      for (let n = 0; n < 100; n++) await Promise.resolve();
      atOnce -= 1;
      const inputTokens = messages.reduce((sum, { text }) => sum + new TextEncoder().encode(text).length, 0);
      return {
        message: { role: "assistant", text: "ok", toolCalls: [] },
        finishReason: "stop",
        usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
      };
    },
  };
}

const evaluateAll = async (
  model: ModelProvider,
  count: number,
  budget: ReturnType<typeof trackBudget>,
  p90?: number,
) => {
  const adapter = modelAdapter(model, fakeEnvironment());
  const options = { budget, ...(p90 === undefined ? {} : { expect: expecting(p90) }) };
  return Promise.allSettled(Array.from({ length: count }, () => adapter.evaluate(ask("Ask."), options)));
};

test("EST-11 LIM-5 a limit is passed by no more than what was answered beyond what was expected", async () => {
  const answers = fc.array(fc.nat({ max: 400 }), { minLength: 1, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(answers, fc.nat({ max: 300 }), fc.integer({ min: 100, max: 5_000 }), async (sizes, p90, limit) => {
      for (const name of ["maxTotalTokens", "maxOutputTokens"] as const) {
        const budget = trackBudget({ [name]: limit });
        const model = modelOf(sizes);
        await evaluateAll(model, 30, budget, p90);
        const answered = Array.from({ length: model.asked }, (_, index) => sizes[index % sizes.length] ?? 0);
        const beyond = answered.reduce((sum, tokens) => sum + Math.max(0, tokens - p90), 0);
        const spent = name === "maxTotalTokens" ? budget.consumed.totalTokens : budget.consumed.outputTokens;
        expect(spent).toBeLessThanOrEqual(limit + beyond);
        expect(budget.remaining()[name === "maxTotalTokens" ? "totalTokens" : "outputTokens"]).toBe(limit - spent);
      }
    }),
    { seed: 11, numRuns: 60 },
  );
});

test("EST-11 more run side by side than with the bound of the provider", async () => {
  const [bounded, expected] = [modelOf([50], 1_000), modelOf([50], 1_000)];
  await evaluateAll(bounded, 30, trackBudget({ maxOutputTokens: 3_000 }));
  await evaluateAll(expected, 30, trackBudget({ maxOutputTokens: 3_000 }), 100);
  expect([bounded.mostAtOnce, expected.mostAtOnce]).toEqual([3, 30]);
});

test("EST-11 what is expected reserves where the provider has no bound, and never more than its bound", async () => {
  const unbounded = modelOf([50]);
  await evaluateAll(unbounded, 30, trackBudget({ maxOutputTokens: 499 }), 99.5);
  expect(unbounded.mostAtOnce).toBe(4);
  const bounded = modelOf([50], 50);
  await evaluateAll(bounded, 30, trackBudget({ maxOutputTokens: 500 }), 1_000);
  expect([bounded.mostAtOnce, bounded.asked]).toEqual([10, 10]);
});

test("EST-11 an estimate is what expect takes", async () => {
  const model = modelOf([10], 100);
  const adapter = modelAdapter(model, fakeEnvironment());
  const prompt = ask("Ask.");
  await adapter.evaluate(prompt, { expect: await estimate(prompt, { adapter }), budget: { maxOutputTokens: 100 } });
  expect(model.asked).toBe(1);
});

describe("EST-11 anything else is refused before anything is sent", () => {
  test.each([null, 5, {}, { outputTokensPerTurn: null }, expecting(Number.NaN), expecting(-1), expecting(Infinity)])(
    "EST-11 %o",
    async (given) => {
      const model = modelOf([1]);
      const evaluating = modelAdapter(model, fakeEnvironment()).evaluate(ask("Ask."), { expect: given as never });
      expect((await rejection(evaluating)).message).toContain("The option expect must be an estimate");
      expect(model.asked).toBe(0);
    },
  );
});
