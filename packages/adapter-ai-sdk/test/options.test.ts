import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, aiSdkModel, type AiSdkOptions } from "@proviso/adapter-ai-sdk";
import { definePrompt, defineTool, DefinitionError, ProviderError } from "@proviso/core";
import { requestOf } from "@proviso/fault-matrix/requests";
import { checkOptions } from "@proviso/runtime";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { mockModel } from "./support/mock-model.ts";

describe("PRO-2 what is out of range is refused when the adapter is made", () => {
  const refused: readonly [string, object][] = [
    ["a blank model", { model: " " }],
    ["a model that is none", { model: { modelId: "m" } }],
    ["no model", { model: undefined }],
    ["temperature", { temperature: 2.1 }],
    ["temperature as text", { temperature: "1" }],
    ["topP as NaN", { topP: Number.NaN }],
    ["maxOutputTokens of zero", { maxOutputTokens: 0 }],
    ["a negative timeoutMs", { timeoutMs: -1 }],
    ["a timeoutMs that no timer can hold", { timeoutMs: 2 ** 31 }],
    ["presencePenalty", { presencePenalty: 2.5 }],
    ["frequencyPenalty", { frequencyPenalty: -3 }],
    ["stop as one text", { stop: "END" }],
    ["seed as a fraction", { seed: 0.5 }],
    ["providerOptions that are no JSON", { providerOptions: { mock: { call: () => 1 } } }],
    ["providerOptions that are a list", { providerOptions: [] }],
  ];
  test.each(refused)("PRO-2 %s", (_, options) => {
    const given = { model: mockModel([]), ...options } as AiSdkOptions;
    expect(() => aiSdk(given)).toThrow(DefinitionError);
    expect(checkOptions(aiSdk, given).ok).toBe(false);
  });

  test("PRO-2 what is fine is fine", () => {
    expect(checkOptions(aiSdk, { model: mockModel([]), temperature: 0, stop: ["END"], seed: -1 }).ok).toBe(true);
  });
});

test("PRO-2 options are copied", async () => {
  const stop = ["END"];
  const providerOptions = { mock: { fast: true } };
  const model = mockModel([{}]);
  const provider = aiSdkModel({ model, stop, providerOptions });
  stop.push("MORE");
  providerOptions.mock.fast = false;
  await provider.generate(requestOf());
  expect(model.calls[0]).toMatchObject({ stopSequences: ["END"], providerOptions: { mock: { fast: true } } });
});

test("LOOP-6 the provider is the model's own, and what it may cost is known", () => {
  const provider = aiSdkModel({ model: mockModel([]), maxOutputTokens: 9 });
  expect(provider).toMatchObject({ name: "mock.chat", model: "mock-1", maxOutputTokens: 9 });
  expect(aiSdkModel({ model: mockModel([]) })).not.toHaveProperty("maxOutputTokens");
});

describe("AIS-11 capabilities", () => {
  const capabilitiesOf = (options: Partial<AiSdkOptions>) =>
    aiSdkModel({ model: mockModel([]), ...options }).capabilities;
  test("AIS-11 are both there by default, and an option turns one off", () => {
    expect(capabilitiesOf({})).toMatchObject({ tools: true, nativeOutput: true });
    expect(capabilitiesOf({ nativeOutput: false })).toMatchObject({ tools: true, nativeOutput: false });
    expect(capabilitiesOf({ capabilities: { tools: false } })).toMatchObject({ tools: false, nativeOutput: true });
    expect(capabilitiesOf({ capabilities: { nativeOutput: false } }).nativeOutput).toBe(false);
  });

  test("AIS-11 a model that would drop a schema gets it in the prompt's text", () => {
    const here = (supportsStructuredOutputs: boolean) =>
      createOpenAICompatible({ name: "here", baseURL: "http://127.0.0.1:1", supportsStructuredOutputs })("m");
    expect(capabilitiesOf({ model: here(true) }).nativeOutput).toBe(true);
    expect(capabilitiesOf({ model: here(false) }).nativeOutput).toBe(false);
    expect(capabilitiesOf({ model: here(false), capabilities: { nativeOutput: true } }).nativeOutput).toBe(true);
  });
});

const note = defineTool({ name: "note", description: "Notes.", input: z.object({}), execute: () => undefined });

test("PRO-2 a model without tools refuses a prompt that has some before anything is asked", async () => {
  const model = mockModel([]);
  const prompt = definePrompt({ ns: "tests", key: "tools", sections: [{ key: "a", text: "Hi.", tools: [note] }] });
  const failed = await aiSdk({ model, capabilities: { tools: false } })
    .evaluate(prompt.bind({}))
    .catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(ProviderError);
  expect(failed).toMatchObject({ reason: "bad_request", phase: "request" });
  expect(model.calls).toHaveLength(0);
});

test("OUT-6 without native output the schema is in the text, and the answer is read from it", async () => {
  const model = mockModel([{ content: [{ type: "text", text: 'Here: ```json\n{"a":"x"}\n```' }] }]);
  const prompt = definePrompt({
    ns: "tests",
    key: "output",
    output: z.object({ a: z.string() }),
    sections: [{ key: "a", text: "Hi." }],
  });
  const { output } = await aiSdk({ model, nativeOutput: false }).evaluate(prompt.bind({}));
  expect(output).toEqual({ a: "x" });
  expect(model.calls[0]).not.toHaveProperty("responseFormat");
  expect(JSON.stringify(model.calls[0]?.prompt)).toContain("JSON Schema");
});
