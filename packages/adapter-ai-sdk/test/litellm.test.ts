import { inspect } from "node:util";
import { createOpenAI } from "@ai-sdk/openai";
import { litellm, type LiteLLMOptions } from "@proviso/adapter-ai-sdk";
import { definePrompt, defineTool, DefinitionError, OutputParseError, ProviderError } from "@proviso/core";
import { answering, startServer, type LoopbackServer, type Respond } from "@proviso/fault-matrix/loopback-server";
import { checkOptions, createSession } from "@proviso/runtime";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { captured } from "./support/captured.ts";

const apiKey = "sk-litellm-0123456789";
const model = "anthropic/claude-sonnet-4-5";
const at = ({ baseURL }: LoopbackServer, more: Partial<LiteLLMOptions> = {}) =>
  litellm({ model, apiKey, baseURL, ...more });

beforeEach(() => {
  vi.stubEnv("LITELLM_API_KEY", "");
  vi.stubEnv("LITELLM_BASE_URL", "");
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const greeting = definePrompt({ ns: "tests", key: "greeting", sections: [{ key: "a", text: "Hi." }] });
const noted = definePrompt({
  ns: "tests",
  key: "noted",
  output: z.object({ word: z.string(), note: z.string().optional() }),
  sections: [{ key: "a", text: "Hi." }],
});

function says(content: string, headers: Readonly<Record<string, string>> = {}): Respond {
  const message = { role: "assistant", content };
  return answering(200, { model: "claude", choices: [{ index: 0, message, finish_reason: "stop" }] }, headers);
}

describe("AIS-19 the proxy", () => {
  test("AIS-19 SEC-5 a key in its address is shown nowhere", async () => {
    const query = "?api_key=sk-of-the-address-01&region=north";
    const message = `Cannot POST /v1/chat/completions${query}`;
    await using service = await startServer(answering(404, { error: { message } }));
    const shown: unknown[] = [];
    const log = (...given: unknown[]): void => void shown.push(given);
    const logger = { debug: log, info: log, warn: log, error: log };
    const session = createSession();
    session.on("*", (event) => void shown.push(event));
    const asking = at(service, { baseURL: `${service.baseURL}${query}`, logger }).evaluate(greeting.bind({}), {
      session,
    });
    shown.push(await asking.catch((error: unknown) => error));
    expect(inspect(shown, { depth: null, showHidden: true })).toContain("Cannot POST");
    expect(inspect(shown, { depth: null, showHidden: true })).not.toMatch(/sk-of-the-address|north/);
  });

  test("AIS-19 the id goes out verbatim, with the key, and extraBody is laid over the body last", async () => {
    await using service = await startServer(captured("chat-text.json"));
    const extraBody = { metadata: { team: "a" }, temperature: 0.5 };
    const response = await at(service, { temperature: 1, extraBody }).evaluate(greeting.bind({}));
    expect(response).toMatchObject({
      text: "a is a letter.",
      provider: "litellm",
      model: "claude-sonnet-4-5-20250929",
    });
    expect(response.usage).toMatchObject({
      inputTokens: 150,
      cachedInputTokens: 64,
      reasoningTokens: 2,
      estimated: false,
    });
    const [request] = service.requests;
    expect(request?.path).toBe("/v1/chat/completions");
    expect(request?.headers["authorization"]).toBe(`Bearer ${apiKey}`);
    expect(request?.body).toEqual({ model, messages: [{ role: "user", content: "Hi." }], ...extraBody });
  });

  test("AIS-19 usage is asked for with a stream", async () => {
    const chunk = (delta: object, more: object = {}) =>
      `data: ${JSON.stringify({ id: "1", model: "claude", choices: [{ index: 0, delta, ...more }] })}\n\n`;
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    const body = [
      chunk({ role: "assistant", content: "Hel" }),
      chunk({ content: "lo." }),
      chunk({}, { finish_reason: "stop" }),
      `data: ${JSON.stringify({ id: "1", model: "claude", choices: [], usage })}\n\ndata: [DONE]\n\n`,
    ].join("");
    await using service = await startServer(answering(200, body, { "content-type": "text/event-stream" }));
    const { text, usage: told } = await at(service).stream(greeting.bind({})).response;
    expect(text).toBe("Hello.");
    expect(told).toMatchObject({ totalTokens: 5, estimated: false });
    expect(service.requests[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  test("AIS-19 address and key come from the environment", async () => {
    await using service = await startServer(captured("chat-text.json"));
    vi.stubEnv("LITELLM_API_KEY", apiKey);
    vi.stubEnv("LITELLM_BASE_URL", service.baseURL);
    await litellm({ model }).evaluate(greeting.bind({}));
    expect(service.requests[0]?.headers["authorization"]).toBe(`Bearer ${apiKey}`);
  });

  test.each([
    [{ baseURL: "http://127.0.0.1:1" }, "LITELLM_API_KEY"],
    [{ apiKey }, "LITELLM_BASE_URL"],
    [{ apiKey, baseURL: "localhost:4000" }, "http://"],
    [{ apiKey, baseURL: "http://127.0.0.1:1", model: "" }, "needs a model"],
    [{ apiKey, baseURL: "http://127.0.0.1:1", temperature: 3 }, "temperature"],
    [{ apiKey, baseURL: "http://127.0.0.1:1", extraBody: { call: () => 1 } }, "extraBody"],
  ])("AIS-19 PRO-2 %o is refused when the adapter is made", (options, message) => {
    expect(() => litellm({ model, ...options })).toThrow(DefinitionError);
    expect(() => litellm({ model, ...options })).toThrow(message);
  });

  test("AIS-19 SEC-1 a key that the proxy repeats is in no error", async () => {
    const error = { message: `Incorrect API key provided: ${apiKey}.`, code: "invalid_api_key" };
    await using service = await startServer(answering(401, { error }));
    const failed = await at(service)
      .evaluate(greeting.bind({}))
      .catch((caught: unknown) => caught);
    expect(failed).toBeInstanceOf(ProviderError);
    expect(failed).toMatchObject({ reason: "api_key", message: "Incorrect API key provided: [secret]." });
    expect(JSON.stringify([failed, (failed as ProviderError).providerPayload])).not.toContain(apiKey);
    expect(String((failed as ProviderError).cause)).not.toContain(apiKey);
  });
});

const word = definePrompt({ key: "word", output: z.object({ word: z.string() }), text: "Hi." });
const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => 1 });
const looking = definePrompt({ key: "looking", sections: [{ key: "a", text: "Hi.", tools: [look] }] });
const ready = ({ baseURL }: LoopbackServer) => createOpenAI({ baseURL, apiKey }).chat(model);

describe("AIS-19 a ready model", () => {
  test("AIS-19 AIS-20 it answers through its own address; the schema is sent and the text is read", async () => {
    await using service = await startServer(says('Here you are:\n```json\n{"word":"a"}\n```'), says(""));
    const adapter = litellm({ model: ready(service), temperature: 0 });
    const response = await adapter.evaluate(word.bind());
    expect(response).toMatchObject({ output: { word: "a" }, provider: "litellm" });
    const [request] = service.requests;
    expect(request?.headers["authorization"]).toBe(`Bearer ${apiKey}`);
    expect(request?.body).toMatchObject({ model, temperature: 0, response_format: { type: "json_schema" } });
    await expect(adapter.evaluate(word.bind())).rejects.toMatchObject({ reason: "invalid_response" });
  });

  test("AIS-19 what it has of its own is refused beside it, and so is what is no model", async () => {
    await using service = await startServer(says("Hello."));
    for (const [name, value] of Object.entries({ baseURL: service.baseURL, apiKey, extraBody: { a: 1 } })) {
      const make = () => litellm({ model: ready(service), [name]: value });
      expect(make).toThrow(DefinitionError);
      expect(make).toThrow(`${name} beside a ready model`);
      expect(checkOptions(litellm, { model: ready(service), [name]: value }).ok).toBe(false);
    }
    expect(() => litellm({ model: { chat: 1 } as never })).toThrow("litellm needs a model");
    expect(() => litellm({ model: { ...ready(service), specificationVersion: "v9" } as never })).toThrow(
      DefinitionError,
    );
    expect(checkOptions(litellm, { model: ready(service) }).ok).toBe(true);
  });
});

describe("AIS-19 capabilities and unknown options", () => {
  test("AIS-19 AIS-11 what the model behind the proxy cannot do is not sent", async () => {
    await using service = await startServer(says('{"word":"a"}'), says('{"word":"b"}'));
    const makes = [
      (capabilities: LiteLLMOptions["capabilities"]) => at(service, { capabilities }),
      (capabilities: LiteLLMOptions["capabilities"]) => litellm({ model: ready(service), capabilities }),
    ];
    for (const make of makes) {
      const failed = make({ tools: false }).evaluate(looking.bind());
      await expect(failed).rejects.toMatchObject({ reason: "bad_request" });
      await make({ nativeOutput: false }).evaluate(word.bind());
      const sent = service.requests.at(-1)?.body;
      expect(sent).not.toHaveProperty("response_format");
      expect(JSON.stringify(sent)).toContain("JSON Schema");
    }
    expect(service.requests).toHaveLength(2);
  });

  test.each([
    ["maxTokens", "Did you mean maxOutputTokens?"],
    ["completion", "It takes model,"],
    ["nativeOutput", "It takes model,"],
    ["toString", "It takes model,"],
  ])("AIS-19 PRO-2 ERR-4 an unknown option %s is refused, and what is meant is named", (name, pointer) => {
    const options = { model, apiKey, baseURL: "http://127.0.0.1:1", [name]: 5 };
    expect(() => litellm(options)).toThrow(DefinitionError);
    expect(() => litellm(options)).toThrow(`litellm has no option ${name}. ${pointer}`);
    expect(checkOptions(litellm, options).ok).toBe(false);
  });

  test.each([[{ tools: "no" }], [{ images: false }], ["all"]])("AIS-19 PRO-2 capabilities %o are refused", (given) => {
    const options = { model, apiKey, baseURL: "http://127.0.0.1:1", capabilities: given as never };
    expect(() => litellm(options)).toThrow(DefinitionError);
    expect(() => litellm(options)).toThrow("The option capabilities must be { tools, nativeOutput }");
  });
});

describe("AIS-20 OUT-6 structured output", () => {
  test("AIS-20 a schema is sent as it is where nulls would have to be mapped back, and the text is read", async () => {
    await using service = await startServer(says('Here you are:\n```json\n{"word":"a"}\n```'));
    const { output } = await at(service).evaluate(noted.bind({}));
    expect(output).toEqual({ word: "a" });
    expect(service.requests[0]?.body["response_format"]).toMatchObject({
      type: "json_schema",
      json_schema: { name: "noted", strict: false, schema: { required: ["word"] } },
    });
  });

  test("AIS-20 it is sent strict where nothing has to be mapped back", async () => {
    await using service = await startServer(says('{"word":"a"}'));
    const word = definePrompt({
      ns: "tests",
      key: "word",
      output: z.object({ word: z.string() }),
      sections: [{ key: "a", text: "Hi." }],
    });
    expect((await at(service).evaluate(word.bind({}))).output).toEqual({ word: "a" });
    expect(service.requests[0]?.body["response_format"]).toMatchObject({ json_schema: { strict: true } });
  });

  test("AIS-20 OUT-6 without a text there is no answer, and the error of a wrong one has its text", async () => {
    await using service = await startServer(says(""), says("I would rather not."));
    await expect(at(service).evaluate(noted.bind({}))).rejects.toMatchObject({ reason: "invalid_response" });
    const failed = await at(service)
      .evaluate(noted.bind({}))
      .catch((caught: unknown) => caught);
    expect(failed).toBeInstanceOf(OutputParseError);
    expect(failed).toMatchObject({ rawText: "I would rather not." });
  });
});

/** As the proxy streams: no header says the cost; with include_cost_in_streaming_usage the last chunk's usage does. */
function streams(cost?: number): Respond {
  const common = { id: "chatcmpl-1", created: 1_790_000_000, model: "claude", object: "chat.completion.chunk" };
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, ...(cost === undefined ? {} : { cost }) };
  const chunks = [
    { ...common, choices: [{ index: 0, delta: { role: "assistant", content: "Hello." } }] },
    { ...common, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { ...common, choices: [{ index: 0, delta: {} }], usage },
  ];
  const body = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
  return answering(200, `${body}data: [DONE]\n\n`, { "content-type": "text/event-stream" });
}

describe("AIS-21 LIM-12 the sources of a cost", () => {
  const pricing = { input: 1_000_000, output: 1_000_000 };

  test("AIS-21 LIM-12 what a stream's last chunk says goes before any price", async () => {
    await using service = await startServer(streams(0.0008902));
    const { usage } = await at(service, { pricing }).stream(greeting.bind({})).response;
    expect(usage.costUsd).toBe(0.0008902);
  });

  test("AIS-21 LIM-12 a stream that says nothing is priced: by the option, else from the catalog", async () => {
    await using service = await startServer(streams(), streams());
    const costOf = async (more: Partial<LiteLLMOptions>) =>
      (await at(service, more).stream(greeting.bind({})).response).usage.costUsd;
    expect(await costOf({ pricing })).toBe(5);
    // 3 dollars for a million of the input, 15 of the output.
    expect(await costOf({})).toBeCloseTo((3 * 3 + 2 * 15) / 1e6, 12);
  });

  test("AIS-21 LIM-12 the header, with the proxy's discount and margin, goes before what the service behind it says", async () => {
    const message = { role: "assistant", content: "Hello." };
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cost: 0.5 };
    const body = { model: "claude", choices: [{ index: 0, message, finish_reason: "stop" }], usage };
    const headers = {
      "x-litellm-response-cost": "3.45e-05",
      "x-litellm-response-cost-original": "3e-05",
      "x-litellm-response-cost-margin-amount": "4.5e-06",
    };
    await using service = await startServer(answering(200, body, headers), answering(200, body));
    expect((await at(service, { pricing }).evaluate(greeting.bind({}))).usage.costUsd).toBe(0.0000345);
    expect((await at(service, { pricing }).evaluate(greeting.bind({}))).usage.costUsd).toBe(0.5);
  });

  test("LIM-12 a limit in dollars ends an evaluation whose cost is not reported, and is not passed unnoticed", async () => {
    await using service = await startServer(streams());
    const unknown = at(service, { model: "house/model" });
    const ended = unknown.stream(greeting.bind({}), { budget: { maxCostUsd: 1 } }).response;
    await expect(ended).rejects.toMatchObject({ code: "budget", dimension: "cost", phase: "response" });
    await expect(ended).rejects.toThrow("pricing");
  });
});

test("AIS-21 what the proxy says a request cost", async () => {
  await using service = await startServer(says("Hello.", { "x-litellm-response-cost": "0.0021" }));
  expect((await at(service).evaluate(greeting.bind({}))).usage.costUsd).toBe(0.0021);
});
