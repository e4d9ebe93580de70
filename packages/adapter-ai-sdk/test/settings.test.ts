import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { aiSdk, aiSdkModel, litellm, type LanguageModel } from "@proviso/adapter-ai-sdk";
import { definePrompt, defineTool, toolOk, type EvaluationSettings, type ProviderAdapter } from "@proviso/core";
import { answering, startServer, type Received } from "@proviso/fault-matrix/loopback-server";
import { internalsOf } from "@proviso/runtime/internal";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { captured } from "./support/captured.ts";
import { mockModel } from "./support/mock-model.ts";

const lookUp = defineTool({
  name: "look_up",
  description: "Looks a word up.",
  input: z.object({ word: z.string() }),
  execute: ({ word }) => toolOk(`found ${word}`),
});
const prompt = definePrompt({
  key: "looking",
  sections: [
    { key: "rules", text: "Be brief.", cached: true, tools: [lookUp] },
    { key: "more", text: "Be kind." },
    { key: "task", role: "user", text: "Question." },
  ],
}).bind();

const completion = (message: object, more: object = {}): object => ({
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "m-2026",
  service_tier: "flex",
  choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason: "stop" }],
  usage: {
    prompt_tokens: 100,
    completion_tokens: 5,
    total_tokens: 105,
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
  },
  ...more,
});
const calling = {
  tool_calls: [{ id: "c1", type: "function", function: { name: "look_up", arguments: '{"word":"a"}' } }],
};
const chatAnswers = [answering(200, completion(calling)), answering(200, completion({ content: "Done." }))];

interface Wire {
  readonly name: string;
  adapter(baseURL: string, options?: object): ProviderAdapter;
  readonly answers: readonly ReturnType<typeof answering>[];
}
const of = (model: LanguageModel, options: object = {}): ProviderAdapter => aiSdk({ model, ...options });
const key = "key-12345678";
const wires: Readonly<Record<"anthropic" | "responses" | "chat" | "litellm", Wire>> = {
  anthropic: {
    name: "anthropic",
    adapter: (baseURL, options) => of(createAnthropic({ baseURL, apiKey: key })("claude-sonnet-4-5"), options),
    answers: [captured("anthropic-thinking-tools.json"), captured("anthropic-text.json")],
  },
  responses: {
    name: "responses",
    adapter: (baseURL, options) =>
      of(createOpenAI({ baseURL, apiKey: key }).responses("gpt-5.4"), {
        providerOptions: { openai: { store: false } },
        ...options,
      }),
    answers: [captured("responses-reasoning-tools.json"), captured("responses-text.json")],
  },
  chat: {
    name: "chat",
    adapter: (baseURL, options) => of(createOpenAI({ baseURL, apiKey: key }).chat("gpt-4.1"), options),
    answers: chatAnswers,
  },
  litellm: {
    name: "litellm",
    adapter: (baseURL, options) => litellm({ model: "anthropic/claude-sonnet-4-5", baseURL, apiKey: key, ...options }),
    answers: chatAnswers,
  },
};

async function sent(
  wire: Wire,
  settings: EvaluationSettings | undefined,
  options: object = {},
): Promise<readonly Received["body"][]> {
  await using server = await startServer(...wire.answers);
  await wire.adapter(server.baseURL, options).evaluate(prompt, { settings });
  return server.requests.map(({ body }) => body);
}

async function refusal(wire: Wire, settings: EvaluationSettings): Promise<unknown> {
  await using server = await startServer(...wire.answers);
  const error: unknown = await wire
    .adapter(server.baseURL)
    .evaluate(prompt, { settings })
    .catch((thrown: unknown) => thrown);
  expect(server.requests).toEqual([]);
  return error;
}

async function added(wire: Wire, settings: EvaluationSettings, options: object = {}): Promise<unknown> {
  const [plain] = await sent(wire, undefined, options);
  const [body = {}] = await sent(wire, settings, options);
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(plain?.[name])),
  );
}

