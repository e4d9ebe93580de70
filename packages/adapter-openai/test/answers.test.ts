import { answerOf } from "@proviso/fault-matrix/requests";
import { describe, expect, test } from "vitest";
import { fromChat } from "../src/from-chat.ts";
import { fromResponses } from "../src/from-responses.ts";
import { fixture, type Body } from "./support/fixture.ts";

const apis = [
  { api: "responses", from: (body: unknown) => fromResponses(body, {}) },
  { api: "chat", from: (body: unknown) => fromChat(body, undefined) },
] as const;

test.each(apis)("PRO-1 an answer of api $api has the same text, calls, usage and model", ({ api, from }) => {
  const body = fixture(`${api}-tool-calls`);
  const answer = answerOf(from(body));
  expect(answer.message).toMatchObject({
    role: "assistant",
    text: "I look it up.",
    toolCalls: [
      { id: "call_01", name: "look_up", arguments: '{ "word":"a" }' },
      { id: "call_02", name: "look_up", arguments: '{"word":"b"}' },
    ],
  });
  expect(answer.usage).toEqual({
    inputTokens: 120,
    outputTokens: 40,
    totalTokens: 160,
    cachedInputTokens: 64,
    reasoningTokens: 16,
    costUsd: undefined,
  });
  expect(answer).toMatchObject({ finishReason: "tool-calls", model: "gpt-test-2026-10-01", payload: body });
});

test.each(apis)("LIM-6 usage of api $api that is no count is left to the estimate", ({ api, from }) => {
  const body = fixture(`${api}-text`);
  const usage = { input_tokens: -1, output_tokens: "5", total_tokens: null, prompt_tokens: -1, completion_tokens: "5" };
  const none = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined };
  expect(answerOf(from({ ...body, usage })).usage).toMatchObject(none);
  for (const missing of [undefined, null, "none", []])
    expect(answerOf(from({ ...body, usage: missing })).usage).toMatchObject(none);
});

describe("PRO-3 what is unknown is passed over", () => {
  test("PRO-3 items and parts of Responses", () => {
    const body = fixture("responses-text");
    const [message] = body["output"] as Body[];
    const content = [...((message ?? {})["content"] as unknown[]), { type: "output_audio", data: "…" }, null, 7];
    body["output"] = [{ type: "novelty", id: "n" }, null, "x", { ...message, content }, { type: "novelty_call" }];
    body["novelty"] = { deep: [1] };
    expect(answerOf(fromResponses(body, {})).message).toEqual({
      role: "assistant",
      text: '{"word":"a","note":null}',
      toolCalls: [],
    });
  });

  test("PRO-3 parts, calls and fields of Chat Completions", () => {
    const content = [{ type: "text", text: "a" }, { type: "novelty" }, { type: "text", text: "b" }];
    const tool_calls = [{ id: "c", type: "custom", custom: { name: "x" } }, null];
    const body = { choices: [{ message: { content, tool_calls, reasoning_content: "…" }, novelty: 1 }] };
    expect(answerOf(fromChat(body, undefined))).toMatchObject({
      message: { text: "ab", toolCalls: [] },
      finishReason: "stop",
      model: undefined,
    });
  });
});

test("OAI-7 parts of a message are one text, and several messages are lines apart", () => {
  const message = (text: string): Body => ({ type: "message", content: [{ type: "output_text", text }] });
  const body = { status: "completed", output: [message("I think."), message(""), message("Yes.")] };
  expect(answerOf(fromResponses(body, {})).message.text).toBe("I think.\nYes.");
});

test("TOOL-7 a call without an id has an empty one, for the runtime to fill", () => {
  const call = { name: "look_up", arguments: { word: "a" } };
  const ours = [{ id: "", name: "look_up", arguments: '{"word":"a"}' }];
  const responses = { status: "completed", output: [{ type: "function_call", ...call }] };
  expect(answerOf(fromResponses(responses, {})).message.toolCalls).toEqual(ours);
  const chat = { choices: [{ message: { content: null, tool_calls: [{ type: "function", function: call }] } }] };
  expect(answerOf(fromChat(chat, undefined)).message.toolCalls).toEqual(ours);
});

