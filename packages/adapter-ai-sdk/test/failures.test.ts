import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  APICallError,
  InvalidPromptError,
  LoadAPIKeyError,
  NoContentGeneratedError,
  NoSuchModelError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { aiSdk, aiSdkModel, type AiSdkOptions, type LanguageModel } from "@proviso/adapter-ai-sdk";
import type { ModelFailure, ModelProvider } from "@proviso/core";
import { answerOf, failureOf, requestOf } from "@proviso/fault-matrix/requests";
import { answering, startServer, type LoopbackServer, type Respond } from "@proviso/fault-matrix/loopback-server";
import { createSession } from "@proviso/runtime";
import { RetryError } from "ai";
import { describe, expect, test } from "vitest";
import { mockModel } from "./support/mock-model.ts";
import { captured } from "./support/captured.ts";

type Make = (connection: { readonly baseURL: string; readonly apiKey: string }) => LanguageModel;
const wires = {
  responses: (given) => createOpenAI(given).responses("gpt-test"),
  chat: (given) => createOpenAI(given).chat("gpt-test"),
  compatible: (given) => createOpenAICompatible({ name: "here", ...given })("m"),
  anthropic: (given) => createAnthropic(given)("claude-sonnet-4-5"),
  gemini: (given) => createGoogle(given)("gemini-2.5-flash"),
} satisfies Record<string, Make>;
const makes: readonly Make[] = Object.values(wires);

function modelAt(
  { baseURL }: Pick<LoopbackServer, "baseURL">,
  make: Make = wires.responses,
  given: Partial<AiSdkOptions> = {},
): ModelProvider {
  return aiSdkModel({ model: make({ baseURL, apiKey: "key-12345678" }), ...given });
}

async function failureFor(
  respond: Respond,
  make?: Make,
  given?: Partial<AiSdkOptions>,
): Promise<ModelFailure & { requests: number }> {
  await using service = await startServer(respond);
  const failure = await failureOf(modelAt(service, make, given));
  return { ...failure, requests: service.requests.length };
}

describe("THR-1 AIS-18 a refusal is classified, and asked once", () => {
  test.each([
    [429, "rate_limit_exceeded", { failure: "throttle", kind: "rate_limit" }],
    [429, "insufficient_quota", { failure: "throttle", kind: "quota_exhausted" }],
    [408, null, { failure: "throttle", kind: "timeout" }],
    [409, null, { failure: "throttle", kind: "unknown" }],
    [500, null, { failure: "throttle", kind: "server_error" }],
    [529, "overloaded", { failure: "throttle", kind: "server_error" }],
    [501, null, { failure: "provider", reason: "unknown" }],
    [400, "context_length_exceeded", { failure: "provider", reason: "context_length" }],
    [400, null, { failure: "provider", reason: "bad_request" }],
    [401, "invalid_api_key", { failure: "provider", reason: "api_key" }],
    [404, "model_not_found", { failure: "provider", reason: "not_found" }],
  ])("THR-1 AIS-18 %d with the code %s", async (status, code, expected) => {
    const error = { message: "No.", type: "t", param: null, code };
    for (const make of [wires.responses, wires.chat, wires.compatible]) {
      const failure = await failureFor(answering(status, { error }), make);
      expect(failure).toMatchObject({ ...expected, status, message: "No.", requests: 1 });
      expect(failure.payload).toEqual(error);
    }
  });

  test("THR-1 Anthropic's refusals", async () => {
    const error = { type: "overloaded_error", message: "Overloaded" };
    const overloaded = await failureFor(answering(529, { type: "error", error }), wires.anthropic);
    expect(overloaded).toMatchObject({
      failure: "throttle",
      kind: "server_error",
      message: "Overloaded",
      payload: error,
    });
  });

  test("AIS-18 Gemini's refusals: how long to wait, and a key, are in the body", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }];
    const limited = { error: { code: 429, message: "Quota.", status: "RESOURCE_EXHAUSTED", details } };
    expect(await failureFor(answering(429, limited), wires.gemini)).toMatchObject({
      failure: "throttle",
      kind: "rate_limit",
      retryAfterMs: 34_500,
    });
    const info = [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }];
    const refused = { error: { code: 400, message: "Bad key.", status: "INVALID_ARGUMENT", details: info } };
    expect(await failureFor(answering(400, refused), wires.gemini)).toMatchObject({
      failure: "provider",
      reason: "api_key",
    });
  });

  test("THR-1 x-should-retry: false is not asked again", async () => {
    const never = answering(503, { error: { message: "No." } }, { "x-should-retry": "false" });
    expect(await failureFor(never)).toMatchObject({
      failure: "throttle",
      kind: "server_error",
      retry: false,
      requests: 1,
    });
  });

  test("THR-1 HTML from a proxy is classified by its status", async () => {
    const html = answering(502, "<html>Bad Gateway</html>", { "content-type": "text/html" });
    for (const make of makes) {
      expect(await failureFor(html, make)).toMatchObject({ failure: "throttle", kind: "server_error", status: 502 });
    }
  });
});

