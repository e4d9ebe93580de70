import { definePrompt, type ModelProvider, type ReportedUsage } from "@proviso/core";
import { estimate, usageStatistics, type Estimate } from "@proviso/estimation";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";

const sum = definePrompt({ ns: "tests", key: "sum", params: z.object({ text: z.string() }), text: "{{text}}" });
const ofLength = (length: number) => sum.bind({ text: "x".repeat(length) });
const tokensIn = (length: number) => Math.ceil(length / 4);

interface World {
  /** US dollars for a million tokens, as the adapter knows them or as only the provider does. */
  readonly pricing: { readonly input: number; readonly output: number };
  /** Characters of each prompt that was evaluated, with the tokens of its answer. */
  readonly learnt: readonly (readonly [length: number, outputTokens: number])[];
  /** Characters of the prompt whose cost is estimated. */
  readonly asked: number;
  /** What the provider reports of its costs, in parts of the price; undefined: nothing. */
  readonly charges: number | undefined;
}

const worlds = fc.record<World>({
  pricing: fc.record({ input: fc.integer({ min: 1, max: 50 }), output: fc.integer({ min: 1, max: 500 }) }),
  learnt: fc.array(fc.tuple(fc.integer({ min: 400, max: 20_000 }), fc.integer({ min: 10, max: 2_000 })), {
    minLength: 12,
    maxLength: 20,
  }),
  asked: fc.integer({ min: 400, max: 20_000 }),
  charges: fc.constantFrom(1, 0.5, 2, undefined),
});

function costIn({ pricing, charges = 1 }: World, length: number, outputTokens: number): number {
  return (charges * (pricing.input * tokensIn(length) + pricing.output * outputTokens)) / 1e6;
}

async function estimatedIn(world: World, knowsPrices: boolean): Promise<Estimate> {
  const { learnt, charges } = world;
  let answers = 0;
  const model: ModelProvider = {
    name: "counting",
    model: "house",
    capabilities: { tools: true, nativeOutput: true, reportsCost: true },
    async generate() {
      const [length, outputTokens] = learnt[answers++] ?? [0, 0];
      const costUsd = charges === undefined ? undefined : costIn(world, length, outputTokens);
      const usage: ReportedUsage = { inputTokens: tokensIn(length), outputTokens, costUsd };
      return { message: { role: "assistant", text: "x", toolCalls: [] }, finishReason: "stop", usage };
    },
  };
  const adapter = modelAdapter(model, { ...fakeEnvironment(), ...(knowsPrices ? { pricing: world.pricing } : {}) });
  const session = createSession();
  const history = usageStatistics(session);
  for (const [length] of learnt) await adapter.evaluate(ofLength(length), { session });
  return estimate(ofLength(world.asked), { adapter, history });
}

/** The costs that what was learnt lets expect, the smallest first. */
function possible(world: World): readonly number[] {
  return world.learnt.map(([, outputTokens]) => costIn(world, world.asked, outputTokens)).toSorted((a, b) => a - b);
}

function quantile(sorted: readonly number[], of: number): number {
  return sorted[Math.min(sorted.length, Math.ceil((sorted.length + 1) * of)) - 1] ?? NaN;
}

/** A token is a whole one: of 400 characters the count is off by up to 1 in 100. */
const near = (value: number, other: number): boolean => Math.abs(value / other - 1) < 0.02;

test.each([
  { knowsPrices: true, where: "where the price is known" },
  { knowsPrices: false, where: "where costs are reported that let see what input and output cost" },
])("EST-6 EST-4 the estimated cost is that of the estimated tokens $where", async ({ knowsPrices }) => {
  await fc.assert(
    fc.asyncProperty(worlds, async (drawn) => {
      const world = knowsPrices ? drawn : { ...drawn, charges: drawn.charges ?? 1 };
      const { costUsd } = await estimatedIn(world, knowsPrices);
      if (!costUsd.known) throw new Error(costUsd.reason);
      const costs = possible(world);
      expect(near(costUsd.p50, quantile(costs, 0.5))).toBe(true);
      expect(near(costUsd.p90, quantile(costs, 0.9))).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test("EST-6 EST-4 costs that do not show what input and output cost are not estimated too low", async () => {
  await fc.assert(
    fc.asyncProperty(worlds, fc.integer({ min: 400, max: 20_000 }), async (drawn, length) => {
      const alike = drawn.learnt.map((_, index) => [length + (index % 3), 100] as const);
      const world = { ...drawn, learnt: alike, charges: 1 };
      const { costUsd } = await estimatedIn(world, false);
      if (!costUsd.known) throw new Error(costUsd.reason);
      expect(costUsd.p90).toBeGreaterThan(quantile(possible(world), 0.9) * 0.98);
      // No higher than if all of a larger input's cost were the input's.
      const most = costIn(world, length, 100) * Math.max(1, world.asked / length);
      expect(costUsd.p90).toBeLessThan(most * 1.02);
    }),
    { numRuns: 60 },
  );
});

test("EST-6 LIM-14 a cost that is known only in part is not learnt from", async () => {
  const session = createSession();
  const history = usageStatistics(session);
  const usage = { inputTokens: 10, outputTokens: 10, costUsd: 0.001, unpricedTokens: 5 };
  const model: ModelProvider = {
    name: "partial",
    model: "house",
    capabilities: { tools: true, nativeOutput: true },
    generate: async () => ({ message: { role: "assistant", text: "x", toolCalls: [] }, finishReason: "stop", usage }),
  };
  const adapter = modelAdapter(model, fakeEnvironment());
  for (let i = 0; i < 9; i++) await adapter.evaluate(ofLength(400), { session });
  expect((await estimate(ofLength(400), { adapter, history })).costUsd.known).toBe(false);
});
