import type { LanguageModelV2, LanguageModelV3 } from "@ai-sdk/provider";
import { aiSdkModel, type LanguageModel } from "@proviso/adapter-ai-sdk";
import { DefinitionError } from "@proviso/core";
import { answerOf, requestOf } from "@proviso/fault-matrix/requests";
import { describe, expect, test } from "vitest";
import { finish, mockModel, streamOf } from "./support/mock-model.ts";

const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 17, cachedInputTokens: 4, reasoningTokens: 2 };

function v2(finishReason: "stop" | "content-filter" | "unknown" = "stop"): LanguageModelV2 {
  return {
    specificationVersion: "v2",
    provider: "old.chat",
    modelId: "old-1",
    supportedUrls: {},
    doGenerate: async () => ({ content: [{ type: "text", text: "Hello." }], finishReason, usage, warnings: [] }),
    doStream: async () => ({
      stream: ReadableStream.from([
        { type: "text-start" as const, id: "0" },
        { type: "text-delta" as const, id: "0", delta: "Hello." },
        { type: "text-end" as const, id: "0" },
        { type: "finish" as const, finishReason, usage },
      ]),
    }),
  };
}

test("AIS-3 a model of interface v2, as JSON and as a stream", async () => {
  const provider = aiSdkModel({ model: v2() });
  for (const request of [requestOf(), requestOf({ onDelta: () => {} })]) {
    const answer = answerOf(await provider.generate(request));
    expect(answer).toMatchObject({ message: { text: "Hello." }, finishReason: "stop", usage });
  }
});

test("AIS-3 the finish reasons of v2", async () => {
  const reasonOf = async (model: LanguageModel) =>
    answerOf(await aiSdkModel({ model }).generate(requestOf())).finishReason;
  expect(await reasonOf(v2("unknown"))).toBe("stop");
  expect(await reasonOf(v2("content-filter"))).toBe("content-filter");
});

test("AIS-3 a model of interface v3", async () => {
  const v4 = mockModel([{}]);
  const model = { ...v4, specificationVersion: "v3" } as unknown as LanguageModelV3;
  expect(answerOf(await aiSdkModel({ model }).generate(requestOf())).message.text).toBe("Hello.");
  const doStream = async () => ({ stream: streamOf([finish()]) });
  expect(
    answerOf(
      await aiSdkModel({ model: { ...model, doStream } as LanguageModel }).generate(requestOf({ onDelta: () => {} })),
    ).finishReason,
  ).toBe("stop");
});

const older = ["v2", "v3"] as const;

test.each(older)("AIS-10 a model of %s sends a tool of OpenAI's wires as strict or not, too", async (version) => {
  const v4 = mockModel([{}], "openai.responses");
  const model = { ...v4, specificationVersion: version } as unknown as LanguageModel;
  const inputSchema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
  const tools = [{ name: "look_up", description: "Looks up.", inputSchema }];
  await aiSdkModel({ model }).generate(requestOf({ tools }));
  expect(v4.calls[0]?.tools).toMatchObject([{ strict: true, inputSchema: { additionalProperties: false } }]);
});

test.each(older)("AIS-7 a model of %s gets arguments as an object: it would encode text twice", async (version) => {
  const v4 = mockModel([{}], "openai.chat");
  const model = { ...v4, specificationVersion: version } as unknown as LanguageModel;
  const toolCalls = [{ id: "call_0", name: "look_up", arguments: '{ "a":1.0 }' }];
  const messages = [
    { role: "user" as const, text: "Go." },
    { role: "assistant" as const, text: "", toolCalls },
    { role: "tool" as const, callId: "call_0", name: "look_up", text: "Found.", isError: false },
  ];
  await aiSdkModel({ model }).generate(requestOf({ messages }));
  const parts = v4.calls[0]?.prompt.flatMap(({ role, content }) => (role === "assistant" ? content : []));
  expect(parts).toMatchObject([{ type: "tool-call", input: { a: 1 } }]);
});

/** Their SDKs end a stream that was cut like any other. */
const endings = { v2: "unknown", v3: { unified: "other", raw: undefined } };

