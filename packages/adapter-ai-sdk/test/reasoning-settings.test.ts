import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, type LanguageModel } from "@proviso/adapter-ai-sdk";
import type { EvaluateOptions, EvaluationSettings } from "@proviso/core";
import { answering, startServer } from "@proviso/fault-matrix/loopback-server";
import { describe, expect, test } from "vitest";
import { captured } from "./support/captured.ts";
import { mockModel } from "./support/mock-model.ts";

type Connection = { readonly baseURL: string; readonly apiKey: string };
type Body = Readonly<Record<string, unknown>>;

const chatAnswer = answering(200, {
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Fine." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});
const answers = {
  anthropic: captured("anthropic-text.json"),
  responses: captured("responses-text.json"),
  chat: chatAnswer,
  google: captured("gemini-text.json"),
};

interface Given {
  readonly answer: keyof typeof answers;
  readonly make: (connection: Connection) => LanguageModel;
  readonly options?: object;
  readonly evaluation?: EvaluateOptions;
}

async function sent({ answer, make, options = {}, evaluation = {} }: Given): Promise<Body> {
  await using server = await startServer(answers[answer]);
  const model = make({ baseURL: server.baseURL, apiKey: "key-12345678" });
  await aiSdk({ model, ...options }).evaluate("Hi.", evaluation);
  return server.requests[0]?.body ?? {};
}

const claude =
  (id: string, name?: string) =>
  (given: Connection): LanguageModel =>
    createAnthropic({ ...given, ...(name === undefined ? {} : { name }) })(id);
const thinking = (budgetTokens?: number, key = "anthropic"): object => ({
  providerOptions: { [key]: { thinking: { type: "enabled", budgetTokens } } },
});
const high: EvaluationSettings = { reasoning: { effort: "high" } };

describe("AIS-27 SET-3 LIM-10 thoughts are a part of the answer that a bound allows", () => {
  const older = claude("claude-sonnet-4-5");
  test.each([
    ["an effort in a budget", older, {}, { budget: { maxOutputTokens: 3_000 }, settings: high }, 2_400],
    ["an effort in a setting", older, {}, { settings: { ...high, maxOutputTokens: 3_000 } }, 2_400],
    ["a low effort", older, {}, { settings: { reasoning: { effort: "minimal" }, maxOutputTokens: 3_000 } }, 1_280],
    ["the adapter's own in a budget", older, thinking(20_000), { budget: { maxOutputTokens: 3_000 } }, 2_400],
    ["the adapter's own in its own bound", older, { ...thinking(20_000), maxOutputTokens: 3_000 }, {}, 2_400],
    ["what fits", older, { ...thinking(1_500), maxOutputTokens: 3_000 }, {}, 1_500],
    ["the least that fits", older, { ...thinking(9_000), maxOutputTokens: 1_280 }, {}, 1_024],
    ["thinking without a number", older, { ...thinking(), maxOutputTokens: 3_000 }, {}, 1_024],
    [
      "the evaluation's own options",
      older,
      {},
      {
        settings: {
          maxOutputTokens: 3_000,
          providerOptions: { aiSdk: { anthropic: { thinking: { type: "enabled", budgetTokens: 9_000 } } } },
        },
      },
      2_400,
    ],
    [
      "the options of a provider with another name",
      claude("claude-sonnet-4-5", "mine.anthropic.messages"),
      { ...thinking(9_000, "mine"), maxOutputTokens: 3_000 },
      {},
      2_400,
    ],
    [
      "a model whose name is not known",
      claude("some-model"),
      {},
      { settings: { ...high, maxOutputTokens: 3_000 } },
      2_400,
    ],
    [
      "an older model",
      claude("claude-3-7-sonnet-20250219"),
      {},
      { settings: { ...high, maxOutputTokens: 9_000 } },
      2_458,
    ],
    [
      "a long bound",
      claude("claude-opus-4-1-20250805"),
      {},
      { settings: { ...high, maxOutputTokens: 30_000 } },
      19_200,
    ],
  ] as const)("AIS-27 SET-3 LIM-10 %s", async (_, make, options, evaluation, tokens) => {
    const body = await sent({ answer: "anthropic", make, options, evaluation: evaluation as EvaluateOptions });
    const { maxOutputTokens: set = 3_000 } = (evaluation as EvaluateOptions).settings ?? {};
    const { maxOutputTokens: own = set } = options as { readonly maxOutputTokens?: number };
    expect(body["max_tokens"]).toBe(own);
    expect(body["thinking"]).toMatchObject({ type: "enabled", budget_tokens: tokens });
  });

  test("AIS-27 SET-3 LIM-10 where the least does not fit there is none", async () => {
    for (const [options, settings] of [
      [thinking(9_000), { maxOutputTokens: 1_279 }],
      [{}, { ...high, maxOutputTokens: 100 }],
    ] as const) {
      const body = await sent({ answer: "anthropic", make: older, options, evaluation: { settings } });
      expect(body).toMatchObject({ max_tokens: settings.maxOutputTokens, thinking: { type: "disabled" } });
    }
  });

  test("AIS-27 SET-3 LIM-10 without a bound, and for models that take an effort, nothing changes", async () => {
    const free = await sent({ answer: "anthropic", make: older, evaluation: { settings: high } });
    expect(free).toMatchObject({ max_tokens: 64_000, thinking: { type: "enabled", budget_tokens: 38_400 } });
    for (const id of ["claude-opus-4-6", "claude-sonnet-5", "claude-of-tomorrow"]) {
      const settings = { ...high, maxOutputTokens: 3_000 };
      const body = await sent({ answer: "anthropic", make: claude(id), evaluation: { settings } });
      expect(body).toMatchObject({
        max_tokens: 3_000,
        thinking: { type: "adaptive" },
        output_config: { effort: "high" },
      });
    }
  });

  test("AIS-27 SET-3 LIM-10 of Bedrock and the gateway as well, which add it behind this interface", async () => {
    const settings = { ...high, maxOutputTokens: 3_000 };
    const asked = async (provider: string, modelId: string, options: object = {}) => {
      const model = { ...mockModel([{}], provider), modelId };
      const { calls } = model;
      await aiSdk({ model, ...options }).evaluate("Hi.", { settings });
      return calls[0];
    };
    const bedrock = { providerOptions: { amazonBedrock: { guardrailConfig: {} } } };
    expect(await asked("amazon-bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", bedrock)).toMatchObject({
      maxOutputTokens: 600,
      providerOptions: {
        amazonBedrock: { guardrailConfig: {}, reasoningConfig: { type: "enabled", budgetTokens: 2_400 } },
      },
    });
    expect(await asked("amazon-bedrock", "amazon.nova-2-lite-v1:0")).toMatchObject({ maxOutputTokens: 3_000 });
    expect(await asked("gateway", "anthropic/claude-sonnet-4.5")).toMatchObject({
      maxOutputTokens: 600,
      providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 2_400 } } },
    });
    expect(await asked("gateway", "openai/gpt-5.4")).toMatchObject({ maxOutputTokens: 3_000 });
  });

  test("AIS-27 SET-3 LIM-10 a limit in a provider's own words does not pass the bound either", async () => {
    const maxOutputTokens = 3_000;
    const chat = await sent({
      answer: "chat",
      make: (given) => createOpenAI(given).chat("gpt-5.4"),
      options: { providerOptions: { openai: { maxCompletionTokens: 50_000 } } },
      evaluation: { budget: { maxOutputTokens } },
    });
    expect(chat["max_completion_tokens"]).toBe(maxOutputTokens);
    const compatible = await sent({
      answer: "chat",
      make: (given) => createOpenAICompatible({ name: "here", ...given })("m"),
      options: { providerOptions: { here: { max_tokens: 50_000 } } },
      evaluation: { budget: { maxOutputTokens } },
    });
    expect(compatible["max_tokens"]).toBe(maxOutputTokens);
  });
});

