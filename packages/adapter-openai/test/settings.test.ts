import { openai, openaiModel, type OpenAIOptions } from "@proviso/adapter-openai";
import { definePrompt, defineTool, toolOk, type EvaluationSettings } from "@proviso/core";
import { answering, startServer } from "@proviso/fault-matrix/loopback-server";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startSimulator } from "@proviso/simulator";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { fixture, type Body } from "./support/fixture.ts";

const apis = ["responses", "chat"] as const;
type Api = (typeof apis)[number];

const ask = definePrompt({
  key: "ask",
  sections: [
    { key: "rules", text: "Be brief." },
    { key: "task", role: "user", text: "Question." },
  ],
}).bind();

async function sent(
  api: Api,
  settings: EvaluationSettings | undefined,
  options: Partial<OpenAIOptions> = {},
): Promise<Readonly<Record<string, unknown>>> {
  await using server = await startServer(answering(200, fixture(`${api}-text`)));
  const adapter = openai({ model: "m", apiKey: "k", api, baseURL: server.baseURL, ...options });
  await adapter.evaluate(ask, { settings });
  expect(server.requests).toHaveLength(1);
  return server.requests[0]?.body ?? {};
}

/** The fields that the settings added or changed. */
async function added(
  api: Api,
  settings: EvaluationSettings,
  options: Partial<OpenAIOptions> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const [plain, body] = [await sent(api, undefined, options), await sent(api, settings, options)];
  return Object.fromEntries(
    Object.entries(body).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(plain[key])),
  );
}

const limits = { responses: "max_output_tokens", chat: "max_tokens" } as const;