describe("LOOP-5 an answer that is not whole says so", () => {
  test.each([
    ["max_output_tokens", "length"],
    ["content_filter", "content-filter"],
    ["something_new", "length"],
  ])("LOOP-5 Responses, incomplete for %s", (reason, finishReason) => {
    const body = { ...fixture("responses-tool-calls"), status: "incomplete", incomplete_details: { reason } };
    expect(answerOf(fromResponses(body, {})).finishReason).toBe(finishReason);
  });

  test.each([
    ["length", "length"],
    ["content_filter", "content-filter"],
    ["tool_calls", "other"],
    ["something_new", "other"],
  ])("LOOP-5 Chat Completions, finished for %s", (finish_reason, finishReason) => {
    const body = { choices: [{ message: { content: "x" }, finish_reason }] };
    expect(answerOf(fromChat(body, undefined)).finishReason).toBe(finishReason);
  });

  test("LOOP-5 Chat Completions, broken while it answered", () => {
    const choice = { message: { content: "half an ans" }, finish_reason: "error" };
    expect(fromChat({ choices: [choice] }, undefined)).toMatchObject({ failure: "provider", reason: "unknown" });
    const error = { code: 502, message: "Upstream broke." };
    expect(fromChat({ choices: [{ ...choice, error }] }, undefined)).toMatchObject({
      failure: "throttle",
      kind: "server_error",
      message: error.message,
    });
  });

  test("LOOP-5 a refusal is distinguished from text", () => {
    const output = [{ type: "message", content: [{ type: "refusal", refusal: "No." }] }];
    expect(answerOf(fromResponses({ status: "completed", output }, {}))).toMatchObject({
      message: { text: "" },
      refusal: "No.",
    });
    const chat = { choices: [{ message: { content: null, refusal: "No." }, finish_reason: "stop" }] };
    expect(answerOf(fromChat(chat, undefined)).refusal).toBe("No.");
  });

  test.each([
    ["server_error", { failure: "throttle", kind: "server_error" }],
    ["rate_limit_exceeded", { failure: "throttle", kind: "rate_limit" }],
    ["insufficient_quota", { failure: "throttle", kind: "quota_exhausted" }],
    ["invalid_prompt", { failure: "provider", reason: "bad_request" }],
    ["constructor", { failure: "provider", reason: "unknown" }],
  ])("LOOP-5 a failed response with the code %s is a failure with its usage", (code, expected) => {
    const error = { code, message: "It broke." };
    const body = { ...fixture("responses-text"), status: "failed", error, output: [] };
    expect(fromResponses(body, {})).toMatchObject({
      ...expected,
      message: "It broke.",
      payload: body,
      usage: { inputTokens: 10 },
    });
  });

  test.each(["in_progress", "queued", "cancelled", "novel", undefined, 5])(
    "LOOP-5 the status %s is a failure",
    (status) => {
      const body = { ...fixture("responses-text"), status };
      expect(fromResponses(body, {})).toMatchObject({
        failure: "provider",
        reason: "invalid_response",
        payload: body,
      });
    },
  );

  const wrong: readonly unknown[] = [null, undefined, "<html>", [], 5, {}];
  const wrongResponses: readonly unknown[] = [...wrong, { status: "completed" }, { status: "completed", output: "x" }];
  const wrongChats: readonly unknown[] = [
    ...wrong,
    { choices: [] },
    { choices: [null] },
    { choices: [{ message: null }] },
  ];
  test.each([
    ...wrongResponses.map((body) => ({ api: "responses", body, answer: fromResponses(body, {}) })),
    ...wrongChats.map((body) => ({ api: "chat", body, answer: fromChat(body, undefined) })),
  ])("LOOP-5 $api: $body is an invalid response with its payload", ({ body, answer }) => {
    expect(answer).toMatchObject({ failure: "provider", reason: "invalid_response" });
    expect(answer.payload).toEqual(body);
  });
});