test.each([
  [{ "retry-after": "3" }, 3_000],
  [{ "retry-after": "0.5" }, 500],
  [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
  [{ date: "Sat, 21 Nov 2026 10:00:00 GMT", "retry-after": "Sat, 21 Nov 2026 10:00:07 GMT" }, 7_000],
  [{ "retry-after": "-1" }, undefined],
  [{ "retry-after": "soon" }, undefined],
])("THR-3 Retry-After reaches the failure: %o", async (headers, retryAfterMs) => {
  const failure = await failureFor(answering(429, { error: { message: "Slow down." } }, headers));
  expect(failure).toMatchObject({ failure: "throttle", kind: "rate_limit" });
  expect("retryAfterMs" in failure ? failure.retryAfterMs : undefined).toBe(retryAfterMs);
});

describe("THR-1 AIS-18 a connection or a body that breaks", () => {
  const headed: Respond = (response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "500" });
    response.write('{"id":"resp_01","ou');
  };

  test("THR-1 PRO-8 a server that cannot be reached is the network's, and the message has its address", async () => {
    const service = await startServer(() => {});
    await service[Symbol.asyncDispose]();
    for (const make of makes) {
      const failure = await failureOf(modelAt(service, make));
      expect(failure).toMatchObject({ failure: "throttle", kind: "network" });
      expect(failure.message).toContain(`The server at ${service.baseURL}`);
    }
  });

  test("PRO-8 a port that fetch does not connect to is the network's", async () => {
    const baseURL = "http://127.0.0.1:10080/v1";
    for (const make of makes) {
      const failure = await failureOf(modelAt({ baseURL }, make));
      expect(failure).toMatchObject({ failure: "throttle", kind: "network" });
      expect(failure.message).toMatch(
        /^The server at http:\/\/127\.0\.0\.1:10080\/.* could not be reached: bad port: /,
      );
    }
  });

  test.each(["http://user:hunter22@127.0.0.1:4999/v1?token=tok99", "http://user:pass word@[/v1?token=tok99"])(
    "PRO-8 SEC-5 credentials in the address of a model that is given ready are shown nowhere: %s",
    async (baseURL) => {
      for (const make of makes) {
        const shown: unknown[] = [];
        const log = (...given: unknown[]): void => void shown.push(given);
        const session = createSession();
        session.on("*", (event) => shown.push(event));
        const adapter = aiSdk({
          model: make({ baseURL, apiKey: "key-12345678" }),
          logger: { debug: log, info: log, warn: log, error: log },
          throttle: { maxAttempts: 1 },
        });
        const error: unknown = await adapter.evaluate("Hi.", { session }).catch((thrown: unknown) => thrown);
        expect(String(error)).not.toMatch(/hunter22|pass word|pass%20word|tok99/);
        expect(inspect(error, { depth: null })).not.toMatch(/hunter22/);
        expect(inspect(shown, { depth: null })).not.toMatch(/hunter22|pass word|pass%20word|tok99/);
      }
    },
  );

  test("PRO-8 SEC-5 a key in the address of a model that is given ready is in no failure", async () => {
    const query = "?api_key=sk-of-the-address-01&region=north";
    for (const make of makes) {
      await using service = await startServer(answering(404, { error: { message: `Cannot POST /v1${query}` } }));
      const failure = await failureOf(modelAt({ baseURL: `${service.baseURL}${query}` }, make));
      expect(inspect(failure, { depth: null, showHidden: true })).not.toMatch(/sk-of-the-address|north/);
    }
  });

  test("PRO-8 the failure of a service that does not know the address shows the whole address", async () => {
    for (const make of [wires.responses, wires.chat, wires.compatible]) {
      await using service = await startServer(answering(404, { error: { message: "Invalid URL" } }));
      const baseURL = service.baseURL.replace("/v1", "");
      const failure = await failureOf(modelAt({ ...service, baseURL }, make));
      expect(failure.message).toContain(`Invalid URL (The request went to ${baseURL}/`);
    }
  });

  test("THR-1 a connection reset before the headers", async () => {
    for (const make of makes) {
      const failure = await failureFor((response) => response.socket?.destroy(), make);
      expect(failure).toMatchObject({ failure: "throttle", kind: "unknown", requests: 1 });
    }
  });

  test("THR-1 a connection cut inside the body", async () => {
    const cut: Respond = (response) => {
      headed(response);
      setImmediate(() => response.destroy());
    };
    for (const make of makes) {
      expect(await failureFor(cut, make)).toMatchObject({ failure: "throttle", kind: "unknown", requests: 1 });
    }
  });

  test.each(["", '{"id":"resp_01","ou', '{"a":[1', '{"a":"\\"'])(
    "THR-1 a body that ends inside its JSON: %s",
    async (body) => {
      for (const make of makes) {
        const failure = await failureFor(answering(200, body), make);
        expect(failure).toMatchObject({ failure: "throttle", kind: "unknown", payload: body });
      }
    },
  );

  test("AIS-16 headers that do not come, and a body that stalls", async () => {
    expect(await failureFor(() => {}, wires.chat, { timeoutMs: 50 })).toMatchObject({
      failure: "throttle",
      kind: "timeout",
    });
    expect(await failureFor(headed, wires.chat, { timeoutMs: 50 })).toMatchObject({
      failure: "throttle",
      kind: "timeout",
    });
  });

  test("AIS-16 a model that does not look at its signal", async () => {
    const model = { ...mockModel([]), doGenerate: () => new Promise<never>(() => {}) };
    expect(await failureOf(aiSdkModel({ model, timeoutMs: 20 }))).toMatchObject({
      failure: "throttle",
      kind: "timeout",
    });
  });
});