describe.each(apis)("over %s", (api) => {
  test("SET-1 only what is set is sent, under the names of the API", async () => {
    const settings: EvaluationSettings = { temperature: 0, topP: 0.5, maxOutputTokens: 99, serviceTier: "flex" };
    expect(await added(api, settings)).toEqual({
      temperature: 0,
      top_p: 0.5,
      [limits[api]]: 99,
      service_tier: "flex",
    });
  });

  test("SET-1 a setting wins over the adapter's option, and over its extraBody", async () => {
    const field = limits[api];
    const options = { temperature: 1, maxOutputTokens: 5_000, extraBody: { top_p: 0.9, [field]: 4_000 } };
    expect(await added(api, { temperature: 0, topP: 0.1, maxOutputTokens: 8_000 }, options)).toEqual({
      temperature: 0,
      top_p: 0.1,
      [field]: 8_000,
    });
  });

  test("SET-1 a client that was given receives the same object", async () => {
    const asked: unknown[] = [];
    const create = (body: unknown): unknown => {
      asked.push(JSON.parse(JSON.stringify(body)));
      return Promise.resolve(fixture(`${api}-text`));
    };
    const client = { responses: { create }, chat: { completions: { create } } };
    const settings: EvaluationSettings = { temperature: 0.25, cache: { ttl: "30m" } };
    await openai({ model: "m", api, client }).evaluate(ask, { settings });
    expect(asked).toEqual([await sent(api, settings)]);
  });

  test("SET-3 of the setting and of what a budget has left the smaller is sent", async () => {
    await using server = await startServer(answering(200, fixture(`${api}-text`)));
    const adapter = openai({ model: "m", apiKey: "k", api, baseURL: server.baseURL });
    for (const maxOutputTokens of [50, 500]) {
      await adapter.evaluate(ask, { budget: { maxOutputTokens: 100 }, settings: { maxOutputTokens } });
    }
    expect(server.requests.map(({ body }) => body[limits[api]])).toEqual([50, 100]);
  });

  test("SET-4 providerOptions.openai go into the body, extraBody last, and other keys are passed over", async () => {
    const settings = {
      temperature: 1,
      providerOptions: {
        openai: {
          store: false,
          metadata: { run: "7" },
          safetyIdentifier: "u1",
          verbosity: "low",
          extraBody: { temperature: 0.125, new_field: 1 },
        },
        another: { x: 1 },
      },
    } as EvaluationSettings;
    expect(await added(api, settings)).toEqual({
      store: false,
      metadata: { run: "7" },
      safety_identifier: "u1",
      ...(api === "chat"
        ? { verbosity: "low" }
        : { text: { verbosity: "low" }, include: ["reasoning.encrypted_content"] }),
      temperature: 0.125,
      new_field: 1,
    });
  });

  test("SET-4 verbosity stands beside the schema of an output", async () => {
    await using server = await startServer(answering(200, fixture(`${api}-text`)));
    const adapter = openai({ model: "m", apiKey: "k", api, baseURL: server.baseURL });
    const typed = definePrompt({
      key: "typed",
      text: "Q",
      output: z.object({ word: z.string(), note: z.string().nullable() }),
    });
    await adapter.evaluate(typed.bind());
    await adapter.evaluate(typed.bind(), { settings: { providerOptions: { openai: { verbosity: "high" } } } });
    const [plain, set] = server.requests.map(({ body }) => body);
    const field = api === "chat" ? {} : { text: { ...(plain?.["text"] as object), verbosity: "high" } };
    expect(set).toEqual({ ...plain, ...(api === "chat" ? { verbosity: "high" } : field) });
  });

  test("SET-4 SET-2 an unknown field under the adapter's key is refused", async () => {
    const settings = { providerOptions: { openai: { verbose: true } } } as EvaluationSettings;
    await expect(sent(api, settings)).rejects.toMatchObject({
      reason: "bad_request",
      message: expect.stringContaining("no option verbose"),
    });
  });

  test.each([false, true])("SET-5 tier, model and log probabilities come back, streamed: %s", async (streams) => {
    const tokens = [
      { token: "Hel", logprob: -0.5, bytes: [72], top_logprobs: [{ token: "Yel", logprob: -3, bytes: null }] },
      { token: "lo", logprob: -0.25, bytes: [108], top_logprobs: [] },
    ];
    const body = { ...answerWith(api, tokens), service_tier: "flex" };
    await using server = await startServer(streams ? streaming(api, body, tokens) : answering(200, body));
    const adapter = openai({ model: "m", apiKey: "k", api, baseURL: server.baseURL });
    const options = { settings: { logprobs: 1 } };
    const response = streams ? await adapter.stream(ask, options).response : await adapter.evaluate(ask, options);
    expect(response).toMatchObject({
      model: "gpt-test-2026-10-01",
      serviceTier: "flex",
      logprobs: [
        { token: "Hel", logprob: -0.5, top: [{ token: "Yel", logprob: -3 }] },
        { token: "lo", logprob: -0.25, top: [] },
      ],
    });
    expect(server.requests[0]?.body).toMatchObject({
      top_logprobs: 1,
      ...(api === "chat" ? { logprobs: true } : { include: ["message.output_text.logprobs"] }),
    });
  });

  test("CCH-1 without cache the bytes on the wire are those that were recorded before there were caches", async () => {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      let text = "";
      request.setEncoding("utf8");
      request.on("data", (chunk: string) => (text += chunk));
      request.on("end", () => {
        bodies.push(text);
        const isFirst = bodies.length % 2 === 1;
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(fixture(`${api}-${isFirst ? "tool-calls" : "text"}`)));
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const { port } = server.address() as AddressInfo;
    const adapter = openai({ model: "m", apiKey: "k", api, baseURL: `http://127.0.0.1:${port}/v1`, temperature: 0.5 });
    await adapter.evaluate(looking(false).bind());
    await adapter.evaluate(looking(true).bind());
    await adapter.evaluate(looking(true).bind(), { settings: { temperature: 0.5 } });
    server.close();
    server.closeAllConnections();
    expect(bodies.slice(0, 2)).toEqual(recorded[api]);
    expect(bodies.slice(2, 4)).toEqual(recorded[api]);
    expect(bodies.slice(4).map((body) => JSON.parse(body))).toEqual(recorded[api].map((body) => JSON.parse(body)));
  });

  test("CCH-2 auto marks the end of the system text and of the last message", async () => {
    const marks: unknown[] = [];
    await using server = await startServer(
      answering(200, fixture(`${api}-tool-calls`)),
      answering(200, fixture(`${api}-text`)),
    );
    const adapter = openai({ model: "m", apiKey: "k", api, baseURL: server.baseURL });
    await adapter.evaluate(looking(false).bind(), { settings: { cache: "auto" } });
    for (const { body } of server.requests) marks.push(markedIn(body));
    expect(marks).toEqual([
      ["Be brief.\n\nBe kind.", "Question."],
      ["Be brief.\n\nBe kind.", "found b"],
    ]);
    expect(server.requests[0]?.body).not.toHaveProperty("prompt_cache_options");
  });

  test("CCH-2 CCH-3 cached sections split their texts, and four marks are the most", async () => {
    const keys = ["a", "b", "c", "d", "e"];
    const many = definePrompt({
      key: "many",
      sections: [
        ...keys.map((key) => ({ key, text: `Section ${key}.`, cached: true })),
        { key: "last", text: "The end." },
        { key: "task", role: "user" as const, text: "Question." },
      ],
    });
    await using server = await startServer(answering(200, fixture(`${api}-text`)));
    const adapter = openai({ model: "m", apiKey: "k", api, baseURL: server.baseURL });
    await adapter.evaluate(many.bind());
    await adapter.evaluate(many.bind(), { settings: { cache: "auto" } });
    const [plain, marked] = server.requests.map(({ body }) => body);
    expect(markedIn(marked)).toEqual([
      "Section a.\n\nSection b.\n\nSection c.\n\nSection d.",
      "\n\nSection e.",
      "\n\nThe end.",
      "Question.",
    ]);
    expect(textsIn(marked)).toEqual(textsIn(plain));
    expect(marked).toMatchObject({ prompt_cache_options: { mode: "explicit" } });
  });

  test("CCH-4 the key is the prompt's name unless one is given, with the lifetime", async () => {
    expect(await sent(api, { cache: { breakpoints: false } })).toEqual({
      ...(await sent(api, undefined)),
      prompt_cache_key: "app/ask",
    });
    const ttl = api === "chat" ? "30m" : "12h";
    expect(await sent(api, { cache: { key: "mine", ttl, breakpoints: false } })).toMatchObject({
      prompt_cache_key: "mine",
      prompt_cache_options: { ttl },
    });
  });

  test.each(api === "chat" ? (["5m", "1h", "12h"] as const) : (["5m", "1h"] as const))(
    "CCH-4 SET-2 the lifetime %s is refused before anything is sent",
    async (ttl) => {
      await using server = await startServer(answering(200, fixture(`${api}-text`)));
      const adapter = openai({ model: "m", apiKey: "k", api, baseURL: server.baseURL });
      await expect(adapter.evaluate(ask, { settings: { cache: { ttl } } })).rejects.toMatchObject({
        code: "provider",
        reason: "bad_request",
        message: `openai cannot keep the setting cache: The lifetime of its cache is one of ${api === "chat" ? "30m" : "30m, 12h"}, not ${ttl}.`,
      });
      expect(server.requests).toEqual([]);
    },
  );

  test.each([false, true])("CCH-5 cached and written tokens are reported, streamed: %s", async (streams) => {
    const details = { cached_tokens: 60, cache_write_tokens: 30 };
    const usage =
      api === "chat"
        ? { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105, prompt_tokens_details: details }
        : { input_tokens: 100, output_tokens: 5, total_tokens: 105, input_tokens_details: details };
    const body = { ...answerWith(api, []), usage };
    await using server = await startServer(streams ? streaming(api, body, []) : answering(200, body));
    const pricing = { input: 10, output: 0, cachedInput: 1, cacheWrite: 12.5 };
    const adapter = openai({ model: "m", apiKey: "k", api, baseURL: server.baseURL, pricing });
    const response = streams ? await adapter.stream(ask).response : await adapter.evaluate(ask);
    expect(response.usage).toMatchObject({ inputTokens: 100, cachedInputTokens: 60, cacheWriteTokens: 30 });
    expect(response.usage.costUsd).toBeCloseTo((10 * 10 + 60 * 1 + 30 * 12.5) / 1e6, 12);
  });
});

test("SET-1 Responses: reasoning, log probabilities and calls of the provider's tools", async () => {
  const reasoning = { effort: "high", summary: "auto" } as const;
  expect(await added("responses", { reasoning, logprobs: 0 })).toEqual({
    reasoning,
    top_logprobs: 0,
    include: ["message.output_text.logprobs"],
  });
  expect(await added("responses", { reasoning: { summary: "none" } })).toEqual({});
  expect(await added("responses", { reasoning: { summary: "concise" } }, { reasoningEffort: "low" })).toEqual({
    reasoning: { effort: "low", summary: "concise" },
  });
  expect(await added("responses", { providerOptions: { openai: { maxToolCalls: 3 } } })).toEqual({ max_tool_calls: 3 });
});

test("SET-1 Chat Completions: stop, seed, effort and log probabilities", async () => {
  const settings: EvaluationSettings = { stop: ["END"], seed: 7, reasoning: { effort: "low" }, logprobs: 2 };
  expect(await added("chat", settings)).toEqual({
    stop: ["END"],
    seed: 7,
    reasoning_effort: "low",
    logprobs: true,
    top_logprobs: 2,
  });
  const options = { extraBody: { max_tokens: 5_000 } };
  expect(await added("chat", { maxOutputTokens: 9 }, options)).toEqual({ max_tokens: 9 });
});

test("SET-2 what an API does not take is refused before anything is sent", async () => {
  const refused = async (api: Api, settings: EvaluationSettings): Promise<string> => {
    const error: unknown = await sent(api, settings).catch((thrown: unknown) => thrown);
    return (error as Error).message;
  };
  expect(await refused("responses", { seed: 1 })).toMatch(
    /^openai does not take the setting seed\. It takes temperature/,
  );
  expect(await refused("responses", { stop: ["x"] })).toContain("openai does not take the setting stop.");
  expect(await refused("chat", { reasoning: { summary: "auto" } })).toContain("Chat Completions gives no summary");
  expect(await refused("chat", { providerOptions: { openai: { maxToolCalls: 1 } } })).toContain("no maxToolCalls");
  expect(openaiModel({ model: "m", apiKey: "k", api: "chat" }).capabilities.settings).toContain("seed");
});

test.each(apis)("CCH-3 the simulator reads the texts of a marked request as those of a plain one: %s", async (api) => {
  await using simulator = await startSimulator({
    rules: [({ system, messages }) => ({ text: JSON.stringify([system, messages.map(({ text }) => text)]) })],
  });
  const adapter = openai({ model: "m", apiKey: "k", api, baseURL: simulator.baseURL });
  const plain = await adapter.evaluate(looking(true).bind());
  const marked = await adapter.evaluate(looking(true).bind(), { settings: { cache: "auto" } });
  expect(plain.output).toContain("Be brief.");
  expect(marked.output).toBe(plain.output);
});

function looking(cached: boolean) {
  const lookUp = defineTool({
    name: "look_up",
    description: "Looks a word up.",
    input: z.object({ word: z.string() }),
    execute: ({ word }) => toolOk(`found ${word}`),
  });
  return definePrompt({
    key: "looking",
    sections: [
      { key: "rules", text: "Be brief.", cached, tools: [lookUp] },
      { key: "more", text: "Be kind." },
      { key: "task", role: "user", text: "Question.", cached },
    ],
  });
}

type Part = { readonly text?: string; readonly prompt_cache_breakpoint?: unknown };

function contentsOf(body: Body | undefined): readonly (string | readonly Part[])[] {
  const items = (body?.["input"] ?? body?.["messages"]) as readonly Body[];
  return items.flatMap(({ content, output }) => {
    const given = (content ?? output) as string | readonly Part[] | undefined;
    return given === undefined || given === null ? [] : [given];
  });
}

function markedIn(body: Body | undefined): readonly (string | undefined)[] {
  return contentsOf(body).flatMap((content) =>
    typeof content === "string"
      ? []
      : content.filter((part) => part.prompt_cache_breakpoint !== undefined).map(({ text }) => text),
  );
}

function textsIn(body: Body | undefined): readonly string[] {
  return contentsOf(body).map((content) =>
    typeof content === "string" ? content : content.map(({ text }) => text).join(""),
  );
}

function answerWith(api: Api, tokens: readonly object[]): Body {
  const body = fixture(`${api}-text`);
  const text = "Hello";
  if (api === "responses") {
    const content = [{ type: "output_text", text, annotations: [], logprobs: tokens }];
    body["output"] = [{ id: "msg", type: "message", status: "completed", role: "assistant", content }];
  } else {
    const message = { role: "assistant", content: text, refusal: null };
    body["choices"] = [{ index: 0, message, logprobs: { content: tokens }, finish_reason: "stop" }];
  }
  return body;
}

function streaming(api: Api, body: Body, tokens: readonly object[]): ReturnType<typeof answering> {
  const { usage, choices: _, ...base } = body;
  const chunk = (choices: readonly object[], more: object = {}): object => ({
    ...base,
    object: "chat.completion.chunk",
    choices,
    ...more,
  });
  const events =
    api === "responses"
      ? [
          { type: "response.output_text.delta", sequence_number: 1, delta: "Hello" },
          { type: "response.completed", sequence_number: 2, response: body },
        ]
      : [
          chunk([{ index: 0, delta: { content: "Hel" }, logprobs: { content: tokens.slice(0, 1) } }]),
          chunk([{ index: 0, delta: { content: "lo" }, logprobs: { content: tokens.slice(1) } }]),
          chunk([{ index: 0, delta: {}, finish_reason: "stop" }]),
          chunk([], { usage }),
        ];
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  return answering(200, `${text}data: [DONE]\n\n`, { "content-type": "text/event-stream" });
}

/** The bodies that were recorded from the commit before there were settings. */
const recorded = fixture("recorded-requests") as Record<Api, readonly string[]>;

test("EVL-25 the hash of the settings is another for what decides the answers, and the same for another key", () => {
  const hash = (more: Partial<OpenAIOptions> = {}): string | undefined =>
    openaiModel({ model: "m", apiKey: "sk-first-key", baseURL: "http://one.test/v1", ...more }).settingsHash;
  expect(hash()).toMatch(/^[0-9a-f]{64}$/);
  expect(hash({ apiKey: "sk-second-key" })).toBe(hash());
  expect(hash({ headers: { authorization: "Bearer sk-second-key" }, timeoutMs: 1_000 })).toBe(hash());
  expect(hash({ baseURL: "http://one.test/v1?key=sk-second-key" })).toBe(hash());
  const [first, second] = ["sk-first-key", "sk-second-key"].map((apiKey) => hash({ apiKey, extraBody: { apiKey } }));
  expect(second).toBe(first);
  const others: readonly Partial<OpenAIOptions>[] = [
    { baseURL: "http://two.test/v1" },
    { api: "responses" },
    { temperature: 0 },
    { topP: 0.5 },
    { maxOutputTokens: 100 },
    { reasoningEffort: "low" },
    { parallelToolCalls: false },
    { store: false },
    { nativeOutput: false },
    { extraBody: { verbosity: "low" } },
    { seed: 1 },
    { stop: ["END"] },
    { presencePenalty: 1 },
    { frequencyPenalty: 1 },
  ];
  const hashes = others.map(hash);
  expect(new Set([hash(), ...hashes]).size).toBe(others.length + 1);
});
