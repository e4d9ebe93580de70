import type { Message } from "@proviso/core";
import { lookUp, requestOf } from "@proviso/fault-matrix/requests";
import { describe, expect, test } from "vitest";
import type { CheckedOptions, OpenAIOptions } from "../src/options.ts";
import { asSent, toChat, toResponses } from "./support/bodies.ts";

const settings: OpenAIOptions = {
  model: "gpt-test",
  temperature: 0,
  topP: 0.5,
  maxOutputTokens: 100,
  reasoningEffort: "low",
  logprobs: true,
  topLogprobs: 2,
  parallelToolCalls: false,
  store: false,
  user: "u1",
};
const bare = (api: "responses" | "chat"): CheckedOptions => ({ model: "gpt-test", api });

describe("PRO-2 only what was set is sent", () => {
  test("PRO-2 a bare request has the model and the messages", () => {
    expect(toResponses(bare("responses"), requestOf())).toEqual({
      model: "gpt-test",
      input: [{ role: "user", content: "Hello" }],
    });
    expect(toChat(bare("chat"), requestOf())).toEqual({
      model: "gpt-test",
      messages: [{ role: "user", content: "Hello" }],
    });
  });

  test("PRO-2 each setting has its name on the wire of Responses", () => {
    const {
      input: _,
      tools: __,
      ...body
    } = toResponses({ ...settings, api: "responses" }, requestOf({ tools: [lookUp] }));
    expect(body).toEqual({
      model: "gpt-test",
      parallel_tool_calls: false,
      include: ["reasoning.encrypted_content", "message.output_text.logprobs"],
      temperature: 0,
      top_p: 0.5,
      max_output_tokens: 100,
      reasoning: { effort: "low" },
      top_logprobs: 2,
      store: false,
      user: "u1",
    });
  });

  test("PRO-2 each setting has its name on the wire of Chat Completions", () => {
    const chat = { seed: 7, stop: ["END"], presencePenalty: 1, frequencyPenalty: -1 };
    const {
      messages: _,
      tools: __,
      ...body
    } = toChat({ ...settings, ...chat, api: "chat" }, requestOf({ tools: [lookUp] }));
    expect(body).toEqual({
      model: "gpt-test",
      parallel_tool_calls: false,
      temperature: 0,
      top_p: 0.5,
      max_completion_tokens: 100,
      reasoning_effort: "low",
      logprobs: true,
      top_logprobs: 2,
      store: false,
      user: "u1",
      seed: 7,
      stop: ["END"],
      presence_penalty: 1,
      frequency_penalty: -1,
    });
  });
});

test("OAI-3 extraBody is laid over the body last, and undefined takes a field away", () => {
  const extraBody = { temperature: 1, include: undefined, service_tier: "flex" };
  const body = toResponses({ ...settings, api: "responses", extraBody }, requestOf());
  expect(body).toMatchObject({ temperature: 1, service_tier: "flex" });
  expect(body).not.toHaveProperty("include");
});

test("TOOL-9 without tools no choice is sent, nor whether calls may be parallel", () => {
  for (const toolChoice of ["required", { tool: "look_up" }] as const) {
    const request = requestOf({ toolChoice });
    for (const body of [
      toResponses({ ...settings, api: "responses" }, request),
      toChat({ ...settings, api: "chat" }, request),
    ]) {
      for (const key of ["tools", "tool_choice", "parallel_tool_calls"]) expect(body).not.toHaveProperty(key);
    }
  }
});

test("TOOL-9 a choice is sent as each API names it", () => {
  const forced = requestOf({ tools: [lookUp], toolChoice: { tool: "look_up" } });
  expect(toResponses(bare("responses"), forced)["tool_choice"]).toEqual({ type: "function", name: "look_up" });
  expect(toChat(bare("chat"), forced)["tool_choice"]).toEqual({ type: "function", function: { name: "look_up" } });
  for (const toolChoice of ["auto", "none", "required"] as const) {
    const request = requestOf({ tools: [lookUp], toolChoice });
    expect(toResponses(bare("responses"), request)["tool_choice"]).toBe(toolChoice);
    expect(toChat(bare("chat"), request)["tool_choice"]).toBe(toolChoice);
  }
});

const history: readonly Message[] = [
  { role: "system", text: "Guide" },
  { role: "user", text: "Hello" },
  { role: "assistant", text: "So.", toolCalls: [{ id: "c1", name: "look_up", arguments: '{ "word":"a" }' }] },
  { role: "tool", callId: "c1", name: "look_up", text: "found", isError: false },
];

test("LOOP-2 a history is sent with its text beside calls and its arguments byte for byte", () => {
  expect(toResponses(bare("responses"), requestOf({ messages: history }))["input"]).toEqual([
    { role: "system", content: "Guide" },
    { role: "user", content: "Hello" },
    { role: "assistant", content: "So." },
    { type: "function_call", call_id: "c1", name: "look_up", arguments: '{ "word":"a" }' },
    { type: "function_call_output", call_id: "c1", output: "found" },
  ]);
  const call = { id: "c1", type: "function", function: { name: "look_up", arguments: '{ "word":"a" }' } };
  expect(toChat(bare("chat"), requestOf({ messages: history }))["messages"]).toEqual([
    { role: "system", content: "Guide" },
    { role: "user", content: "Hello" },
    { role: "assistant", content: "So.", tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content: "found" },
  ]);
});

test("LOOP-2 a call without text has null content on the wire of Chat Completions", () => {
  const calls: Message = { role: "assistant", text: "", toolCalls: [{ id: "c1", name: "look_up", arguments: "" }] };
  expect(toChat(bare("chat"), requestOf({ messages: [calls] }))["messages"]).toMatchObject([{ content: null }]);
  expect(asSent(toResponses(bare("responses"), requestOf({ messages: [calls] })))["input"]).toHaveLength(1);
});

test("OAI-4 a message is converted once", () => {
  for (const [convert, key] of [
    [toResponses, "input"],
    [toChat, "messages"],
  ] as const) {
    const api = convert === toResponses ? "responses" : "chat";
    const first = convert(bare(api), requestOf({ messages: history }))[key] as readonly unknown[];
    const second = convert(bare(api), requestOf({ messages: [...history] }))[key] as readonly unknown[];
    expect(second.every((item, at) => item === first[at])).toBe(true);
  }
});
