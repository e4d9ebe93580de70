import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { aiSdk, type LanguageModel } from "@proviso/adapter-ai-sdk";
import { definePrompt, defineTool, type PromptResponse } from "@proviso/core";
import { startServer, type Received } from "@proviso/fault-matrix/loopback-server";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { captured } from "./support/captured.ts";

const lookUp = defineTool({
  name: "look_up",
  description: "Looks a word up.",
  input: z.object({ word: z.string() }),
  execute: ({ word }) => (word === "a" ? "a letter" : Promise.reject(new Error("There is no such word."))),
});
const prompt = definePrompt({
  ns: "tests",
  key: "three-wires",
  sections: [
    { key: "guide", text: "Look words up.", tools: [lookUp] },
    { key: "request", text: "What are a and b?", role: "user" },
  ],
});

interface Wire {
  readonly name: string;
  model(baseURL: string): LanguageModel;
  readonly answers: readonly string[];
  readonly text: string;
}
const wires: readonly Wire[] = [
  {
    name: "anthropic",
    model: (baseURL) => createAnthropic({ baseURL, apiKey: "key-12345678" })("claude-sonnet-4-5"),
    answers: ["anthropic-thinking-tools", "anthropic-text"],
    text: "a is a letter.",
  },
  {
    name: "gemini",
    model: (baseURL) => createGoogle({ baseURL, apiKey: "key-12345678" })("gemini-2.5-flash"),
    answers: ["gemini-thinking-tools", "gemini-text"],
    text: "a is a letter.",
  },
  {
    name: "responses",
    model: (baseURL) => createOpenAI({ baseURL, apiKey: "key-12345678" }).responses("gpt-5.4"),
    answers: ["responses-reasoning-tools", "responses-text"],
    text: "a is a letter.\nSo is b.",
  },
];

async function evaluated(
  { model, answers }: Wire,
  way: "json" | "sse",
): Promise<{ response: PromptResponse<string>; second: Received["body"]; first: Received["body"] }> {
  await using service = await startServer(...answers.map((name) => captured(`${name}.${way}`)));
  const adapter = aiSdk({ model: model(service.baseURL), providerOptions: { openai: { store: false } } });
  const response =
    way === "json" ? await adapter.evaluate(prompt.bind({})) : await adapter.stream(prompt.bind({})).response;
  const [first, second] = service.requests;
  return { response, first: first?.body ?? {}, second: second?.body ?? {} };
}

function wire(name: string): Wire {
  const found = wires.find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no wire ${name}.`);
  return found;
}

describe.each(wires)("$name", (one) => {
  test("PRO-1 AIS-1 the same conversation on a wire of its own, one request a turn", async () => {
    const { response } = await evaluated(one, "json");
    expect(response.text).toBe(one.text);
    expect(response.turns).toBe(2);
    expect(response.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "assistant"]);
    const [a, b] = response.toolResults;
    expect(a?.params).toEqual({ word: "a" });
    expect(b?.result).toMatchObject({ success: false, message: "There is no such word." });
    expect(response.usage).toMatchObject({ outputTokens: 51, estimated: false, cachedInputTokens: 64 });
  });
});

describe.each(wires.filter(({ name }) => name !== "responses"))("$name as a stream", (one) => {
  test("STR-1 AIS-8 a stream gives the same conversation and sends the same second request", async () => {
    const json = await evaluated(one, "json");
    const sse = await evaluated(one, "sse");
    expect(sse.response.text).toBe(json.response.text);
    expect(sse.response.usage).toEqual(json.response.usage);
    expect(withoutIds(sse.second["messages"] ?? sse.second["contents"])).toEqual(
      withoutIds(json.second["messages"] ?? json.second["contents"]),
    );
  });
});

/** Gemini gives calls no ids: they are made up. */
function withoutIds(messages: unknown): unknown {
  return JSON.parse(JSON.stringify(messages).replaceAll(/"id":"\w{16}"/g, '"id":"made-up"'));
}

test("AIS-6 AIS-8 Anthropic: the system text apart, thinking with its signature, answers together, an error marked", async () => {
  const { first, second } = await evaluated(wire("anthropic"), "json");
  expect(first["system"]).toEqual([{ type: "text", text: "Look words up." }]);
  expect(first["messages"]).toEqual([{ role: "user", content: [{ type: "text", text: "What are a and b?" }] }]);
  expect(second["messages"]).toEqual([
    { role: "user", content: [{ type: "text", text: "What are a and b?" }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Two words to look up.", signature: "EqQBCkYIBxgCKkA=" },
        { type: "redacted_thinking", data: "EmwKAhgBEgy3va3pzix=" },
        { type: "text", text: "I look them up." },
        { type: "tool_use", id: "toolu_01", name: "look_up", input: { word: "a" } },
        { type: "tool_use", id: "toolu_02", name: "look_up", input: { word: "b" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_01", content: "a letter" },
        { type: "tool_result", tool_use_id: "toolu_02", content: "There is no such word.", is_error: true },
      ],
    },
  ]);
});

test("AIS-5 AIS-8 Gemini: the system instruction apart, the signature on its call, as many answers as calls in one turn", async () => {
  const { first, second, response } = await evaluated(wire("gemini"), "json");
  expect(first["systemInstruction"]).toEqual({ parts: [{ text: "Look words up." }] });
  const [a, b] = response.toolResults.map(({ callId }) => callId);
  expect(a).not.toBe(b);
  expect(second["contents"]).toEqual([
    { role: "user", parts: [{ text: "What are a and b?" }] },
    {
      role: "model",
      parts: [
        { text: "Two words to look up.", thought: true },
        { functionCall: { id: a, name: "look_up", args: { word: "a" } }, thoughtSignature: "CikBVKhc7kpT" },
        { functionCall: { id: b, name: "look_up", args: { word: "b" } } },
      ],
    },
    {
      role: "user",
      parts: [
        { functionResponse: { id: a, name: "look_up", response: { name: "look_up", content: "a letter" } } },
        {
          functionResponse: { id: b, name: "look_up", response: { name: "look_up", error: "There is no such word." } },
        },
      ],
    },
  ]);
});

test("AIS-7 AIS-8 Responses: encrypted reasoning, and arguments byte for byte", async () => {
  const { second } = await evaluated(wire("responses"), "json");
  expect(second["input"]).toMatchObject([
    { role: "developer", content: "Look words up." },
    { role: "user" },
    { type: "reasoning", id: "rs_01", encrypted_content: "gAAAAABo" },
    { role: "assistant", content: "I look them up." },
    { type: "function_call", call_id: "call_01", arguments: '{ "word":"a" }' },
    { type: "function_call", call_id: "call_02", arguments: '{"word":"b"}' },
    { type: "function_call_output", call_id: "call_01", output: "a letter" },
    { type: "function_call_output", call_id: "call_02", output: "There is no such word." },
  ]);
  expect(second["include"]).toEqual(["reasoning.encrypted_content"]);
});

test("AIS-10 tools are sent as strict or not where the default would be strict", async () => {
  const anthropic = await evaluated(wire("anthropic"), "json");
  expect(anthropic.first["tools"]).toMatchObject([{ name: "look_up" }]);
  expect(JSON.stringify(anthropic.first["tools"])).not.toContain("strict");
  const responses = await evaluated(wire("responses"), "json");
  expect(responses.first["tools"]).toMatchObject([{ name: "look_up", strict: true }]);
});
