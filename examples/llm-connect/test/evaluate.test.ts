import { commandLine } from "@proviso/adapter-process";
import {
  BudgetExceededError,
  deadlineIn,
  defineTool,
  definePrompt,
  isEvaluationFailure,
  ProcessError,
  ProviderError,
  ThrottleError,
  trackBudget,
  type Prompt,
  type EvaluationFailure,
  type ProviderAdapter,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { failingModel, fakeClock, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { startSimulator, type SimulatorOptions } from "@proviso/simulator";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { openai } from "@proviso/adapter-openai";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { apiKey, model, wires } from "./adapters.ts";

vi.setConfig({ testTimeout: 300_000 });

const hello = definePrompt({ key: "hello", text: "Say hello." }).bind();
const once = { maxAttempts: 1 };

async function failureOf(promise: Promise<unknown>): Promise<EvaluationFailure> {
  const error = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (isEvaluationFailure(error)) return error;
  throw new Error(`It is no failure of an evaluation: ${String(error)}`);
}

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

describe.each(wires)("%s", (_, adapterAt, provider) => {
  /** Asks a service that answers so, once. */
  async function against(options: SimulatorOptions, settings: object = {}) {
    await using simulator = await startSimulator(options);
    const adapter = adapterAt({ baseURL: simulator.baseURL, throttle: once, ...settings });
    const answer = await adapter.evaluate(hello).catch((error: unknown) => error as EvaluationFailure);
    return { answer, requests: simulator.requests };
  }

  test("LLC-1 LLC-25 LLC-28 evaluate gives the text, and why the model stopped", async () => {
    const { answer } = await against({ steps: [{ text: "Hello." }] });
    expect(answer).toMatchObject({ text: "Hello.", output: "Hello.", finishReason: "stop" });
  });

  test("LLC-3 evaluations run side by side", async () => {
    await using simulator = await startSimulator({ rules: [() => ({ text: "Late.", afterMs: 60_000 })] });
    const adapter = adapterAt({ baseURL: simulator.baseURL });
    const { signal, abort } = abortable();
    const evaluations = Array.from({ length: 5 }, () => adapter.evaluate(hello, { signal }));
    const settled = Promise.allSettled(evaluations);
    await vi.waitFor(() => expect(simulator.awaited).toBe(5), { timeout: 120_000 });
    abort();
    expect((await settled).map(({ status }) => status)).toEqual(evaluations.map(() => "rejected"));
  });

  test("LLC-4 an empty answer is no success", async () => {
    const { answer } = await against({ steps: [{ text: "" }] });
    expect(answer).toBeInstanceOf(ProviderError);
    expect(answer).toMatchObject({ reason: "invalid_response" });
  });

  test("LLC-9 LLC-13 timeoutMs ends a request, and a deadline the evaluation, when the time is up and not before", async () => {
    const clock = fakeClock();
    for (const [settings, limits, expected] of [
      [{ timeoutMs: 1_000 }, () => ({}), { code: "throttled", kind: "timeout", attempts: 1 }],
      [{}, () => ({ deadline: deadlineIn(1_000, clock) }), { code: "deadline", phase: "request" }],
    ] as const) {
      await using simulator = await startSimulator({ steps: [{ text: "Late.", afterMs: 60_000 }] });
      const adapter = adapterAt({ baseURL: simulator.baseURL, clock, throttle: once, ...settings });
      let failure: EvaluationFailure | undefined;
      void failureOf(adapter.evaluate(hello, limits())).then((settled) => (failure = settled));
      await vi.waitFor(() => expect(simulator.awaited).toBe(1), { timeout: 120_000 });
      await clock.advance(999);
      expect(failure).toBeUndefined();
      await clock.advance(1);
      await vi.waitFor(() => expect(failure).toMatchObject(expected), { timeout: 120_000 });
    }
  });

  test.each([
    [400, "bad_request"],
    [401, "api_key"],
    [403, "api_key"],
    [404, "not_found"],
    [422, "bad_request"],
  ])("LLC-10 LLC-11 a status of %i is a ProviderError with it, and the body", async (status, reason) => {
    const body = { error: { message: "No.", type: "invalid_request_error", code: null } };
    const { answer, requests } = await against({ steps: [{ status, body }] }, { throttle: {} });
    expect(answer).toBeInstanceOf(ProviderError);
    expect(answer).toMatchObject({ status, reason });
    expect(JSON.stringify((answer as EvaluationFailure).providerPayload)).toContain("No.");
    expect(requests).toHaveLength(1);
  });

  test("LLC-12 a 429 is a ThrottleError after the retries", async () => {
    const limited = { status: 429, body: { error: { message: "Slow down." } } };
    const throttle = { maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 1 };
    const { answer, requests } = await against({ steps: [limited, limited] }, { throttle });
    expect(answer).toBeInstanceOf(ThrottleError);
    expect(answer).toMatchObject({ kind: "rate_limit", attempts: 2 });
    expect(requests).toHaveLength(2);
  });

  test("LLC-26 the model is the one that answered, which need not be the one that was asked for", async () => {
    const { requests } = await against({ steps: [{ text: "Hello." }] });
    const body = { ...(requests[0]?.answer as object), model: "gpt-5.4-2026-03-05" };
    const { answer } = await against({ steps: [{ status: 200, body }] });
    expect(answer).toMatchObject({ text: "Hello.", model: "gpt-5.4-2026-03-05" });
  });

  test("LLC-29 in place of metadata: the provider, its payload, the evaluation's id and its turns", async () => {
    const echo = defineTool({ name: "echo", description: "Echoes.", input: z.object({}), execute: () => "Hello?" });
    const prompt = definePrompt({ key: "echoed", sections: [{ key: "a", text: "Echo.", tools: [echo] }] }).bind();
    const session = createSession();
    const events = recordEvents(session);
    await using simulator = await startSimulator({ steps: [{ toolCalls: [{ name: "echo" }] }, { text: "Hello." }] });
    const response = await adapterAt({ baseURL: simulator.baseURL }).evaluate(prompt, { session });
    expect(response).toMatchObject({ provider, turns: 2, evaluationId: events[0]?.evaluationId });
    expect(response.evaluationId).toMatch(/\S/);
    const answers = simulator.requests.map(({ answer }) => answer as { readonly id: string });
    expect(JSON.stringify(response.providerPayload)).toContain(answers[1]?.id);
  });

  test("LLC-27 usage is whole numbers, as they were reported", async () => {
    const { answer } = await against({ steps: [{ text: "Hello." }] });
    const { usage } = answer;
    for (const tokens of [usage.inputTokens, usage.outputTokens, usage.totalTokens]) {
      expect(Number.isInteger(tokens)).toBe(true);
      expect(tokens).toBeGreaterThan(0);
    }
    expect(usage.totalTokens).toBe(usage.inputTokens + usage.outputTokens);
    expect(usage.estimated).toBe(false);
  });

  test("LLC-8 LLC-19 LLC-20 settings go out as they were given, and nothing that was not set", async () => {
    const options = Object.freeze({ temperature: 0, maxOutputTokens: 9, throttle: Object.freeze({ maxAttempts: 1 }) });
    const before = structuredClone(options);
    const set = await against({ steps: [{ text: "Hello." }] }, options);
    expect(options).toEqual(before);
    const sent = set.requests[0]?.body as Readonly<Record<string, unknown>>;
    expect(sent).toMatchObject({ model, temperature: 0 });
    expect(Object.values(sent)).toContain(9);
    const unset = await against({ steps: [{ text: "Hello." }] });
    expect(Object.keys(unset.requests[0]?.body as object)).not.toContain("temperature");
    expect(JSON.stringify(Object.keys(unset.requests[0]?.body as object))).not.toContain("max_");
  });
});

test("LLC-5 LLC-30 every failure is one of ours, with its cause and where it happened", async () => {
  const cause = new Error("Oops.");
  const broken = modelAdapter(failingModel(cause));
  const foreign = modelAdapter({ ...scriptedModel([]), generate: () => Promise.reject("a text") });
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  const odd = modelAdapter({ ...scriptedModel([]), generate: async () => circular as never });
  for (const [adapter, phase] of [
    [broken, "request"],
    [foreign, "request"],
    [odd, "response"],
  ] as const) {
    const failure = await failureOf(adapter.evaluate(hello));
    expect(failure).toMatchObject({ code: "provider", promptName: "app/hello", phase });
    expect(failure.usage.totalTokens).toBe(0);
  }
  expect((await failureOf(broken.evaluate(hello))).cause).toBe(cause);
  expect(await failureOf(broken.evaluate(undefined as never))).toMatchObject({ code: "option" });
});

test("LLC-30 a failure has the usage, messages and calls before it, and what the provider sent", async () => {
  const echo = defineTool({ name: "echo", description: "Echoes.", input: z.object({}), execute: () => "Hello?" });
  const prompt = definePrompt({ key: "echoed", sections: [{ key: "a", text: "Echo.", tools: [echo] }] }).bind();
  const payload = { error: { message: "No." } };
  const refused = { failure: "provider", reason: "bad_request", status: 400, message: "No.", payload } as const;
  const model = scriptedModel([{ toolCalls: [{ name: "echo", id: "1" }] }, refused]);
  const failure = await failureOf(modelAdapter(model).evaluate(prompt));
  expect(failure).toMatchObject({ phase: "request", promptName: "app/echoed", providerPayload: payload });
  expect(failure.messages.map(({ role, text }) => `${role}: ${text}`)).toEqual([
    "user: Echo.",
    "assistant: ",
    "tool: Hello?",
  ]);
  expect(failure.toolResults).toMatchObject([
    { name: "echo", callId: "1", result: { success: true, value: "Hello?" } },
  ]);
  expect(failure.usage.totalTokens).toBe(15);
});

test.each([
  ["openai", (baseURL: string) => openai({ model, apiKey, baseURL, api: "chat", extraBody: { user: "u-1" } })],
  ["litellm", (baseURL: string) => litellm({ model, apiKey, baseURL, extraBody: { user: "u-1" } })],
  [
    "aiSdk",
    (baseURL: string) => {
      const here = createOpenAICompatible({ name: "here", apiKey, baseURL });
      return aiSdk({ model: here(model), providerOptions: { here: { user: "u-1" } } });
    },
  ],
] as const)("LLC-21 %s passes on what it does not know", async (_, make) => {
  await using simulator = await startSimulator({ steps: [{ text: "Hello." }] });
  await make(simulator.baseURL).evaluate(hello);
  expect(simulator.requests[0]?.body).toMatchObject({ user: "u-1" });
});

describe("a command", () => {
  const program = (code: string, more: object = {}): ProviderAdapter =>
    commandLine({ command: process.execPath, args: ["-e", code], throttle: once, ...more });

  test("LLC-1 LLC-25 the prompt is its standard input, the answer its standard output", async () => {
    const response = await program("process.stdin.pipe(process.stdout)").evaluate(hello);
    expect(response).toMatchObject({ text: "Say hello.", provider: "command-line", finishReason: "stop" });
    expect(response.usage.estimated).toBe(true);
  });

  test("LLC-14 one that fails is a ProcessError with its exit code and standard error", async () => {
    const failure = await failureOf(program("console.error('No model.'); process.exit(3)").evaluate(hello));
    expect(failure).toBeInstanceOf(ProcessError);
    expect(failure).toMatchObject({ code: "process", exitCode: 3, signal: null, stderr: "No model.\n" });
  });

  test("LLC-13 LLC-23 one that hangs is a ThrottleError of kind timeout", async () => {
    const failure = await failureOf(program("setInterval(() => {}, 1000)", { timeoutMs: 200 }).evaluate(hello));
    expect(failure).toMatchObject({ code: "throttled", kind: "timeout" });
  });

  test("LLC-8 its options are the same before and after", async () => {
    const options = { command: process.execPath, args: ["-e", "console.log(1)"], env: ["HOME"], timeoutMs: 60_000 };
    for (const list of [options.args, options.env]) Object.freeze(list);
    const before = structuredClone(options);
    await commandLine(Object.freeze(options)).evaluate(hello);
    expect(options).toEqual(before);
  });

  test("LLC-21 its arguments are handed over as they are", async () => {
    const args = ["-e", "console.log(process.argv.slice(1).join(' '))", "--", "--temperature", "$HOME;"];
    const response = await commandLine({ command: process.execPath, args }).evaluate(hello);
    expect(response.text).toBe("--temperature $HOME;");
  });
});

describe("LLC-15 LLC-24 a budget", () => {
  test("LLC-15 LLC-24 evaluations at the same time share the budget, and none passes it unnoticed", async () => {
    const budget = trackBudget({ maxTotalTokens: 40 });
    const adapter = modelAdapter(scriptedModel(Array.from({ length: 5 }, () => ({ text: "Hello." }))));
    const settled = await Promise.allSettled(Array.from({ length: 4 }, () => adapter.evaluate(hello, { budget })));
    const failures = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    expect(failures.length).toBeGreaterThan(0);
    for (const failure of failures) expect(failure).toBeInstanceOf(BudgetExceededError);
    expect(budget.consumed.totalTokens).toBeGreaterThan(0);
    expect(budget.consumed.totalTokens).toBeLessThanOrEqual(40);
    const late = await failureOf(adapter.evaluate(hello, { budget }));
    expect(late).toMatchObject({ code: "budget", dimension: "total_tokens", usage: { totalTokens: 0 } });
  });
});

test("LLC-22 maxDepth bounds evaluations inside evaluations; the default is 3", async () => {
  let depth = 0;
  const nest = defineTool({
    name: "nest",
    description: "Evaluates the same prompt inside.",
    input: z.object({}),
    async execute(_, context): Promise<string> {
      depth++;
      return (await context.evaluate(deeper)).output;
    },
  });
  const deeper: Prompt<string> = definePrompt({
    key: "deep",
    sections: [{ key: "a", text: "Go on.", tools: [nest] }],
  }).bind();
  const always = {
    ...scriptedModel([]),
    generate: async ({ messages }: Parameters<ReturnType<typeof scriptedModel>["generate"]>[0]) => {
      const called = messages.some(({ role }) => role === "tool");
      const toolCalls = called ? [] : [{ id: "1", name: "nest", arguments: "{}" }];
      return {
        message: { role: "assistant" as const, text: called ? "Done." : "", toolCalls },
        finishReason: "stop" as const,
      };
    },
  };
  for (const [maxDepth, calls] of [
    [undefined, 4],
    [1, 2],
    [0, 1],
  ] as const) {
    depth = 0;
    await modelAdapter(always).evaluate(deeper, { maxDepth });
    expect(depth).toBe(calls);
  }
});