describe("SET-1 settings on the ecosystem's wires", () => {
  test("SET-1 the model is asked by the ecosystem's names, and the adapter's own give way", async () => {
    const model = mockModel([{}, {}]);
    const settings: EvaluationSettings = {
      temperature: 0,
      topP: 0.5,
      maxOutputTokens: 9,
      stop: ["END"],
      seed: 7,
      reasoning: { effort: "high" },
    };
    const adapter = aiSdk({ model, temperature: 1, topP: 1, maxOutputTokens: 5, stop: ["X"], seed: 1 });
    await adapter.evaluate("Hello", { settings });
    await adapter.evaluate("Hello");
    expect(model.calls[0]).toMatchObject({
      temperature: 0,
      topP: 0.5,
      maxOutputTokens: 9,
      stopSequences: ["END"],
      seed: 7,
      reasoning: "high",
    });
    expect(model.calls[1]).toMatchObject({ temperature: 1, maxOutputTokens: 5, stopSequences: ["X"], seed: 1 });
    expect(model.calls[1]).not.toHaveProperty("reasoning");
  });

  test("SET-1 anthropic", async () => {
    expect(await added(wires.anthropic, { temperature: 0, maxOutputTokens: 99, stop: ["END"] })).toEqual({
      temperature: 0,
      max_tokens: 99,
      stop_sequences: ["END"],
    });
  });

  test("SET-1 responses", async () => {
    const settings: EvaluationSettings = {
      maxOutputTokens: 99,
      serviceTier: "flex",
      reasoning: { effort: "high", summary: "auto" },
    };
    expect(await added(wires.responses, settings)).toEqual({
      max_output_tokens: 99,
      service_tier: "flex",
      reasoning: { effort: "high", summary: "auto" },
    });
  });

  test("SET-1 chat", async () => {
    const settings: EvaluationSettings = { temperature: 0, stop: ["END"], seed: 7, logprobs: 2 };
    expect(await added(wires.chat, settings)).toEqual({
      temperature: 0,
      stop: ["END"],
      seed: 7,
      logprobs: true,
      top_logprobs: 2,
    });
  });

  test("SET-1 litellm, also over its extraBody", async () => {
    const settings: EvaluationSettings = {
      temperature: 0,
      maxOutputTokens: 800,
      seed: 7,
      reasoning: { effort: "low" },
      serviceTier: "flex",
    };
    const fields = { temperature: 0, max_tokens: 800, seed: 7, reasoning_effort: "low", service_tier: "flex" };
    expect(await added(wires.litellm, settings)).toEqual(fields);
    const extraBody = { temperature: 1, max_tokens: 500, new_field: 1 };
    expect(await added(wires.litellm, settings, { extraBody })).toEqual(fields);
    expect((await sent(wires.litellm, { seed: 1 }, { extraBody }))[0]).toMatchObject({ ...extraBody, seed: 1 });
    expect((await sent(wires.litellm, { seed: 1 }, { extraBody }))[0]).not.toHaveProperty("proviso_set_fields");
  });
});

