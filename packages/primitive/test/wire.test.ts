import { definePrimitive } from "@proviso/primitive";
import { startSimulator, type SimulatorOptions } from "@proviso/simulator";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { failed, label, systemPrompt } from "./support.ts";

const key = "sk-litellm-0123456789";
const good = { text: '{"label":"good"}' };
const throttle = { baseDelayMs: 1, maxDelayMs: 1 };

beforeEach(() => {
  for (const name of ["PROVISO_MODEL", "LITELLM_BASE_URL", "AI_GATEWAY_API_KEY"]) vi.stubEnv(name, "");
  vi.stubEnv("LITELLM_API_KEY", key);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

/** A primitive that is given a model's id, and a service that stands for the proxy. */
async function proxied(options: SimulatorOptions) {
  const simulator = await startSimulator({ apiKey: key, ...options });
  vi.stubEnv("LITELLM_BASE_URL", simulator.baseURL);
  const block = { name: "classify", systemPrompt, output: label, model: "openai/gpt-5.4" };
  return { simulator, block };
}

describe("BLK-3 a model that is given by its id, through LiteLLM", () => {
  test("BLK-3 goes out verbatim, with the temperature, the schema and two roles", async () => {
    const { simulator, block } = await proxied({ steps: [good] });
    await using _ = simulator;
    const result = await definePrimitive({ ...block, temperature: 0 }).run("A fine day.");
    expect(result).toMatchObject({ success: true, data: { label: "good" }, response: { provider: "litellm" } });
    expect(simulator.requests[0]?.body).toMatchObject({
      model: "openai/gpt-5.4",
      temperature: 0,
      messages: [
        { role: "system", content: systemPrompt },
        { role: "user", content: "A fine day." },
      ],
      response_format: { type: "json_schema" },
    });
  });

  test("BLK-3 what the environment says is read with the definition", async () => {
    const { simulator, block } = await proxied({ steps: [good, good] });
    await using _ = simulator;
    const primitive = definePrimitive(block);
    vi.stubEnv("LITELLM_BASE_URL", "http://127.0.0.1:1");
    vi.stubEnv("LITELLM_API_KEY", "");
    expect(await primitive.run("A fine day.")).toMatchObject({ success: true });
    expect(await primitive.run("Another.")).toMatchObject({ success: true });
  });

  test("BLK-3 an address without a key is a DefinitionError", async () => {
    vi.stubEnv("LITELLM_BASE_URL", "http://127.0.0.1:1");
    vi.stubEnv("LITELLM_API_KEY", "");
    const block = { name: "classify", systemPrompt, output: label, model: "m" };
    expect(() => definePrimitive(block)).toThrow("LITELLM_API_KEY");
  });

  test("BLK-8 BLK-9 repairs and retries happen on the wire", async () => {
    const { simulator, block } = await proxied({
      steps: [{ status: 429, body: { error: { message: "Slow down." } } }, { text: '{"label":"so-so"}' }, good],
    });
    await using _ = simulator;
    expect(await definePrimitive({ ...block, throttle }).run("A fine day.")).toMatchObject({ success: true });
    expect(simulator.requests.map(({ status }) => status)).toEqual([429, 200, 200]);
  });

  test.each([
    [401, "invalid_api_key", "api_key_error"],
    [403, "forbidden", "api_key_error"],
    [400, "context_length_exceeded", "context_length_error"],
    [400, "invalid_request", "bad_request_error"],
    [404, "model_not_found", "not_found_error"],
  ])("BLK-10 a %i of the code %s is one request and %s", async (status, code, reason) => {
    const error = { message: `No, ${code}.`, code, type: "invalid_request_error" };
    const { simulator, block } = await proxied({ steps: [{ status, body: { error } }, good] });
    await using _ = simulator;
    const result = failed(await definePrimitive({ ...block, throttle }).run("A fine day."));
    expect(result).toMatchObject({ errorType: "ProviderError", reason, error: { status } });
    expect(simulator.requests).toHaveLength(1);
  });

  test("BLK-10 SEC-1 a refused key is in no result", async () => {
    const error = { message: `Incorrect API key provided: ${key}.`, code: "invalid_api_key" };
    const { simulator, block } = await proxied({ steps: [{ status: 401, body: { error } }] });
    await using _ = simulator;
    const result = failed(await definePrimitive(block).run("A fine day."));
    expect(JSON.stringify([result, result.error.message, result.error.providerPayload])).not.toContain(key);
  });
});

describe("BLK-3 without a proxy", () => {
  const block = { name: "classify", systemPrompt, output: label, model: "openai/gpt-5.4" };
  const answer = {
    content: [{ type: "text", text: good.text }],
    finishReason: { unified: "stop", raw: "stop" },
    usage: { inputTokens: { total: 3 }, outputTokens: { total: 2 } },
    warnings: [],
  };
  const languageModel = (modelId: string) => ({
    specificationVersion: "v4",
    provider: "default.chat",
    modelId,
    supportedUrls: {},
    doGenerate: async () => answer,
    doStream: () => Promise.reject(new Error("Nobody asked for a stream.")),
  });

  test("BLK-3 the default provider resolves the id", async () => {
    vi.stubGlobal("AI_SDK_DEFAULT_PROVIDER", { languageModel });
    const result = await definePrimitive(block).run("A fine day.");
    expect(result).toMatchObject({ success: true, response: { provider: "default.chat", model: "openai/gpt-5.4" } });
  });

  test("BLK-6 an id without a provider is not_found_error, until a provider resolves it", async () => {
    const primitive = definePrimitive(block);
    const result = failed(await primitive.run("A fine day."));
    expect(result).toMatchObject({ errorType: "ProviderError", reason: "not_found_error", attempts: 1 });
    expect(result.error.message).toContain("AI_GATEWAY_API_KEY");
    expect(result.error.cause).toMatchObject({ code: "definition" });
    vi.stubGlobal("AI_SDK_DEFAULT_PROVIDER", { languageModel });
    expect(await primitive.run("A fine day.")).toMatchObject({ success: true });
  });
});