describe.each(older)("a stream of %s", (version) => {
  const told = (
    events: readonly object[],
    { provider = "openai.chat", finishReason = endings[version] as unknown } = {},
  ) => {
    const parts = [
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "Hel" },
      { type: "text-end", id: "0" },
      { type: "finish", finishReason, usage },
    ];
    const raw = events.map((rawValue) => ({ type: "raw", rawValue }));
    const model = { ...v2(), specificationVersion: version, provider };
    const doStream = async ({ includeRawChunks = false }) => ({
      stream: ReadableStream.from(includeRawChunks ? [...raw, ...parts] : parts),
    });
    return aiSdkModel({ model: { ...model, doStream } as unknown as LanguageModel }).generate(
      requestOf({ onDelta: () => {} }),
    );
  };
  const chunk = (more: object, beside: object = {}) => ({
    choices: [{ index: 0, delta: { content: "Hel" }, ...more }],
    ...beside,
  });
  const counted = { usage: { prompt_tokens: 1 } };
  const usageAlone = { choices: [], ...counted };
  const cut = { failure: "throttle", kind: "unknown" };

  test("AIS-17 that was cut is asked again, though its SDK reports a finish", async () => {
    for (const events of [
      [chunk({})],
      [chunk({}, counted)],
      [usageAlone, chunk({})],
      [{ type: "response.output_text.delta", sequence_number: 1, delta: "Hel" }],
    ]) {
      expect(await told(events)).toMatchObject(cut);
    }
  });

  test("AIS-17 whose wire has an end, or has no events, is whole", async () => {
    const completed = { type: "response.completed", response: { status: "completed" } };
    for (const events of [[], [chunk({ finish_reason: "stop" })], [chunk({}), usageAlone], [completed]]) {
      expect(answerOf(await told(events)).message.text).toBe("Hel");
    }
  });

  test("AIS-17 whose reason is an empty text has none", async () => {
    const finishReason = version === "v2" ? "unknown" : { unified: "other", raw: "" };
    expect(await told([chunk({ finish_reason: "" })], { finishReason })).toMatchObject(cut);
    const late = [chunk({ finish_reason: "length" }), chunk({ finish_reason: "" })];
    expect(answerOf(await told(late, { finishReason })).finishReason).toBe("length");
  });

  test("AIS-17 of Gemini's wire, and of another service with the wire of Chat, is asked again where it was cut", async () => {
    const candidate = (more: object) => ({ candidates: [{ content: { parts: [{ text: "Hel" }] }, ...more }] });
    const wires = [
      ["google.generative-ai", [candidate({})], [candidate({ finishReason: "STOP" }), { usageMetadata: {} }]],
      ["mistral.chat", [chunk({}, counted)], [chunk({ finish_reason: "stop" }, counted)]],
    ] as const;
    for (const [provider, broken, whole] of wires) {
      expect(await told(broken, { provider })).toMatchObject(cut);
      expect(answerOf(await told(whole, { provider })).finishReason).toBe("stop");
    }
    // Of a wire that is not known nothing can be seen.
    expect(answerOf(await told([{ type: "hologram" }], { provider: "own" })).message.text).toBe("Hel");
  });
});

test("AIS-18 the reason of a model of v2 is the word in the body where its interface has none", async () => {
  const ending = (finish_reason: string) => {
    const response = { body: { choices: [{ message: { content: "Hel" }, finish_reason }] } };
    const model = v2("unknown");
    const doGenerate = async () => ({ ...(await model.doGenerate({ prompt: [] })), response });
    return aiSdkModel({ model: { ...model, doGenerate } }).generate(requestOf());
  };
  expect(await ending("error")).toMatchObject({ failure: "provider", reason: "unknown" });
  expect(answerOf(await ending("odd")).finishReason).toBe("other");
  expect(answerOf(await ending("")).finishReason).toBe("stop");
});

test("AIS-3 a model of another interface is refused", () => {
  const model = { ...mockModel([]), specificationVersion: "v1" } as unknown as LanguageModel;
  expect(() => aiSdkModel({ model })).toThrow(DefinitionError);
  expect(() => aiSdkModel({ model })).toThrow(/has the interface v1; aiSdk takes v2, v3 and v4/);
});