describe("SET-2 what a provider of the ecosystem does not take", () => {
  test.each([
    [wires.anthropic, { seed: 1 }, "seed"],
    [wires.responses, { stop: ["x"] }, "stop"],
    [wires.litellm, { logprobs: 1 }, "logprobs"],
  ] as const)("SET-2 $0.name refuses $2 before anything is sent", async (wire, settings, name) => {
    const error = await refusal(wire, settings);
    expect(error).toMatchObject({ code: "provider", reason: "bad_request", phase: "request" });
    expect((error as Error).message).toContain(`does not take the setting ${name}.`);
  });

  test("SET-2 RSN-4 a summary is refused where the ecosystem cannot ask for one", async () => {
    const error = await refusal(wires.anthropic, { reasoning: { summary: "auto" } });
    expect((error as Error).message).toContain("cannot keep the setting reasoning");
  });

  test("SET-2 CCH-4 a lifetime that the provider does not know is refused", async () => {
    for (const [wire, ttl] of [
      [wires.anthropic, "12h"],
      [wires.responses, "5m"],
      [wires.chat, "12h"],
      [wires.litellm, "30m"],
    ] as const) {
      const error = await refusal(wire, { cache: { ttl } });
      expect((error as Error).message).toContain("cannot keep the setting cache");
    }
  });

  test("SET-2 google has no marks, and models of older interfaces no word for reasoning", () => {
    const google = aiSdkModel({ model: createGoogle({ apiKey: key })("gemini-2.5-flash") });
    expect(google.capabilities.settings).not.toContain("cache");
    const older = { ...mockModel([]), specificationVersion: "v3" } as unknown as LanguageModel;
    expect(aiSdkModel({ model: older }).capabilities.settings).not.toContain("reasoning");
  });
});

test.each(["v2", "v3"])(
  "SET-1 RSN-4 a compatible model of %s gets the effort of reasoning as its package's option",
  async (version) => {
    const model = mockModel([{}]);
    const older = { ...model, specificationVersion: version, provider: "here.chat", supportsStructuredOutputs: true };
    const adapter = aiSdk({ model: older as unknown as LanguageModel });
    await adapter.evaluate("Hello", { settings: { reasoning: { effort: "low" } } });
    expect(model.calls[0]?.providerOptions).toEqual({ here: { reasoningEffort: "low" } });
  },
);

test("SET-4 options under aiSdk go to the model under its own name, over the adapter's, and other keys are passed over", async () => {
  const model = mockModel([{}]);
  const adapter = aiSdk({ model, providerOptions: { mock: { fast: true, deep: 1 }, other: { x: 1 } } });
  const providerOptions = { aiSdk: { mock: { fast: false } }, another: { y: 1 } };
  await adapter.evaluate("Hello", { settings: { providerOptions } as EvaluationSettings });
  expect(model.calls[0]?.providerOptions).toEqual({ mock: { fast: false, deep: 1 }, other: { x: 1 } });
});

describe("SET-5 what served", () => {
  test.each(["chat", "litellm"] as const)("SET-5 CCH-5 tier, model and written tokens over %s", async (name) => {
    await using server = await startServer(...chatAnswers);
    const { model, serviceTier, usage } = await wires[name].adapter(server.baseURL).evaluate(prompt);
    expect({ model, serviceTier }).toEqual({ model: "m-2026", serviceTier: "flex" });
    expect(usage).toMatchObject({ inputTokens: 200, cachedInputTokens: 120, cacheWriteTokens: 60 });
  });

  test("SET-5 log probabilities over chat", async () => {
    const tokens = [
      { token: "Hi", logprob: -0.5, bytes: null, top_logprobs: [{ token: "Yo", logprob: -2, bytes: null }] },
    ];
    const message = { role: "assistant", content: "Hi" };
    const choices = [{ index: 0, message, logprobs: { content: tokens }, finish_reason: "stop" }];
    await using server = await startServer(answering(200, completion({}, { choices })));
    const { logprobs } = await wires.chat.adapter(server.baseURL).evaluate("Hi", { settings: { logprobs: 1 } });
    expect(logprobs).toEqual([{ token: "Hi", logprob: -0.5, top: [{ token: "Yo", logprob: -2 }] }]);
  });
});

test.each(["chat", "litellm"] as const)("SET-5 the tier of a stream over %s", async (name) => {
  const chunk = (choices: readonly object[], more: object = {}): string =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m-2026", service_tier: "flex", choices, ...more })}\n\n`;
  const stream = [
    chunk([{ index: 0, delta: { role: "assistant", content: "Hi" } }]),
    chunk([{ index: 0, delta: {}, finish_reason: "stop" }]),
    chunk([], { usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 } }),
    "data: [DONE]\n\n",
  ].join("");
  await using server = await startServer(answering(200, stream, { "content-type": "text/event-stream" }));
  const { model, serviceTier } = await wires[name].adapter(server.baseURL).stream("Hi").response;
  expect({ model, serviceTier }).toEqual({ model: "m-2026", serviceTier: "flex" });
});

