import {
  definePrompt,
  trackBudget,
  type Budget,
  type BudgetTracker,
  type ModelProvider,
  type ProviderAdapter,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fallback, hedged } from "@proviso/runtime/routing";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();
type Answer = Awaited<ReturnType<ModelProvider["generate"]>>;
type Limit = number | undefined;

const tooLarge: Answer = { failure: "provider", reason: "bad_request", message: "max_tokens is too large" };
const busy: Answer = { failure: "throttle", kind: "server_error", message: "busy" };
const answered: Answer = {
  message: { role: "assistant", text: "yes", toolCalls: [] },
  finishReason: "stop",
  usage: { inputTokens: 10, outputTokens: 100 },
};

const environment = fakeEnvironment();
const throttle = { maxAttempts: 5, baseDelayMs: 1 };

/** A model with the limit of each of its requests. */
function model(name: string, answer: (limit: Limit) => Answer) {
  const limits: Limit[] = [];
  const provider: ModelProvider = {
    name,
    model: name,
    capabilities: { tools: true, nativeOutput: false, outputLimit: { least: 1 } },
    generate: async ({ maxOutputTokens }) => {
      limits.push(maxOutputTokens);
      return answer(maxOutputTokens);
    },
  };
  return { limits, adapter: modelAdapter(provider, { ...environment, throttle }) };
}

/** Refuses each limit from a length on; without one it is busy so often, then it answers. */
function picky(name: string, { busyTimes = 0, from = 0 } = {}) {
  let left = busyTimes;
  return model(name, (limit) => {
    if (limit !== undefined && limit >= from) return tooLarge;
    return left-- > 0 ? busy : answered;
  });
}

/** Evaluates the prompt, and lets time pass until that is over. */
async function evaluate(adapter: ProviderAdapter, budget: Budget | BudgetTracker) {
  let isOver = false;
  const ended = adapter.evaluate(prompt, { budget }).catch((error: unknown) => ({ usage: undefined, error }));
  void ended.then(() => (isOver = true));
  while (!isOver) await environment.clock.advance(100);
  return ended;
}

type Chain = (adapters: readonly ProviderAdapter[]) => ProviderAdapter;
const [none, some] = [undefined, expect.any(Number)];
const withoutBreaker = { breaker: false, ...environment } as const;
describe.each<readonly [string, Chain]>([
  ["fallback", (adapters) => fallback(adapters, withoutBreaker)],
  ["hedged", (adapters) => hedged(adapters, { afterMs: 1e9 })],
  ["a chain in a chain", (adapters) => fallback([fallback(adapters, withoutBreaker)], withoutBreaker)],
])("LIM-10 a limit that a model of %s refused", (_, chainOf) => {
  test("is sent to it no more, however often the model is busy after that", async () => {
    const a = picky("a", { busyTimes: 3 });
    await evaluate(chainOf([a.adapter]), { maxTotalTokens: 5_000 });
    expect(a.limits).toEqual([some, none, none, none, none]);
  });

  test("stays at the other models, in each of the attempts", async () => {
    const a = picky("a", { busyTimes: 2 });
    const b = model("b", () => busy);
    await evaluate(chainOf([a.adapter, b.adapter]), { maxTotalTokens: 5_000 });
    expect(a.limits).toEqual([some, none, none, none]);
    expect(b.limits).toEqual([some, some]);
  });

  test.each([0, 1])("is remembered by its adapter once it has answered, busy %i times before", async (busyTimes) => {
    const a = picky("a", { busyTimes, from: 5_000 });
    const chain = chainOf([a.adapter]);
    await evaluate(chain, { maxTotalTokens: 50_000 });
    a.limits.length = 0;
    await evaluate(chain, { maxTotalTokens: 50_000 });
    await evaluate(chain, { maxTotalTokens: 4_900 });
    expect(a.limits).toEqual([none, some]);
  });

  test("is not remembered where the model refused the request without it, too", async () => {
    const a = model("a", () => tooLarge);
    const chain = chainOf([a.adapter]);
    for (let n = 0; n < 2; n++) await evaluate(chain, { maxTotalTokens: 5_000 });
    expect(a.limits).toEqual([some, none, some, none]);
  });

  test("costs nothing, and what the request without it reports is charged", async () => {
    const budget = trackBudget({ maxTotalTokens: 5_000 });
    const { usage } = await evaluate(chainOf([picky("a").adapter]), budget);
    expect(usage).toMatchObject({ inputTokens: 10, outputTokens: 100, estimated: false });
    expect(budget.consumed.totalTokens).toBe(110);
  });

  const costly = (outputTokens: number): Answer => ({ ...tooLarge, usage: { inputTokens: 50, outputTokens } });

  test("is not taken away where the refusal has spent the budget", async () => {
    const a = model("a", (limit) => (limit === undefined ? answered : costly(450)));
    const budget = trackBudget({ maxTotalTokens: 500 });
    const { error } = (await evaluate(chainOf([a.adapter]), budget)) as { readonly error?: unknown };
    expect(error).toMatchObject({ code: "budget", limit: 500, spent: 500 });
    expect(a.limits).toEqual([some]);
    expect(budget.consumed.totalTokens).toBe(500);
  });

  test("is taken away where the refusal has left something", async () => {
    const a = model("a", (limit) => (limit === undefined ? answered : costly(150)));
    const budget = trackBudget({ maxTotalTokens: 500 });
    const { usage } = await evaluate(chainOf([a.adapter]), budget);
    expect(usage).toMatchObject({ totalTokens: 310 });
    expect(a.limits).toEqual([some, none]);
    expect(budget.consumed.totalTokens).toBe(310);
  });

  test("is not asked for again once a listener of the reset has aborted", async () => {
    const aborting = new AbortController();
    const [signals, session] = [[] as boolean[], createSession()];
    session.on("text.reset", () => aborting.abort());
    const provider: ModelProvider = {
      name: "a",
      model: "a",
      capabilities: { tools: true, nativeOutput: false, outputLimit: { least: 1 } },
      generate: async ({ signal, onDelta }) => {
        signals.push(signal.aborted);
        onDelta?.({ kind: "text", text: "Half" });
        return tooLarge;
      },
    };
    const { signal } = aborting;
    const { response } = chainOf([modelAdapter(provider, environment)]).stream(prompt, {
      session,
      signal,
      budget: { maxTotalTokens: 5_000 },
    });
    await expect(response).rejects.toMatchObject({ code: "aborted" });
    expect(signals).toEqual([false]);
  });
});
