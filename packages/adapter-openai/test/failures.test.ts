import { getEventListeners } from "node:events";
import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { openaiModel, type OpenAIOptions } from "@proviso/adapter-openai";
import { type ModelFailure, type ModelProvider } from "@proviso/core";
import { answerOf, failureOf, requestOf } from "@proviso/fault-matrix/requests";
import { answering, startServer, type LoopbackServer } from "@proviso/fault-matrix/loopback-server";
import { OpenAI } from "openai";
import { describe, expect, test, vi } from "vitest";
import { fixture } from "./support/fixture.ts";

const apiKey = "sk-test-secret-0123456789";

function modelAt({ baseURL }: Pick<LoopbackServer, "baseURL">, given: Partial<OpenAIOptions> = {}): ModelProvider {
  const reached = given.client === undefined ? { apiKey, baseURL } : {};
  return openaiModel({ model: "gpt-test", api: "responses", ...reached, ...given });
}

async function failureFor(
  respond: (response: ServerResponse) => void,
  given?: Partial<OpenAIOptions>,
): Promise<ModelFailure & { requests: number }> {
  await using server = await startServer(respond);
  const failure = await failureOf(modelAt(server, given));
  return { ...failure, requests: server.requests.length };
}

describe("THR-1 a refusal is classified, and asked once", () => {
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
  ])("THR-1 %d with the code %s", async (status, code, expected) => {
    const error = { message: "No.", type: "t", param: null, code };
    for (const api of ["responses", "chat"] as const) {
      const failure = await failureFor(answering(status, { error }), { api });
      expect(failure).toMatchObject({ ...expected, status, message: "No.", requests: 1 });
      expect(failure.payload).toEqual(error);
    }
  });

  test("THR-1 x-should-retry: false is not asked again, nor true by the SDK", async () => {
    const error = { message: "No." };
    const never = await failureFor(answering(503, { error }, { "x-should-retry": "false" }));
    expect(never).toMatchObject({ failure: "throttle", kind: "server_error", retry: false, requests: 1 });
    const again = await failureFor(answering(503, { error }, { "x-should-retry": "true" }));
    expect(again).toMatchObject({ failure: "throttle", requests: 1 });
    expect(again).not.toHaveProperty("retry");
  });

  test("THR-1 HTML from a proxy is classified by its status", async () => {
    const failure = await failureFor(answering(502, "<html>Bad Gateway</html>", { "content-type": "text/html" }));
    expect(failure).toMatchObject({ failure: "throttle", kind: "server_error", status: 502 });
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

describe("THR-1 a connection or a body that breaks", () => {
  const headed = (response: ServerResponse): void => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "500" });
    response.write('{"id":"resp_01","ou');
  };

  test("THR-1 PRO-8 a server that cannot be reached is the network's, and the message has its address", async () => {
    const server = await startServer(() => {});
    await server[Symbol.asyncDispose]();
    const client = new OpenAI({ apiKey, baseURL: `${server.baseURL}/?key=hidden`, maxRetries: 0 });
    for (const given of [{}, { api: "chat" } as const, { client }, { onDelta: true }]) {
      const { onDelta, ...options } = given as Partial<OpenAIOptions> & { readonly onDelta?: boolean };
      const failure = await failureOf(modelAt(server, options), onDelta ? { onDelta: () => {} } : {});
      expect(failure).toMatchObject({ failure: "throttle", kind: "network" });
      expect(failure.message).toContain(`The server at ${server.baseURL}`);
      expect(failure.message).toMatch(/could not be reached: .*ECONNREFUSED/);
      expect(failure.message).not.toContain("hidden");
    }
  });

  test.each([10_080, 6000, 1])("PRO-8 a port that fetch does not connect to is the network's: %i", async (port) => {
    const baseURL = `http://127.0.0.1:${port}/v1`;
    const client = new OpenAI({ apiKey, baseURL, maxRetries: 0 });
    for (const given of [{}, { api: "chat" } as const, { client }]) {
      expect(await failureOf(modelAt({ baseURL }, given))).toMatchObject({
        failure: "throttle",
        kind: "network",
        message: expect.stringMatching(
          `^The server at ${baseURL}/.* could not be reached: bad port: fetch never connects to it`,
        ),
      });
    }
  });

  test("PRO-8 the failure of a service that does not know the address shows the whole address", async () => {
    await using server = await startServer(
      answering(404, { error: { message: "Invalid URL (POST /chat/completions)" } }),
    );
    const baseURL = server.baseURL.replace("/v1", "");
    const failure = await failureOf(modelAt(server, { baseURL, api: "chat" }));
    expect(failure).toMatchObject({ reason: "not_found" });
    expect(failure.message).toBe(
      `Invalid URL (POST /chat/completions) (The request went to ${baseURL}/chat/completions.)`,
    );
  });

  test("THR-1 a connection reset before the headers", async () => {
    const failure = await failureFor((response) => response.socket?.destroy());
    expect(failure).toMatchObject({ failure: "throttle", kind: "unknown", requests: 1 });
  });

  test("THR-1 a connection cut inside the body", async () => {
    const failure = await failureFor((response) => {
      headed(response);
      setImmediate(() => response.destroy());
    });
    expect(failure).toMatchObject({ failure: "throttle", kind: "unknown", requests: 1 });
  });

  test.each(['{"id":"resp_01","ou', '{"a":[1', '{"a":"\\"'])(
    "THR-1 a body that ends inside its JSON: %s",
    async (body) => {
      expect(await failureFor(answering(200, body))).toMatchObject({
        failure: "throttle",
        kind: "unknown",
        payload: body,
      });
    },
  );

  test("THR-1 headers that do not come within timeoutMs", async () => {
    expect(await failureFor(() => {}, { timeoutMs: 50 })).toMatchObject({ failure: "throttle", kind: "timeout" });
  });

  test("OAI-8 timeoutMs covers a body that stalls", async () => {
    expect(await failureFor(headed, { timeoutMs: 50 })).toMatchObject({ failure: "throttle", kind: "timeout" });
  });
});