describe("CCH marks on the ecosystem's wires", () => {
  test.each(Object.values(wires))("CCH-1 without cache a cached section changes no byte: $name", async (wire) => {
    const plain = definePrompt({
      key: "looking",
      sections: [
        { key: "rules", text: "Be brief.", tools: [lookUp] },
        { key: "more", text: "Be kind." },
        { key: "task", role: "user", text: "Question." },
      ],
    }).bind();
    const bodies = async (asked: typeof prompt): Promise<readonly string[]> => {
      await using server = await startServer(...wire.answers);
      await wire.adapter(server.baseURL).evaluate(asked);
      return server.requests.map(({ body }) => JSON.stringify(body));
    };
    expect(await bodies(prompt)).toEqual(await bodies(plain));
  });

  test.each(Object.values(wires))("CCH-2 CCH-3 marks stand behind the stretches: $name", async (wire) => {
    const bodies = await sent(wire, { cache: "auto" });
    expect(bodies.map(markedIn)).toEqual([
      ["Be brief.", "\n\nBe kind.", "Question."],
      ["Be brief.", "\n\nBe kind.", expect.stringMatching(/^found \w$/)],
    ]);
  });

  test("CCH-4 the key of OpenAI's cache is the prompt's name, and lifetimes are sent", async () => {
    for (const wire of [wires.responses, wires.chat]) {
      const [body] = await sent(wire, { cache: { ttl: "30m", breakpoints: false } });
      expect(body).toMatchObject({ prompt_cache_key: "app/looking", prompt_cache_options: { ttl: "30m" } });
      expect(markedIn(body ?? {})).toEqual([]);
    }
    const [body] = await sent(wires.anthropic, { cache: { ttl: "1h" } });
    expect(JSON.stringify(body)).toContain('"cache_control":{"type":"ephemeral","ttl":"1h"}');
  });
});

/** The texts of whatever carries a mark, in the order of the body. */
function markedIn(value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(markedIn);
  const given = value as Readonly<Record<string, unknown>>;
  const isMarked = "cache_control" in given || "prompt_cache_breakpoint" in given;
  if (isMarked) return [given["text"] ?? given["content"]];
  return ["system", "messages", "input", "content", "output"].flatMap((name) => markedIn(given[name]));
}

test("EVL-25 the hash of the settings is another for what decides the answers, and the same for another key", () => {
  const hash = (more: Partial<Parameters<typeof aiSdkModel>[0]> = {}): string | undefined =>
    aiSdkModel({ model: mockModel([]), ...more }).settingsHash;
  expect(hash()).toMatch(/^[0-9a-f]{64}$/);
  expect(hash({ headers: { authorization: "Bearer sk-second-key" }, timeoutMs: 1_000 })).toBe(hash());
  const others: readonly Partial<Parameters<typeof aiSdkModel>[0]>[] = [
    { temperature: 0 },
    { seed: 1 },
    { providerOptions: { openai: { store: false } } },
    { nativeOutput: false },
    { capabilities: { tools: false } },
  ];
  expect(new Set([hash(), ...others.map(hash)]).size).toBe(others.length + 1);

  const proxied = (more: Partial<Parameters<typeof litellm>[0]>): string | undefined =>
    internalsOf(litellm({ model: "m", apiKey: "sk-first-key", baseURL: "http://one.test", ...more }))?.facts
      .settingsHash;
  expect(proxied({ apiKey: "sk-second-key" })).toBe(proxied({}));
  expect(proxied({ baseURL: "http://two.test" })).not.toBe(proxied({}));
  expect(proxied({ extraBody: { top_k: 1 } })).not.toBe(proxied({}));
});
