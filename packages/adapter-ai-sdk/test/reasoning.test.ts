import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { definePrompt, defineProviderTool, defineTool, type ProviderAdapter, type StreamEvent } from "@proviso/core";
import { answering, startServer } from "@proviso/fault-matrix/loopback-server";
import { fallback } from "@proviso/runtime/routing";
import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import { z } from "zod";
import { finish, mockModel } from "./support/mock-model.ts";

const ask = definePrompt({ key: "ask", text: "Question." }).bind();
const content = [
  { type: "reasoning", text: "First." },
  { type: "reasoning", text: "Then." },
  { type: "source", sourceType: "url", id: "1", url: "https://a.example/", title: "A" },
  { type: "text", text: "Yes." },
] as const;

test("RSN-1 RSN-2 SRC-1 thoughts and sources of a model are read, streamed or not", async () => {
  const model = mockModel([
    { content: [...content] },
    [
      { type: "reasoning-start", id: "r1" },
      { type: "reasoning-delta", id: "r1", delta: "First." },
      { type: "reasoning-end", id: "r1" },
      { type: "reasoning-start", id: "r2" },
      { type: "reasoning-delta", id: "r2", delta: "Then." },
      { type: "reasoning-end", id: "r2" },
      content[2],
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "Yes." },
      { type: "text-end", id: "t" },
      finish(),
    ],
  ]);
  const expected = {
    reasoning: "First.\n\nThen.",
    sources: [{ kind: "url", url: "https://a.example/", title: "A" }],
    output: "Yes.",
  };
  const adapter = aiSdk({ model });
  expect(await adapter.evaluate(ask)).toMatchObject(expected);
  const stream = adapter.stream(ask);
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(event);
  expect(await stream.response).toMatchObject(expected);
  expect(events.flatMap((event) => (event.type === "reasoning.delta" ? event.text : []))).toEqual([
    "First.",
    "\n\nThen.",
  ]);
  expect(events.some(({ type }) => type === "text.reset")).toBe(false);
});

test("PTL-2 a provider tool is refused before anything is sent", async () => {
  const search = defineProviderTool({ name: "search", id: "openai.web_search" });
  const prompt = definePrompt({ key: "news", sections: [{ key: "task", text: "New?", providerTools: [search] }] });
  const model = mockModel([{ content: [...content] }]);
  await expect(aiSdk({ model }).evaluate(prompt.bind())).rejects.toMatchObject({ reason: "bad_request" });
});

const apiKey = "key-12345678";
const wires: Readonly<Record<string, (baseURL: string) => ProviderAdapter>> = {
  responses: (baseURL) => aiSdk({ model: createOpenAI({ baseURL, apiKey }).responses("gpt-5.4") }),
  chat: (baseURL) => aiSdk({ model: createOpenAI({ baseURL, apiKey }).chat("gpt-5.4") }),
  anthropic: (baseURL) => aiSdk({ model: createAnthropic({ baseURL, apiKey })("claude-opus-4-8") }),
  google: (baseURL) => aiSdk({ model: createGoogle({ baseURL, apiKey })("gemini-3-pro-preview") }),
  compatible: (baseURL) => aiSdk({ model: createOpenAICompatible({ name: "here", baseURL, apiKey })("some") }),
  litellm: (baseURL) => litellm({ model: "some", baseURL, apiKey }),
};

test.each<[string, object]>([
  ["responses", { reasoning: { effort: "high" } }],
  ["chat", { reasoning_effort: "high" }],
  ["anthropic", { output_config: { effort: "high" } }],
  ["google", { generationConfig: { thinkingConfig: { thinkingLevel: "high" } } }],
  ["compatible", { reasoning_effort: "high" }],
  ["litellm", { reasoning_effort: "high" }],
])("RSN-4 the effort reaches %s in the service's own field", async (name, expected) => {
  await using server = await startServer(answering(400, { error: { message: "no" } }));
  const adapter = wires[name]?.(server.baseURL) as ProviderAdapter;
  const settings = { reasoning: { effort: "high" } } as const;
  await expect(adapter.evaluate(ask, { settings })).rejects.toMatchObject({ code: "provider" });
  expect(server.requests[0]?.body).toMatchObject(expected);
});

test("RSN-4 SET-2 a summary is asked of responses; the other wires have no way to, and refuse it", async () => {
  await using server = await startServer(answering(400, { error: { message: "no" } }));
  const settings = { reasoning: { effort: "low", summary: "auto" } } as const;
  for (const make of Object.values(wires)) {
    await expect(make(server.baseURL).evaluate(ask, { settings })).rejects.toMatchObject({ reason: "bad_request" });
  }
  expect(server.requests.map(({ body }) => body["reasoning"])).toEqual([{ effort: "low", summary: "auto" }]);
});

test.each([false, true])("RSN-3 what another key has stored is left out, with streams: %s", async (streams) => {
  const steps = [
    { reasoning: "Hm.", toolCalls: [{ name: "look", arguments: {} }] },
    { status: 429, headers: { "retry-after": "60" }, body: { error: { message: "Slow down." } } },
    { text: "done" },
    { text: "again" },
    { text: "sure" },
  ];
  await using simulator = await startSimulator({ steps });
  const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "seen" });
  const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Look.", tools: [look] }] }).bind();
  const at = (key: string) =>
    aiSdk({ model: createOpenAI({ apiKey: key, baseURL: simulator.baseURL })("gpt-5.4"), secrets: [key] });
  const chain = fallback([at("key-of-one-account"), at("key-of-another-account")]);
  const { text, messages } = streams ? await chain.stream(prompt).response : await chain.evaluate(prompt);
  expect(text).toBe("done");
  const rest = fallback([at("key-of-another-account")]);
  expect((await rest.evaluate("And now?", { messages })).text).toBe("again");
  await rest.evaluate("Sure?", { messages: JSON.parse(JSON.stringify(messages)) as typeof messages });
  expect(simulator.requests.map(({ status }) => status)).toEqual([200, 429, 404, 200, 404, 200, 200]);
  expect(JSON.stringify(simulator.requests[3]?.body)).not.toContain("item_reference");
});

test("RSN-3 what OpenAI has stored goes back by its id, with a tool between", async () => {
  const steps = [{ reasoning: "Hm.", toolCalls: [{ name: "look", arguments: {} }] }, { text: "done" }];
  await using simulator = await startSimulator({ steps });
  const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "seen" });
  const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Look.", tools: [look] }] }).bind();
  const model = createOpenAI({ apiKey, baseURL: simulator.baseURL })("gpt-5.4");
  const { output } = await aiSdk({ model, secrets: [apiKey] }).evaluate(prompt);
  expect(output).toBe("done");
  expect(JSON.stringify(simulator.requests[1]?.body)).toContain("item_reference");
});
