import { aiSdkModel, type AiSdkOptions } from "@proviso/adapter-ai-sdk";
import type { ModelFailure, ModelRequest, ModelResponse } from "@proviso/core";
import { answerOf, requestOf } from "@proviso/fault-matrix/requests";
import type { LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { call, finished, mockModel, tokens } from "./support/mock-model.ts";

type Step = Partial<LanguageModelV4GenerateResult>;

async function generated(
  step: Step,
  request: Partial<ModelRequest> = {},
  options: Partial<AiSdkOptions> = {},
): Promise<ModelResponse | ModelFailure> {
  return aiSdkModel({ model: mockModel([step]), ...options }).generate(requestOf(request));
}
async function answered(...given: Parameters<typeof generated>): Promise<ModelResponse> {
  return answerOf(await generated(...given));
}

describe("LOOP-5 the finish reason", () => {
  const text: Step["content"] = [{ type: "text", text: "Hello." }];
  test.each([
    ["stop", "stop", text, "stop"],
    ["tool-calls", "tool_calls", [call("1", "{}")], "tool-calls"],
    ["a call though it says stop", "stop", [call("1", "{}")], "tool-calls", "stop"],
    ["length", "length", text, "length"],
    ["length inside a call", "max_tokens", [call("1", "{")], "length", "length"],
    ["content-filter", "SAFETY", text, "content-filter"],
    ["content-filter without a text", undefined, [], "content-filter", "content-filter"],
    ["stop", "pause_turn", text, "paused"],
    ["other", "compaction", text, "other"],
    ["none given", undefined, text, "stop", "other"],
    ["an empty text", "", text, "stop", "other"],
  ] as const)("LOOP-5 %s (%s)", async (name, raw, content, expected, unified = name as "stop") => {
    const answer = await answered({ content: [...content], finishReason: finished(unified, raw) });
    expect(answer.finishReason).toBe(expected);
    expect(answer.refusal).toBeUndefined();
  });

  test.each([["stop"], ["refusal"], [undefined]])("AIS-12 a refusal with the raw reason %s", async (raw) => {
    const content: Step["content"] = [{ type: "text", text: "I cannot do that." }];
    const answer = await answered({ content, finishReason: finished("content-filter", raw) });
    expect(answer).toMatchObject({ refusal: "I cannot do that.", finishReason: "stop", message: { text: "" } });
  });

  test.each([finished("error"), finished("other", "error")])("LOOP-5 a model that broke: %o", async (finishReason) => {
    const failure = await generated({ finishReason });
    expect(failure).toMatchObject({ failure: "provider", reason: "unknown", usage: { inputTokens: 10 } });
  });

  test("AIS-17 an answer that was interrupted is asked again", async () => {
    const failure = await generated({ finishReason: finished("interrupted") });
    expect(failure).toMatchObject({ failure: "throttle", kind: "unknown" });
  });

  test.each(["in_progress", "queued", "cancelled", undefined])(
    "AIS-14 a response with the status %s is not an answer",
    async (status) => {
      const body = { object: "response", status, output: [] };
      const failure = await generated({ response: { body } });
      expect(failure).toMatchObject({ failure: "provider", reason: "invalid_response", payload: body });
    },
  );

  test("LOOP-5 a response that is incomplete for a reason of its own is cut short", async () => {
    const response = { body: { object: "response", status: "incomplete" } };
    expect((await answered({ response, finishReason: finished("other", "paused") })).finishReason).toBe("length");
  });
});

describe("LIM-6 AIS-15 usage", () => {
  test("LIM-6 tokens, cached and reasoning ones among them", async () => {
    expect((await answered({})).usage).toEqual({
      inputTokens: 10,
      outputTokens: 5,
      totalTokens: undefined,
      cachedInputTokens: 4,
      reasoningTokens: 2,
      costUsd: undefined,
    });
  });

  test.each([-5, "12", Number.NaN, null])(
    "LIM-6 AIS-15 a count of %s is handed on, for the runtime to judge",
    async (total) => {
      const usage = { ...tokens, inputTokens: { ...tokens.inputTokens, total: total as number } };
      expect((await answered({ usage })).usage?.inputTokens).toBe(total);
    },
  );

  test("AIS-15 a zero that the service did not report is left out, one that it reported is zero", async () => {
    const zero = { ...tokens, outputTokens: { total: 0, text: 0, reasoning: 0 } };
    expect((await answered({ usage: { ...zero, raw: {} } })).usage?.outputTokens).toBeUndefined();
    expect((await answered({ usage: { ...zero, raw: { output_tokens: 0 } } })).usage?.outputTokens).toBe(0);
    expect((await answered({ usage: zero })).usage?.outputTokens).toBe(0);
  });

  test("LIM-6 an answer without usage", async () => {
    const usage = undefined as unknown as typeof tokens;
    expect((await answered({ usage })).usage?.inputTokens).toBeUndefined();
  });
});

describe("AIS-13 the text of an answer", () => {
  const item = (text: string, itemId: string) => ({
    type: "text" as const,
    text,
    providerMetadata: { openai: { itemId } },
  });
  test("AIS-13 parts are joined, several items are lines apart, empty ones leave no line", async () => {
    const { message } = await answered({ content: [item("a", "1"), item("b", "1"), item("", "2"), item("c", "3")] });
    expect(message.text).toBe("ab\nc");
    const plain = await answered({
      content: [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    });
    expect(plain.message.text).toBe("ab");
  });
});

test("PRO-3 parts that are not known are passed over", async () => {
  const odd = [
    { type: "hologram", data: 1 },
    { type: "source", sourceType: "url", id: "s", url: "https://example.com" },
    { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://example.com/a.png") } },
    { type: "text", text: "Hello." },
  ] as unknown as Step["content"] & object;
  expect((await answered({ content: odd })).message).toEqual({ role: "assistant", text: "Hello.", toolCalls: [] });
});

test("TOOL-1 calls keep their arguments as they came; those that the provider ran are its own affair", async () => {
  const ran = call("2", "{}", { providerExecuted: true });
  const answer = await answered({
    content: [call("1", '{ "word":"a" }'), ran, call("3", { word: "b" } as unknown as string)],
  });
  expect(answer.message.toolCalls).toEqual([
    { id: "1", name: "look_up", arguments: '{ "word":"a" }' },
    { id: "3", name: "look_up", arguments: '{"word":"b"}' },
  ]);
});

describe("OUT-1 the native payload", () => {
  const schema = { type: "object", properties: { a: { type: "string" }, b: { type: "string" } }, required: ["a"] };
  const output = { name: "evaluate", schema };
  const says = (text: string): Step => ({ content: [{ type: "text", text }] });

  test("OUT-4 is read from the text, with the nulls of absent keys taken away", async () => {
    const answer = await answered(says('{"a":"x","b":null}'), {
      output: { ...output, schema: { ...schema, additionalProperties: false } },
    });
    expect(answer.parsed).toEqual({ a: "x" });
  });

  test("OUT-1 is that of the final answer where a model drafts first", async () => {
    const step = { ...says("a draft"), structuredOutputText: '{"a":"x"}' };
    expect((await answered(step, { output })).parsed).toEqual({ a: "x" });
  });

  test("OUT-1 is not there beside calls, for text that is not JSON, and where none was asked for", async () => {
    expect(
      await answered({ content: [...(says("{}").content ?? []), call("1", "{}")] }, { output }),
    ).not.toHaveProperty("parsed");
    expect(await answered(says("not JSON"), { output })).not.toHaveProperty("parsed");
    expect(await answered(says("{}"))).not.toHaveProperty("parsed");
  });
});

test("LOOP-6 the model that answered, and its body", async () => {
  const response = { modelId: "mock-1-2026", body: { id: "1" } };
  expect(await answered({ response })).toMatchObject({ model: "mock-1-2026", payload: { id: "1" } });
});

test.each([
  ["0.0021", 0.0021],
  ["-1", undefined],
  ["free", undefined],
])("AIS-21 LiteLLM's cost header %s is the reported cost", async (cost, costUsd) => {
  const response = { headers: { "x-litellm-response-cost": cost } };
  expect((await answered({ response })).usage?.costUsd).toBe(costUsd);
});

describe("AIS-29 a model that returns no answer", () => {
  const oddModel = (returned: unknown): never =>
    ({ ...mockModel([]), doGenerate: async () => returned, doStream: async () => returned }) as never;
  const invalid = (message: RegExp) => ({
    failure: "provider",
    reason: "invalid_response",
    message: expect.stringMatching(message) as string,
  });

  test.each([
    [null, /doGenerate has to resolve with \{ content \}, which is a list, not with null/],
    ["x", /not with "x"/],
    [{ content: "x" }, /not with \{ content: "x" \}/],
  ])("AIS-29 %j is an invalid response that says what was returned", async (returned, message) => {
    const model = aiSdkModel({ model: oddModel(returned) });
    expect(await model.generate(requestOf())).toMatchObject(invalid(message));
  });

  test.each([[null], [{}], [{ stream: "x" }]])("AIS-29 so is a stream that is %j", async (returned) => {
    const model = aiSdkModel({ model: oddModel(returned) });
    const failure = await model.generate(requestOf({ onDelta: () => {} }));
    expect(failure).toMatchObject(invalid(/doStream has to resolve with \{ stream \}, which is a ReadableStream/));
  });

  test("AIS-29 parts and warnings that are none are passed over", async () => {
    const odd = { content: [null, 1, { type: "text", text: "Hello." }] as never, warnings: "none" as never };
    expect((await answered(odd)).message.text).toBe("Hello.");
  });
});