describe("THR-1 a payload that is wrong is not asked again", () => {
  test.each(["<html>Hello</html>", "{]", '"text"', "null"])("THR-1 status 200 with %s", async (body) => {
    for (const make of makes) {
      const failure = await failureFor(answering(200, body), make);
      expect(failure).toMatchObject({ failure: "provider", reason: "invalid_response", requests: 1 });
    }
  });

  test.each([
    ["server_error", { failure: "throttle", kind: "server_error" }],
    ["rate_limit_exceeded", { failure: "throttle", kind: "rate_limit" }],
    ["invalid_prompt", { failure: "provider", reason: "bad_request" }],
    ["who_knows", { failure: "provider", reason: "unknown" }],
  ])("LOOP-5 AIS-18 a response that failed with %s, whatever status its SDK gives it", async (code, expected) => {
    const body = {
      id: "resp_1",
      object: "response",
      created_at: 1,
      model: "m",
      status: "failed",
      output: [],
      error: { code, message: "No." },
    };
    expect(await failureFor(answering(200, body))).toMatchObject({ ...expected, message: "No." });
  });
});

describe("AIS-23 an answer that its SDK refuses over a detail", () => {
  const message = (text: string) => ({
    id: "msg_1",
    type: "message",
    content: [{ type: "output_text", text, annotations: [] }],
  });
  const called = { id: "fc_1", type: "function_call", name: "look_up", arguments: null };
  const response = { id: "resp_1", object: "response", created_at: 1, model: "m", status: "completed" };
  const usage = { input_tokens: "3", output_tokens: 2, input_tokens_details: { cached_tokens: 1 } };
  const reasoning = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAA" };

  test("AIS-23 LIM-6 a usage in text is handed on, and the answer stands", async () => {
    const body = { ...response, output: [message("Hello.")], usage };
    await using service = await startServer(answering(200, body, { "x-litellm-response-cost": "0.5" }));
    expect(answerOf(await modelAt(service).generate(requestOf()))).toMatchObject({
      message: { text: "Hello." },
      finishReason: "stop",
      model: "m",
      usage: { inputTokens: "3", outputTokens: 2, cachedInputTokens: 1, costUsd: 0.5 },
      payload: body,
    });
  });

  test("AIS-23 PRO-3 an item that is not known is passed over, a call without id or arguments is a call", async () => {
    const body = { ...response, output: [reasoning, { type: "hologram" }, message("I look."), called] };
    await using service = await startServer(answering(200, body));
    const answer = answerOf(await modelAt(service).generate(requestOf()));
    expect(answer.message).toMatchObject({
      text: "I look.",
      toolCalls: [{ id: "", name: "look_up", arguments: "" }],
      providerItems: { parts: [{ type: "reasoning" }, { type: "text" }, { type: "tool-call" }] },
    });
  });

  test("AIS-23 a refusal and a cut answer are what they are", async () => {
    const refusal = { ...message(""), content: [{ type: "refusal", refusal: "I cannot." }] };
    const refusing = { ...response, output: [refusal], usage };
    const cut = {
      ...response,
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [message("He")],
      usage,
    };
    await using service = await startServer(answering(200, refusing), answering(200, cut));
    const model = modelAt(service);
    expect(answerOf(await model.generate(requestOf())).refusal).toBe("I cannot.");
    expect(answerOf(await model.generate(requestOf())).finishReason).toBe("length");
  });

  test("AIS-23 Chat Completions: text in parts, calls, refusals", async () => {
    const choices = (given: object, reason = "stop") => ({
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", ...given }, finish_reason: reason }],
      usage: { prompt_tokens: "3" },
    });
    const calls = [{ id: "call_1", type: "function", function: { name: "look_up", arguments: null } }];
    await using service = await startServer(
      answering(
        200,
        choices({
          content: [
            { type: "text", text: "Hel" },
            { type: "text", text: "lo." },
          ],
        }),
      ),
      answering(200, choices({ content: null, tool_calls: calls }, "tool_calls")),
      answering(200, choices({ content: null, refusal: "I cannot." })),
    );
    const model = modelAt(service, wires.chat);
    expect(answerOf(await model.generate(requestOf())).message.text).toBe("Hello.");
    expect(answerOf(await model.generate(requestOf())).message.toolCalls).toEqual([
      { id: "call_1", name: "look_up", arguments: "" },
    ]);
    expect(answerOf(await model.generate(requestOf())).refusal).toBe("I cannot.");
  });
});

