import { definePrompt } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { cheapestFirst, fallback, fastestFirst, type RouteCandidate, type RouteOrder } from "@proviso/runtime/routing";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();

function candidate(index: number, known: Partial<RouteCandidate>): RouteCandidate {
  const unknown = { p50Ms: undefined, p95Ms: undefined, failureShare: undefined, costUsd: undefined };
  return { index, provider: "m", model: `m-${index}`, open: false, ...unknown, ...known };
}

const indices = (order: RouteOrder, all: readonly RouteCandidate[]): readonly number[] =>
  order(all, prompt).map(({ index }) => index);

test("RTE-5 cheapestFirst puts unknown prices last, and those that are too slow after all others", () => {
  const all = [candidate(0, {}), candidate(1, { costUsd: 2 }), candidate(2, { costUsd: 1, p95Ms: 900 })];
  expect(indices(cheapestFirst(), all)).toEqual([2, 1, 0]);
  expect(indices(cheapestFirst({ withinMs: 500 }), all)).toEqual([1, 0, 2]);
  expect(() => cheapestFirst({ withinMs: 0 })).toThrow(/positive/);
});

test("RTE-5 fastestFirst puts the fastest first, behind those that have not answered yet", () => {
  const all = [candidate(0, { p50Ms: 30 }), candidate(1, { p50Ms: 10 }), candidate(2, {})];
  expect(indices(fastestFirst(), all)).toEqual([2, 1, 0]);
});

test("RTE-5 an order is asked once an evaluation, and knows prices, times and failures", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const seen: (readonly RouteCandidate[])[] = [];
  const make = (afterMs: number, input: number) => {
    const steps = Array.from({ length: 3 }, () => ({ text: "yes", afterMs }));
    return modelAdapter(scriptedModel(steps, { clock }), { ...environment, pricing: { input, output: input } });
  };
  const order: RouteOrder = (candidates) => {
    seen.push(candidates);
    return seen.length === 1 ? [candidates[1] as RouteCandidate] : [];
  };
  const adapter = fallback([make(10, 1), make(20, 5)], { order });
  for (let index = 0; index < 3; index++) {
    const evaluating = adapter.evaluate(prompt);
    await clock.advance(100);
    await evaluating;
  }
  expect(seen.length).toBe(3);
  const [dear, cheap] = [seen[0]?.[1]?.costUsd ?? 0, seen[0]?.[0]?.costUsd ?? 0];
  expect(dear / cheap).toBeCloseTo(5);
  expect(seen[0]).toMatchObject([{ p50Ms: undefined, failureShare: undefined, open: false }, {}]);
  // The first evaluation left one out; an empty list is as if all were given.
  expect(seen[2]).toMatchObject([
    { p50Ms: 10, failureShare: 0 },
    { p95Ms: 20, failureShare: 0 },
  ]);
});