describe("THR-1 a payload that is wrong is not asked again", () => {
  test.each([
    "<html>Hello</html>",
    "{]",
    '"text"',
    "null",
    '{"object":"response","status":"completed"}',
    '{"__proto__":{}}',
  ])("THR-1 status 200 with %s", async (body) => {
    for (const api of ["responses", "chat"] as const) {
      const failure = await failureFor(answering(200, body), { api });
      expect(failure).toMatchObject({ failure: "provider", reason: "invalid_response", requests: 1 });
      expect(failure).toHaveProperty("payload");
    }
  });

  test("THR-1 a mistake of a stand-in for the client is none of the network's", async () => {
    const create = (): never => {
      throw new TypeError("x is not a function");
    };
    const client = { responses: { create }, chat: { completions: { create } } };
    expect(await failureOf(openaiModel({ model: "m", client }))).toMatchObject({
      failure: "provider",
      reason: "unknown",
    });
  });
});

test("OAI-9 a body is read whatever its content type says", async () => {
  await using server = await startServer(answering(200, fixture("responses-text"), { "content-type": "text/plain" }));
  expect(answerOf(await modelAt(server).generate(requestOf())).finishReason).toBe("stop");
});

test("LIM-3 an abort is thrown with its own reason, and leaves no listener", async () => {
  await using server = await startServer(() => {});
  const reason = new Error("enough");
  const controller = new AbortController();
  const pending = modelAt(server).generate(requestOf({ signal: controller.signal }));
  setImmediate(() => controller.abort(reason));
  await expect(pending).rejects.toBe(reason);
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  await expect(modelAt(server).generate(requestOf({ signal: controller.signal }))).rejects.toBe(reason);
});