describe("ERR-1 AIS-18 whatever a model throws is returned as data", () => {
  const refused = new APICallError({
    message: "Slow down.",
    url: "",
    requestBodyValues: {},
    statusCode: 429,
    responseHeaders: { "retry-after": "2" },
    responseBody: '{"error":{"message":"Slow down."}}',
  });
  const gateway = Object.assign(new Error("No more."), {
    name: "GatewayRateLimitError",
    statusCode: 429,
    cause: refused,
  });
  test.each([
    [
      new RetryError({
        message: "Failed after 3 attempts.",
        reason: "maxRetriesExceeded",
        errors: [new Error("x"), refused],
      }),
      { failure: "throttle", kind: "rate_limit", retryAfterMs: 2_000 },
    ],
    [gateway, { failure: "throttle", kind: "rate_limit", retryAfterMs: 2_000 }],
    [new LoadAPIKeyError({ message: "OpenAI API key is missing." }), { failure: "provider", reason: "api_key" }],
    [new NoSuchModelError({ modelId: "m", modelType: "languageModel" }), { failure: "provider", reason: "not_found" }],
    [new UnsupportedFunctionalityError({ functionality: "tools" }), { failure: "provider", reason: "bad_request" }],
    [new InvalidPromptError({ prompt: [], message: "No prompt." }), { failure: "provider", reason: "bad_request" }],
    [new NoContentGeneratedError(), { failure: "provider", reason: "invalid_response" }],
    [new DOMException("late", "TimeoutError"), { failure: "throttle", kind: "timeout" }],
    [new TypeError("x is not a function"), { failure: "provider", reason: "unknown", message: "x is not a function" }],
    [
      new TypeError("terminated", { cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }) }),
      { failure: "throttle", kind: "unknown", message: "other side closed" },
    ],
  ])("ERR-1 AIS-18 %s", async (error, expected) => {
    const failure = await failureOf(aiSdkModel({ model: mockModel([error]) }));
    expect(failure).toMatchObject(expected);
    expect(failure.cause).toBe(error);
  });
});

test("LIM-3 an abort is thrown with its own reason, and leaves no listener", async () => {
  await using service = await startServer(() => {});
  const reason = new Error("enough");
  for (const make of makes) {
    const controller = new AbortController();
    const pending = modelAt(service, make).generate(requestOf({ signal: controller.signal }));
    setImmediate(() => controller.abort(reason));
    await expect(pending).rejects.toBe(reason);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    await expect(modelAt(service, make).generate(requestOf({ signal: controller.signal }))).rejects.toBe(reason);
  }
});

test("LIM-3 an answered request leaves no timer and no listener", async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const { signal } = new AbortController();
  const before = timers();
  answerOf(await aiSdkModel({ model: mockModel([{}]) }).generate(requestOf({ signal })));
  expect(timers()).toBe(before);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("AIS-13 an answer over the wire", async () => {
  await using service = await startServer(captured("responses-text.json"));
  const answer = answerOf(await modelAt(service).generate(requestOf()));
  expect(answer).toMatchObject({
    message: { text: "a is a letter.\nSo is b." },
    finishReason: "stop",
    model: "gpt-5.4-2026-10-01",
  });
});
