import type { LanguageModelV2, LanguageModelV3 } from "@ai-sdk/provider";
import { aiSdkModel, type LanguageModel } from "@proviso/adapter-ai-sdk";
import { DefinitionError } from "@proviso/core";
import { answerOf, requestOf } from "@proviso/fault-matrix/requests";
import { expect, test } from "vitest";
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

test("AIS-3 a model of another interface is refused", () => {
  const model = { ...mockModel([]), specificationVersion: "v1" } as unknown as LanguageModel;
  expect(() => aiSdkModel({ model })).toThrow(DefinitionError);
  expect(() => aiSdkModel({ model })).toThrow(/has the interface v1; aiSdk takes v2, v3 and v4/);
});