test("LIM-3 an answered request leaves no timer and no listener", async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const create = (): unknown => Promise.resolve(fixture("responses-text"));
  const model = openaiModel({ model: "m", client: { responses: { create }, chat: { completions: { create } } } });
  const { signal } = new AbortController();
  const before = timers();
  answerOf(await model.generate(requestOf({ signal })));
  expect(timers()).toBe(before);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("SEC-1 a key that the service repeats is in no message, payload or cause", async () => {
  const error = { message: `Incorrect API key provided: ${apiKey}.`, code: "invalid_api_key", [apiKey]: [apiKey] };
  const failure = await failureFor(answering(401, { error }));
  expect(failure).toMatchObject({ reason: "api_key", message: "Incorrect API key provided: [secret]." });
  expect(JSON.stringify(failure.payload)).not.toContain(apiKey);
  expect(inspect(failure, { depth: null })).not.toContain(apiKey);
});

test("OAI-13 SEC-5 the key as it is sent, and what headers carry, are in no failure, also without an adapter", async () => {
  const headers = { "api-key": "key-in-a-header-01", "x-request-id": "request-0123" };
  const error = { message: "Not sk-padded-key-0123, not key-in-a-header-01, in request-0123." };
  const failure = await failureFor(answering(401, { error }), { apiKey: " sk-padded-key-0123\n", headers });
  expect(failure.message).toBe("Not [secret], not [secret], in request-0123.");
  expect(inspect(failure, { depth: null })).not.toMatch(/padded-key|in-a-header/);
});

test("OAI-13 SEC-5 headers and the address of a client that is given ready are secrets", async () => {
  const said = "Not key-in-a-header-01, sk-own-0123456789 or pa55w0rd!.";
  const client = new OpenAI({
    apiKey: "sk-own-0123456789",
    baseURL: "http://user:pa55w0rd!@host/v1",
    defaultHeaders: { "api-key": "key-in-a-header-01" },
    fetch: async () => Response.json({ error: { message: said } }, { status: 401 }),
    maxRetries: 0,
  });
  const failure = await failureOf(openaiModel({ model: "m", client, api: "chat" }));
  expect(failure.message).toBe("Not [secret], [secret] or [secret].");
});

test("SEC-5 PRO-8 a key in the address is sent, and shown nowhere", async () => {
  const query = "?api_key=sk-of-the-address-01&region=north";
  const message = `Cannot POST /v1/chat/completions${query}, not with sk-of-the-address-01`;
  for (const api of ["responses", "chat"] as const) {
    await using server = await startServer(answering(404, { error: { message } }));
    const baseURL = `${server.baseURL}${query}`;
    const unreached = `http://127.0.0.1:10080/v1${query}`;
    const client = new OpenAI({ apiKey, baseURL, maxRetries: 0 });
    for (const given of [{ baseURL, apiKey }, { client }, { baseURL: unreached, apiKey }]) {
      const failure = await failureOf(openaiModel({ model: "m", api, ...given }));
      expect(failure.message).toContain(
        failure.failure === "throttle" ? "http://127.0.0.1:10080/v1" : "Cannot POST /v1",
      );
      expect(inspect(failure, { depth: null, showHidden: true })).not.toMatch(/sk-of-the-address|north/);
    }
    expect(server.requests[0]?.path).toContain(query);
  }
});

test.each([
  [{ detail: [{ type: "extra_forbidden", loc: ["body", "seed"], msg: "Extra inputs are not permitted" }] }],
  [
    {
      message: { detail: [{ loc: ["body", "seed"], msg: "Extra inputs are not permitted" }] },
      type: "invalid_request_error",
    },
  ],
])("PRO-5 the message has what FastAPI does not take of a body: %j", async (body) => {
  const failure = await failureFor(answering(422, body));
  expect(failure).toMatchObject({ reason: "bad_request", message: "body.seed: Extra inputs are not permitted" });
});

test("PRO-5 the message has a detail that is a text, and is made where there is none", async () => {
  expect((await failureFor(answering(400, { detail: "No such thing." }))).message).toBe("No such thing.");
  for (const detail of [[], [1], {}, [{}]])
    expect((await failureFor(answering(422, { detail }))).message).toBe("The provider answered with status 422.");
});

test("OAI-13 SEC-5 headers that the SDK takes from the environment are secrets", async () => {
  vi.stubEnv("OPENAI_CUSTOM_HEADERS", "x-gateway: key-of-a-gateway\nx-title: The Title");
  const failure = await failureFor(answering(401, { error: { message: "Not key-of-a-gateway, The Title." } }));
  vi.unstubAllEnvs();
  expect(failure.message).toBe("Not [secret], The Title.");
});

test("OAI-11 a cost in the usage is the reported cost where no header says it", async () => {
  const text = fixture("chat-text") as { readonly usage: object };
  const body = { ...text, usage: { ...text.usage, cost: 0.25 } };
  const headers = { "x-litellm-response-cost": "0.0021" };
  await using server = await startServer(answering(200, body), answering(200, body, headers));
  for (const costUsd of [0.25, 0.0021]) {
    const answer = answerOf(await modelAt(server, { api: "chat" }).generate(requestOf()));
    expect(answer.usage?.costUsd).toBe(costUsd);
  }
});

test.each([
  ["0.0021", 0.0021],
  ["-1", undefined],
  ["free", undefined],
])("OAI-11 LiteLLM's cost header %s is the reported cost", async (cost, costUsd) => {
  const headers = { "x-litellm-response-cost": cost };
  await using server = await startServer(answering(200, fixture("chat-text"), headers));
  const answer = answerOf(await modelAt(server, { api: "chat" }).generate(requestOf()));
  expect(answer.usage?.costUsd).toBe(costUsd);
});
