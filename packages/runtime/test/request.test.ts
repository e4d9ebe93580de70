import {
  definePrompt,
  trackBudget,
  type BudgetTracker,
  type ModelFailure,
  type ModelProvider,
  type ModelResponse,
  type ProviderAdapter,
} from "@proviso/core";
import type { ModelDelta } from "@proviso/core/provider";
import { agentAdapter, createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { rejection } from "./support.ts";

type Hear = (delta: ModelDelta) => void;
type Answering = (onDelta: Hear, signal: AbortSignal) => Promise<ModelResponse | ModelFailure>;

const prompt = definePrompt({ ns: "tests", key: "request", text: "Please do a long task." }).bind();
const answer: ModelResponse = {
  message: { role: "assistant", text: "done", toolCalls: [] },
  finishReason: "stop",
  usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
};
const process: ModelFailure = { failure: "process", exitCode: 1, signal: null, stderr: "", message: "no such command" };
const usage = { inputTokens: 7, outputTokens: 2, totalTokens: 9 };

/** One request of either kind that is answered the same way. */
const kinds: Readonly<Record<"model" | "agent", (answering: Answering) => ProviderAdapter>> = {
  model: (answering) => {
    const generate: ModelProvider["generate"] = ({ onDelta = () => {}, signal }) => answering(onDelta, signal);
    const capabilities = { tools: true, nativeOutput: true };
    return modelAdapter({ name: "model", model: "m", capabilities, generate }, fakeEnvironment());
  },
  agent: (answering) =>
    agentAdapter(
      { name: "agent", model: "a", drive: ({ onDelta, signal }) => answering(onDelta, signal) },
      fakeEnvironment(),
    ),
};

/** Nothing was spent and nothing stays reserved. */
function expectUnspent(error: Readonly<Record<string, unknown>>, budget: BudgetTracker): void {
  expect(error["usage"]).toMatchObject({ inputTokens: 0, outputTokens: 0, totalTokens: 0, estimated: false });
  expect(budget.consumed.totalTokens).toBe(0);
  expect(budget.remaining().totalTokens).toBe(10_000);
}

describe.each(["model", "agent"] as const)("a request to a %s", (kind) => {
  const adapterOf = kinds[kind];
  const newBudget = (): BudgetTracker => trackBudget({ maxTotalTokens: 10_000 });

  test("LOOP-8 has its event, is charged, passes the limit and is answered for in this order", async () => {
    const session = createSession();
    const budget = trackBudget({ maxTotalTokens: 120 });
    const long = { ...answer, usage: { inputTokens: 100, outputTokens: 50, totalTokens: 150 } };
    const seen: unknown[] = [];
    session.on("*", ({ type }) => void seen.push([type, budget.consumed.totalTokens]));
    const adapter = adapterOf(async () => {
      seen.push("begun");
      return long;
    });
    expect(await rejection(adapter.evaluate(prompt, { session, budget }))).toMatchObject({
      code: "budget",
      phase: "response",
      usage: { totalTokens: 150 },
    });
    expect(seen).toEqual([
      ["prompt.rendered", 0],
      ["provider.requested", 0],
      "begun",
      ["provider.responded", 150],
      ["prompt.failed", 150],
    ]);
  });

  test("LOOP-8 LIM-2 LIM-8 does not begin when a listener of provider.requested has aborted, and costs nothing", async () => {
    let begun = 0;
    const adapter = adapterOf(async () => {
      begun += 1;
      return answer;
    });
    const controller = new AbortController();
    const session = createSession();
    session.on("provider.requested", () => controller.abort("enough"));
    const budget = newBudget();
    const error = await rejection(adapter.evaluate(prompt, { session, signal: controller.signal, budget }));
    expect(error).toMatchObject({ code: "aborted", phase: "request", cause: "enough" });
    expect(begun).toBe(0);
    expectUnspent(error, budget);
  });

  test.each<readonly [how: string, answering: Answering]>([
    ["is told as data", async () => process],
    ["is thrown", () => Promise.reject(new Error("broken"))],
    [
      "is thrown at once",
      () => {
        throw new Error("broken");
      },
    ],
    ["is no answer at all", async () => undefined as never],
    [
      "has a usage without a number",
      async () => ({ ...process, usage: { inputTokens: undefined, outputTokens: null as never } }),
    ],
    ["has a usage with a text for a number", async () => ({ ...process, usage: { inputTokens: "12" as never } })],
    ["has begun with an empty delta", async (onDelta) => (onDelta({ kind: "text", text: "" }), process)],
  ])("LIM-8 costs nothing where a failure %s before any text or usage", async (_, answering) => {
    const budget = newBudget();
    expectUnspent(await rejection(adapterOf(answering).evaluate(prompt, { budget })), budget);
  });

  test("LIM-8 costs what its failure reports", async () => {
    const budget = newBudget();
    const adapter = adapterOf(async () => ({ ...process, usage }));
    const error = await rejection(adapter.evaluate(prompt, { budget }));
    expect(error["usage"]).toMatchObject({ ...usage, estimated: false });
    expect(budget.consumed.totalTokens).toBe(9);
  });

  test("LIM-8 costs an estimate of its text before it failed or was aborted, where it is streamed", async () => {
    const controller = new AbortController();
    const speak =
      (then: () => unknown): Answering =>
      async (onDelta) => {
        onDelta({ kind: "text", text: "word ".repeat(10) });
        then();
        return process;
      };
    for (const adapter of [adapterOf(speak(() => {})), adapterOf(speak(() => controller.abort()))]) {
      const budget = newBudget();
      const { response } = adapter.stream(prompt, { budget, signal: controller.signal });
      const error = await rejection(response);
      expect(error["usage"]).toMatchObject({ outputTokens: 10, estimated: true });
      expect(budget.consumed.inputTokens).toBeGreaterThan(0);
      expect(budget.consumed.outputTokens).toBe(10);
    }
  });

  test("LIM-8 costs nothing when it is aborted while it says nothing", async () => {
    const controller = new AbortController();
    const budget = newBudget();
    const adapter = adapterOf(async () => {
      controller.abort();
      return new Promise(() => {});
    });
    const error = await rejection(adapter.evaluate(prompt, { budget, signal: controller.signal }));
    expect(error).toMatchObject({ code: "aborted", phase: "request" });
    expectUnspent(error, budget);
  });

  test("PRO-5 a field `stop` of the answer is not taken for a failure of the runtime", async () => {
    const stopped = { ...answer, stop: "end_turn" };
    expect((await adapterOf(async () => stopped).evaluate(prompt)).output).toBe("done");
    const refused = { ...process, stop: "aborted", phase: "tool" };
    expect(await rejection(adapterOf(async () => refused).evaluate(prompt))).toMatchObject({
      code: "process",
      phase: "request",
    });
  });

  test("PRO-5 may be answered at once, and an answer whose fields throw is a ProviderError", async () => {
    expect((await adapterOf((() => answer) as never).evaluate(prompt)).output).toBe("done");
    const hostile = {
      get failure(): undefined {
        throw new Error("hostile");
      },
    };
    const error = await rejection(adapterOf(async () => hostile as never).evaluate(prompt));
    expect(error).toMatchObject({ code: "provider", reason: "unknown", message: "hostile" });
  });
});

describe("PRO-6 what is no provider or driver is refused when the adapter is made", () => {
  const named = { name: "n", model: "m" };
  const capabilities = { tools: true, nativeOutput: true };
  const notProviders = [{}, null, undefined, "gpt", { capabilities }, { ...named, capabilities, generate: "later" }];
  test.each([...notProviders, { ...named, generate: () => {} }, { ...named, capabilities: null, generate: () => {} }])(
    "modelAdapter(%j)",
    (given) => {
      expect(() => modelAdapter(given as never)).toThrow(
        expect.objectContaining({
          code: "definition",
          message: expect.stringMatching(
            /^modelAdapter needs a ModelProvider: \{ name, model, capabilities, generate \}, not /,
          ),
        }),
      );
    },
  );
  const notDrivers = [{}, null, undefined, "agent", () => {}, named, { ...named, drive: "later" }];
  test.each([...notDrivers, { model: "m", drive: () => {} }, { name: "n", drive: () => {} }])(
    "agentAdapter(%j)",
    (given) => {
      expect(() => agentAdapter(given as never)).toThrow(
        expect.objectContaining({
          code: "definition",
          message: expect.stringMatching(/^agentAdapter needs an AgentDriver: \{ name, model, drive \}, not /),
        }),
      );
    },
  );
});

test.each([Number.NaN, -5, 7])(
  "THR-3 a source of randomness that draws %d takes nothing from a Retry-After",
  async (drawn) => {
    const environment = fakeEnvironment();
    let asked = 0;
    const adapter = modelAdapter(
      {
        name: "m",
        model: "m",
        capabilities: { tools: false, nativeOutput: false },
        generate: async () =>
          asked++ > 0 ? answer : { failure: "throttle", kind: "rate_limit", retryAfterMs: 600, message: "busy" },
      },
      { ...environment, random: () => drawn },
    );
    const evaluating = adapter.evaluate(prompt);
    await environment.clock.advance(599);
    expect(asked).toBe(1);
    await environment.clock.advance(1);
    expect((await evaluating).output).toBe("done");
  },
);
