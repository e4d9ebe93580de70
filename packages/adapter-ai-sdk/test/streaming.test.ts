import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { APICallError, InvalidResponseDataError } from "@ai-sdk/provider";
import { aiSdkModel } from "@proviso/adapter-ai-sdk";
import type { ModelFailure, ModelResponse } from "@proviso/core";
import { answerOf, requestOf } from "@proviso/fault-matrix/requests";
import { describe, expect, test } from "vitest";
import { call, finish, mockModel } from "./support/mock-model.ts";

type Parts = readonly LanguageModelV4StreamPart[];
interface Streamed {
  readonly answer: ModelResponse | ModelFailure;
  readonly deltas: readonly string[];
}

async function streamed(parts: Parts | ReadableStream<LanguageModelV4StreamPart>, stallMs = 1_000): Promise<Streamed> {
  const deltas: string[] = [];
  const model = aiSdkModel({ model: mockModel([parts]), stallMs });
  const answer = await model.generate(
    requestOf({ onDelta: (delta) => delta.kind === "text" && deltas.push(delta.text) }),
  );
  return { answer, deltas };
}

const text = (id: string, ...deltas: readonly string[]): Parts => [
  { type: "text-start", id },
  ...deltas.map((delta) => ({ type: "text-delta" as const, id, delta })),
  { type: "text-end", id },
];

test("STR-1 AIS-1 a stream adds up to the answer that JSON gives", async () => {
  const { answer, deltas } = await streamed([
    { type: "stream-start", warnings: [] },
    { type: "response-metadata", id: "1", modelId: "mock-1-2026" },
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "Hm" },
    { type: "reasoning-delta", id: "r", delta: ".", providerMetadata: { mock: { signature: "sig" } } },
    { type: "reasoning-end", id: "r" },
    ...text("t", "I ", "look."),
    { type: "tool-input-start", id: "call_1", toolName: "look_up" },
    { type: "tool-input-delta", id: "call_1", delta: "{}" },
    { type: "tool-input-end", id: "call_1" },
    call("call_1", "{}") as LanguageModelV4StreamPart,
    finish("tool-calls", "tool_calls"),
  ]);
  expect(deltas).toEqual(["I ", "look."]);
  const json = mockModel([
    {
      content: [
        { type: "reasoning", text: "Hm.", providerMetadata: { mock: { signature: "sig" } } },
        { type: "text", text: "I look." },
        call("call_1", "{}"),
      ],
      finishReason: { unified: "tool-calls", raw: "tool_calls" },
      response: { modelId: "mock-1-2026" },
    },
  ]);
  expect(answer).toEqual(await aiSdkModel({ model: json }).generate(requestOf()));
});

test("AIS-13 STR-1 deltas of several items add up to a text of lines", async () => {
  const of = (itemId: string) => ({ providerMetadata: { openai: { itemId } } });
  const { answer, deltas } = await streamed([
    { type: "text-start", id: "1", ...of("msg_1") },
    { type: "text-delta", id: "1", delta: "a" },
    { type: "text-end", id: "1", ...of("msg_1") },
    { type: "text-start", id: "2", ...of("msg_2") },
    { type: "text-end", id: "2", ...of("msg_2") },
    { type: "text-start", id: "3", ...of("msg_3") },
    { type: "text-delta", id: "3", delta: "b" },
    finish(),
  ]);
  expect(answerOf(answer).message.text).toBe("a\nb");
  expect(deltas.join("")).toBe("a\nb");
});

test("PRO-3 an id that is used again is a part of its own, deltas without a beginning count, the unknown is passed over", async () => {
  const { answer } = await streamed([
    ...text("0", "a"),
    ...text("0", "b"),
    { type: "text-delta", id: "x", delta: "c" },
    { type: "hologram" } as unknown as LanguageModelV4StreamPart,
    finish(),
  ]);
  expect(answerOf(answer).message.text).toBe("abc");
});

test("AIS-17 nothing after the finish is read, and the stream is left", async () => {
  let left = false;
  const stream = new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      for (const part of [...text("0", "a"), finish(), ...text("1", "late"), finish("length")])
        controller.enqueue(part);
    },
    cancel: () => void (left = true),
  });
  const { answer, deltas } = await streamed(stream);
  expect(answerOf(answer)).toMatchObject({ message: { text: "a" }, finishReason: "stop" });
  expect(deltas).toEqual(["a"]);
  expect(left).toBe(true);
});

