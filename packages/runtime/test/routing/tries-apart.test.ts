import { definePrompt, defineTool, trackBudget, type ModelProvider, type ModelRequest, type Pace } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fallback, hedged, paced } from "@proviso/runtime/routing";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();
type Adapters = Parameters<typeof fallback>[0];
const chains = {
  fallback: (adapters: Adapters) => fallback(adapters),
  hedged: (adapters: Adapters) => hedged(adapters, { afterMs: 60_000 }),
};

type Answer = Awaited<ReturnType<ModelProvider["generate"]>>;

/** A model that answers as `generate` does, and notes each request. */
function model(name: string, generate: (request: ModelRequest, count: number) => unknown, pace?: Pace) {
  const environment = fakeEnvironment();
  const requests: ModelRequest[] = [];
  const provider: ModelProvider = {
    name,
    model: `${name}-1`,
    capabilities: { tools: true, nativeOutput: false, outputLimit: { least: 1 } },
    async generate(request) {
      requests.push(request);
      return generate(request, requests.length) as Answer;
    },
  };
  const options = { ...environment, pricing: { input: 1, output: 1 } };
  const alone = modelAdapter(provider, options);
  return { requests, adapter: pace === undefined ? alone : paced(alone, pace) };
}

const answer = (text: string, inputTokens: number, outputTokens: number, finishReason = "stop") => ({
  message: { role: "assistant", text, toolCalls: [] },
  finishReason,
  usage: { inputTokens, outputTokens },
});

describe.each(["fallback", "hedged"] as const)("%s over a pace of an application", (kind) => {
  test("LIM-2, RTE-11 a pace that rejects fails its member once, and the evaluation ends", async () => {
    let entered = 0;
    const pace: Pace = {
      state: () => ({}) as ReturnType<Pace["state"]>,
      enter() {
        // Where it is asked for ever, the test ends by its time limit and not in an endless loop.
        if (++entered > 100) return new Promise<never>(() => {});
        return Promise.reject(new Error("the store of the pace is away"));
      },
    };
    const [a, b] = [model("a", () => answer("a", 1, 1), pace), model("b", () => answer("b", 1, 1))];
    const evaluating = chains[kind]([a.adapter, b.adapter]).evaluate(prompt);
    await expect(evaluating).rejects.toThrow("the store of the pace is away");
    expect([entered, a.requests.length]).toEqual([1, 0]);
  });

  test("LIM-2 a turn that comes after the abort is given back, and no member is asked", async () => {
    const ended: string[] = [];
    const controller = new AbortController();
    const pace: Pace = {
      state: () => ({}) as ReturnType<Pace["state"]>,
      async enter() {
        controller.abort();
        const turn = { queuedMs: 0, end: () => void ended.push("end"), giveBack: () => void ended.push("back") };
        return { ok: true, turn };
      },
    };
    const [a, b] = [model("a", () => answer("a", 1, 1), pace), model("b", () => answer("b", 1, 1), pace)];
    const evaluating = chains[kind]([a.adapter, b.adapter]).evaluate(prompt, { signal: controller.signal });
    await expect(evaluating).rejects.toMatchObject({ name: "AbortedError" });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(a.requests.length + b.requests.length).toBe(0);
    expect(ended).toEqual(["back"]);
  });
});

test.each([0, 700])("LIM-10 an answer that its model cut short stays that, after a try that cost %i", async (spent) => {
  const a = model("a", () => answer("", 20, spent));
  const b = model("b", () => answer("cut by the model itself", 20, 60, "length"));
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const evaluating = fallback([a.adapter, b.adapter]).evaluate(prompt, { budget });
  await expect(evaluating).rejects.toMatchObject({ name: "ProviderError", reason: "truncated" });
});

test("LIM-11 what a try before the answer reported is no part of what the history costs", async () => {
  const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "seen" });
  const looking = definePrompt({ key: "t", sections: [{ key: "s", text: "Look.", tools: [look] }] }).bind();
  const a = model("a", () => answer("", 1_000, 0));
  const b = model("b", (_, count) => {
    if (count > 1) return answer("done", 1_020, 10);
    const message = { role: "assistant", text: "", toolCalls: [{ id: "1", name: "look", arguments: "{}" }] };
    return { ...answer("", 1_000, 10), message, finishReason: "tool-calls" };
  });
  const budget = trackBudget({ maxTotalTokens: 3_600 });
  const { text } = await fallback([a.adapter, b.adapter]).evaluate(looking, { budget });
  expect(text).toBe("done");
  expect(budget.consumed.totalTokens).toBe(3_040);
});
