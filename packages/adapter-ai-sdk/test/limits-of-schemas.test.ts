import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk } from "@proviso/adapter-ai-sdk";
import { ignoredByGemini } from "@proviso/adapter-kit";
import { openai } from "@proviso/adapter-openai";
import { definePrompt, defineTool, type ProviderAdapter, type Schema } from "@proviso/core";
import { startSimulator, type Simulator } from "@proviso/simulator";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";

let service: Simulator;
let answer: unknown;
beforeEach(async () => {
  service = await startSimulator({ rules: [() => ({ output: answer })] });
});
afterEach(() => service.close());

const apiKey = "key-12345678";
const adapters: Readonly<Record<string, () => ProviderAdapter>> = {
  responses: () => openai({ model: "gpt-5.4", apiKey, baseURL: service.baseURL }),
  chat: () => openai({ model: "gpt-5.4", apiKey, baseURL: service.baseURL, api: "chat" }),
  "the AI SDK's openai": () => aiSdk({ model: createOpenAI({ apiKey, baseURL: service.baseURL })("gpt-5.4") }),
  compatible: () =>
    aiSdk({
      model: createOpenAICompatible({
        name: "local",
        apiKey,
        baseURL: service.baseURL,
        supportsStructuredOutputs: true,
      })("gpt-5.4"),
    }),
  anthropic: () => aiSdk({ model: createAnthropic({ apiKey, baseURL: service.baseURL })("claude-sonnet-4-5") }),
  "anthropic, an older model": () =>
    aiSdk({ model: createAnthropic({ apiKey, baseURL: service.baseURL })("claude-3-5-haiku-latest") }),
  google: () =>
    aiSdk({
      model: createGoogle({ apiKey, baseURL: service.baseURL.replace("/v1", "/v1beta") })("gemini-2.5-flash"),
    }),
};
const names = Object.keys(adapters);
const adapterOf = (name: string): ProviderAdapter => (adapters[name] ?? expect.unreachable())();

const asked = async (name: string, output: Schema<unknown, unknown>): Promise<unknown> =>
  (await adapterOf(name).evaluate(definePrompt({ key: "limits", output, text: "Write." }).bind())).output;
/** What the last request has, as the model reads it: Gemini passes over some keywords. */
const sent = (name = ""): string =>
  JSON.stringify(service.requests.at(-1)?.body, (key, value: unknown) =>
    name === "google" && ignoredByGemini.has(key) ? undefined : value,
  );

const checks: readonly (readonly [string, z.ZodType, string, unknown])[] = [
  ["the longest text", z.string().max(280), "280", "x"],
  ["the shortest text", z.string().min(37), "37", "x".repeat(37)],
  ["a default", z.string().default("by post"), "by post", null],
  ["examples", z.string().meta({ examples: ["by air"] }), "by air", "x"],
  ["a title", z.string().meta({ title: "Way of sending" }), "Way of sending", "x"],
  ["a format that is not everywhere known", z.url(), "uri", "https://example.org"],
  ["a pattern", z.string().regex(/^[a-f]+$/), "^[a-f]+$", "a"],
  ["a pattern that looks ahead", z.string().regex(/^(?!x)[a-f]+$/), "^(?!x)[a-f]+$", "a"],
  ["a pattern with signs that are escaped", z.string().regex(/^\(?=[(?!]$/), "=[(?!]$", "(=!"],
  ["an address of mail", z.email(), "email", "a@example.org"],
  ["a range", z.number().min(3).lt(94), "94", 4],
  ["a multiple", z.number().multipleOf(17), "17", 34],
  ["the keys of a record", z.record(z.enum(["tea", "milk"]), z.number()), "milk", { tea: 1, milk: 2 }],
  ["the length of a list", z.array(z.string()).min(2).max(19), "19", ["a", "b"]],
];

describe.each(names)("what a schema refuses, %s", (name) => {
  test.each(checks)("OUT-4 %s reaches the model, strict or not", async (_, field, words, value) => {
    for (const more of [{}, { tags: z.record(z.string(), z.string()) }]) {
      answer = { field: value ?? "by post", ...("tags" in more ? { tags: {} } : {}) };
      await expect(asked(name, z.object({ field, ...more }))).resolves.toEqual(answer);
      expect(sent(name)).toContain(words);
    }
  });

  test("OUT-4 a tuple is answered", async () => {
    const pair = z.tuple([z.number(), z.string()]);
    const rest = z.tuple([z.object({ name: z.string().optional() })]).rest(z.boolean());
    answer = { pair: [1, "x"], rest: [{}, true, false] };
    await expect(asked(name, z.object({ pair, rest }))).resolves.toEqual(answer);
    expect(sent()).toContain("boolean");
    expect(sent()).not.toContain('"items":false');
  });

  test("OUT-4 TOOL-2 an argument's check reaches the model", async () => {
    const input = z.object({ to: z.email(), text: z.string().max(280), code: z.string().regex(/^(?!x)[a-f]+$/) });
    const tool = defineTool({ name: "send", description: "Sends.", input, execute: () => "Sent." });
    answer = { done: true };
    await adapterOf(name).evaluate(
      definePrompt({
        key: "sending",
        output: z.object({ done: z.boolean() }),
        sections: [{ key: "t", role: "user", text: "Send.", tools: [tool] }],
      }).bind(),
    );
    for (const words of ["280", "email", "^(?!x)[a-f]+$"]) expect(sent()).toContain(words);
  });
});

test.each([
  ["a record", z.record(z.string(), z.string()), { a: "x" }],
  ["a list that ends in anything", z.tuple([z.string()], z.unknown()), ["x", 1]],
])(
  "AIS-10 %s goes to Anthropic's models as the input of a tool: a format would close and shorten it",
  async (...row) => {
    const [, both, value] = row;
    answer = { both: value };
    await expect(asked("anthropic", z.object({ both }))).resolves.toEqual(answer);
    const body = service.requests.at(-1)?.body;
    expect(body).toMatchObject({ tools: [{ name: "json", input_schema: { properties: { both: {} } } }] });
    expect(body).not.toHaveProperty("output_config");
  },
);

test("AIS-10 a format that the options ask for is asked for", async () => {
  const model = createAnthropic({ apiKey, baseURL: service.baseURL })("claude-sonnet-4-5");
  const adapter = aiSdk({ model, providerOptions: { anthropic: { structuredOutputMode: "outputFormat" } } });
  answer = { any: 1 };
  await adapter.evaluate(definePrompt({ key: "any", output: z.object({ any: z.unknown() }), text: "Write." }).bind());
  expect(service.requests.at(-1)?.body).toMatchObject({ output_config: { format: { type: "json_schema" } } });
});

test("OUT-4 what Gemini would pass over is in the description of what is sent to it", async () => {
  answer = { field: "a" };
  await asked("google", z.object({ field: z.string().regex(/^a/) }));
  expect(sent()).toContain('"description":"pattern: ^a."');
});

test("OUT-4 the order of a tuple goes to Gemini as it is", async () => {
  answer = { pair: [1, "x"] };
  await expect(asked("google", z.object({ pair: z.tuple([z.number(), z.string()]) }))).resolves.toEqual(answer);
  expect(service.requests.at(-1)?.body).toMatchObject({
    generationConfig: {
      responseJsonSchema: {
        properties: { pair: { prefixItems: [{ type: "number" }, { type: "string" }], maxItems: 2 } },
      },
    },
  });
});