describe("AIS-28 SET-1 an effort of the evaluation wins over the adapter's own options", () => {
  const low: EvaluationSettings = { reasoning: { effort: "low" } };
  const none: EvaluationSettings = { reasoning: { effort: "none" } };
  const rows: readonly (readonly [string, Given, Body])[] = [
    [
      "OpenAI's Responses",
      {
        answer: "responses",
        make: (given) => createOpenAI(given)("gpt-5.4"),
        options: { providerOptions: { openai: { reasoningEffort: "high", serviceTier: "priority" } } },
        evaluation: { settings: { ...low, serviceTier: "flex" } },
      },
      { reasoning: { effort: "low" }, service_tier: "flex" },
    ],
    [
      "Azure's Responses",
      {
        answer: "responses",
        make: (given) => createOpenAI({ ...given, name: "azure" })("gpt-5.4"),
        options: { providerOptions: { azure: { reasoningEffort: "high", serviceTier: "priority", store: false } } },
        evaluation: { settings: { ...low, serviceTier: "flex" } },
      },
      { reasoning: { effort: "low" }, service_tier: "flex", store: false },
    ],
    [
      "OpenAI's chat",
      {
        answer: "chat",
        make: (given) => createOpenAI(given).chat("gpt-5.4"),
        options: { providerOptions: { openai: { reasoningEffort: "high" } } },
        evaluation: { settings: low },
      },
      { reasoning_effort: "low" },
    ],
    [
      "a compatible service",
      {
        answer: "chat",
        make: (given) => createOpenAICompatible({ name: "here", ...given })("m"),
        options: { providerOptions: { here: { reasoningEffort: "high", temperature: 1 } } },
        evaluation: { settings: { ...low, temperature: 0 } },
      },
      { reasoning_effort: "low", temperature: 0 },
    ],
    [
      "Anthropic",
      {
        answer: "anthropic",
        make: claude("claude-sonnet-4-5"),
        options: thinking(20_000),
        evaluation: { settings: none },
      },
      { thinking: { type: "disabled" } },
    ],
    [
      "Anthropic's later models",
      {
        answer: "anthropic",
        make: claude("claude-opus-4-6"),
        options: { providerOptions: { anthropic: { effort: "max" } } },
        evaluation: { settings: low },
      },
      { output_config: { effort: "low" } },
    ],
    [
      "Google",
      {
        answer: "google",
        make: (given) => createGoogle(given)("gemini-2.5-flash"),
        options: {
          providerOptions: { google: { thinkingConfig: { thinkingBudget: 20_000, includeThoughts: true } } },
        },
        evaluation: { settings: none },
      },
      { generationConfig: { thinkingConfig: { thinkingBudget: 0, includeThoughts: true } } },
    ],
  ];
  test.each(rows)("AIS-28 SET-1 over %s", async (_, given, expected) => {
    expect(await sent(given)).toMatchObject(expected);
  });

  test("AIS-28 SET-1 the adapter's own stay where the evaluation sets no effort", async () => {
    const given = { answer: "anthropic", make: claude("claude-sonnet-4-5"), options: thinking(2_000) } as const;
    const body = await sent({ ...given, evaluation: { settings: { temperature: 0 } } });
    expect(body["thinking"]).toEqual({ type: "enabled", budget_tokens: 2_000 });
  });
});

describe("AIS-28 SET-1 no summary is asked for where none was set", () => {
  const responses = (reasoning: EvaluationSettings["reasoning"], openai?: object): Promise<Body> =>
    sent({
      answer: "responses",
      make: (given) => createOpenAI(given)("gpt-5.4"),
      options: openai === undefined ? {} : { providerOptions: { openai } },
      evaluation: { settings: reasoning === undefined ? {} : { reasoning } },
    });

  test("AIS-28 SET-1 an effort alone, and summary none", async () => {
    expect((await responses({ effort: "low" }))["reasoning"]).toEqual({ effort: "low" });
    expect((await responses({ effort: "low", summary: "none" }))["reasoning"]).toEqual({ effort: "low" });
    expect((await responses({ effort: "low", summary: "auto" }))["reasoning"]).toEqual({
      effort: "low",
      summary: "auto",
    });
  });

  test("AIS-28 SET-1 the adapter's own summary stays beside an effort, and gives way to none", async () => {
    const own = { reasoningSummary: "concise" };
    expect((await responses({ effort: "low" }, own))["reasoning"]).toEqual({ effort: "low", summary: "concise" });
    expect((await responses({ effort: "low", summary: "none" }, own))["reasoning"]).toEqual({ effort: "low" });
  });
});