describe("AIS-17 a stream that does not end well", () => {
  test.each([
    ["without a finish", text("0", "a")],
    ["interrupted", [...text("0", "a"), finish("interrupted")]],
    ["empty", []],
    [
      "by an SDK that tells it as an answer without a reason",
      [{ type: "error" as const, error: new InvalidResponseDataError({ data: undefined, message: "No finish." }) }],
    ],
  ])("AIS-17 THR-1 %s is asked again", async (_, parts) => {
    expect((await streamed(parts)).answer).toMatchObject({ failure: "throttle", kind: "unknown" });
  });

  const cut = new APICallError({
    message: "Failed to process successful response",
    url: "",
    requestBodyValues: {},
    statusCode: 200,
    cause: Object.assign(new TypeError("terminated"), {
      cause: Object.assign(new Error("closed"), { code: "UND_ERR_SOCKET" }),
    }),
  });
  test.each([
    [
      "an overloaded service",
      { type: "overloaded_error", message: "Overloaded" },
      { failure: "throttle", kind: "server_error" },
    ],
    ["a server error", { code: "server_error", message: "Oops" }, { failure: "throttle", kind: "server_error" }],
    [
      "a rate limit",
      { error: { code: "rate_limit_exceeded", message: "Slow" } },
      { failure: "throttle", kind: "rate_limit" },
    ],
    [
      "a quota",
      { response: { error: { code: "insufficient_quota", message: "No" } } },
      { failure: "throttle", kind: "quota_exhausted" },
    ],
    ["a bad request", { type: "invalid_request_error", message: "No" }, { failure: "provider", reason: "bad_request" }],
    ["a cut connection", cut, { failure: "throttle", kind: "unknown" }],
    ["a timeout", new DOMException("late", "TimeoutError"), { failure: "throttle", kind: "timeout" }],
    ["a text", "boom", { failure: "provider", reason: "unknown", message: "boom" }],
  ])("AIS-17 an error part is returned as a failure: %s", async (_, error, expected) => {
    const { answer, deltas } = await streamed([...text("0", "a"), { type: "error", error }, finish("error")]);
    expect(answer).toMatchObject(expected);
    expect(deltas).toEqual(["a"]);
  });

  test("THR-1 a stream that breaks fails with what broke it", async () => {
    const broken = new ReadableStream<LanguageModelV4StreamPart>({
      start: (controller) => controller.error(cut),
    });
    expect((await streamed(broken)).answer).toMatchObject({ failure: "throttle", kind: "unknown" });
  });

  test("AIS-16 THR-1 a stream that stalls, of a model that does not look at its signal", async () => {
    let left: unknown;
    const stalled = new ReadableStream<LanguageModelV4StreamPart>({
      start: (controller) => text("0", "a").forEach((part) => controller.enqueue(part)),
      cancel: (reason) => void (left = reason ?? "left"),
    });
    const { answer, deltas } = await streamed(stalled, 30);
    expect(answer).toMatchObject({ failure: "throttle", kind: "timeout" });
    expect(deltas).toEqual(["a"]);
    expect(left).toBe("left");
  });

  test("AIS-16 a slow stream is not a stalled one", async () => {
    const slow = new ReadableStream<LanguageModelV4StreamPart>({
      async start(controller) {
        for (const part of [...text("0", "a", "b", "c"), finish()]) {
          await new Promise((resolve) => setTimeout(resolve, 40));
          controller.enqueue(part);
        }
        controller.close();
      },
    });
    expect(answerOf((await streamed(slow, 150)).answer).message.text).toBe("abc");
  });
});

test("LIM-3 an abort leaves the stream and is thrown with its own reason", async () => {
  let left = false;
  const endless = new ReadableStream<LanguageModelV4StreamPart>({
    start: (controller) => text("0", "a").forEach((part) => controller.enqueue(part)),
    cancel: () => void (left = true),
  });
  const reason = new Error("enough");
  const controller = new AbortController();
  const pending = aiSdkModel({ model: mockModel([endless]) }).generate(
    requestOf({ signal: controller.signal, onDelta: () => controller.abort(reason) }),
  );
  await expect(pending).rejects.toBe(reason);
  expect(left).toBe(true);
});
