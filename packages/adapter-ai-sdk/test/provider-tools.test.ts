import { anthropic, createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI, openai } from "@ai-sdk/openai";
import { aiSdk, aiSdkTool } from "@proviso/adapter-ai-sdk";
import { definePrompt, type ProviderTool, type ProviderToolUsed } from "@proviso/core";
import { answering, startServer } from "@proviso/fault-matrix/loopback-server";
import { createSession } from "@proviso/runtime";
import { recordEvents } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { finish, mockModel } from "./support/mock-model.ts";

const apiKey = "key-12345678";
const asking = (tool: ProviderTool, text = "What is new?") =>
  definePrompt({ key: "news", sections: [{ key: "task", role: "user", text, providerTools: [tool] }] }).bind();

const found = {
  type: "web_search_result",
  url: "https://nodejs.org/",
  title: "Node",
  page_age: null,
  encrypted_content: "sealed",
};
const anthropicAnswer = {
  id: "msg_01",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5",
  content: [
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "node 24" } },
    { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [found] },
    { type: "text", text: "V8 13.6." },
  ],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 150, output_tokens: 9 },
};
const responsesAnswer = (...items: readonly object[]) => ({
  id: "resp_01",
  object: "response",
  created_at: 1795219200,
  status: "completed",
  error: null,
  incomplete_details: null,
  model: "gpt-5.4",
  output: [
    ...items,
    {
      id: "msg_01",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "V8 13.6.", annotations: [] }],
    },
  ],
  usage: { input_tokens: 150, output_tokens: 9, total_tokens: 159 },
});

describe("PTL-1 a tool of a provider's package", () => {
  test("PTL-1 AIS-26 is declared with its id and arguments, under its own name or the one that is given", () => {
    const own = aiSdkTool(anthropic.tools.webSearch_20250305({ maxUses: 3 }));
    expect(own).toEqual({
      name: "web_search_20250305",
      id: "anthropic.web_search_20250305",
      args: { maxUses: 3 },
    });
    expect(aiSdkTool(openai.tools.webSearch({}), "search")).toMatchObject({ name: "search", id: "openai.web_search" });
    // The form of `ai` 5.
    const older = { type: "provider-defined", id: "openai.web_search", name: "web_search", args: { size: 1 } };
    expect(aiSdkTool(older)).toEqual({ name: "web_search", id: "openai.web_search", args: { size: 1 } });
  });

  test.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /needs a tool of a provider's package/],
    ["a tool with a handler", { type: "function", id: "a.b" }, /needs a tool of a provider's package/],
    ["a tool that the program runs", anthropic.tools.bash_20250124({}), /run by the program.* defineTool/],
    ["an id without a provider", { type: "provider", id: "search", args: {} }, /needs an id such as/],
    ["arguments that are no JSON", { type: "provider", id: "a.b", args: { n: 1n } }, /must be plain JSON/],
  ])("PTL-1 AIS-26 %s is refused when it is declared", (_, tool, message) => {
    expect(() => aiSdkTool(tool)).toThrow(message);
    expect(() => aiSdkTool(tool)).toThrow(expect.objectContaining({ name: "DefinitionError" }));
  });
});

test("PTL-3 PTL-4 a search that Anthropic runs is sent, reported and replayed with what it sealed", async () => {
  await using server = await startServer(answering(200, anthropicAnswer));
  const model = createAnthropic({ baseURL: server.baseURL, apiKey })("claude-sonnet-4-5");
  const adapter = aiSdk({ model, secrets: [apiKey] });
  const search = aiSdkTool(anthropic.tools.webSearch_20250305({ maxUses: 3 }), "search");
  const session = createSession();
  const events = recordEvents(session);
  const response = await adapter.evaluate(asking(search), { session });
  expect(server.requests[0]?.body["tools"]).toEqual([{ type: "web_search_20250305", name: "web_search", max_uses: 3 }]);
  const types = events.map(({ type }) => type).filter((type) => /^(provider|tool)\./.test(type));
  expect(types).toEqual(["provider.requested", "provider.tool", "provider.responded"]);
  const [used] = events.filter((event): event is ProviderToolUsed => event.type === "provider.tool");
  expect(used).toMatchObject({
    callId: "srvtoolu_1",
    name: "search",
    input: { query: "node 24" },
    output: [{ url: "https://nodejs.org/", title: "Node" }],
    isError: false,
  });
  expect(response.output).toBe("V8 13.6.");
  await adapter.evaluate(asking(search, "And before?"), { messages: response.messages });
  const replayed = JSON.stringify(server.requests[1]?.body["messages"]);
  expect(replayed).toContain('"type":"server_tool_use","id":"srvtoolu_1"');
  expect(replayed).toContain('"encrypted_content":"sealed"');
});

test("PTL-3 a search that OpenAI runs is reported under the prompt's name", async () => {
  const item = (id: string, status: string) => ({
    type: "web_search_call",
    id,
    status,
    action: { type: "search", query: "node 24" },
  });
  await using server = await startServer(answering(200, responsesAnswer(item("ws_1", "completed"))));
  const model = createOpenAI({ baseURL: server.baseURL, apiKey }).responses("gpt-5.4");
  const session = createSession();
  const events = recordEvents(session);
  const search = aiSdkTool(openai.tools.webSearch({ searchContextSize: "low" }), "search");
  await aiSdk({ model, secrets: [apiKey] }).evaluate(asking(search), { session });
  expect(server.requests[0]?.body["tools"]).toEqual([{ type: "web_search", search_context_size: "low" }]);
  const [used] = events.filter((event): event is ProviderToolUsed => event.type === "provider.tool");
  expect(used).toMatchObject({ callId: "ws_1", name: "search", isError: false });
  expect(JSON.stringify(used?.output)).toContain("node 24");
});

test("PTL-3 FILE-1 a picture that OpenAI makes is a file, and its bytes are in no event and no message", async () => {
  const bytes = Buffer.from(`\u0089PNG\r\n\u001a\n${"a picture ".repeat(20)}`, "latin1");
  const picture = { type: "image_generation_call", id: "ig_1", status: "completed", result: bytes.toString("base64") };
  await using server = await startServer(answering(200, responsesAnswer(picture)));
  const model = createOpenAI({ baseURL: server.baseURL, apiKey }).responses("gpt-5.4");
  const session = createSession();
  const events = recordEvents(session);
  const draw = aiSdkTool(openai.tools.imageGeneration({}), "draw");
  const { files, messages } = await aiSdk({ model, secrets: [apiKey] }).evaluate(asking(draw, "Draw."), { session });
  expect(files).toMatchObject([{ kind: "stored", mediaType: "image/png", bytes: bytes.length }]);
  const [used] = events.filter((event): event is ProviderToolUsed => event.type === "provider.tool");
  expect(used).toMatchObject({ callId: "ig_1", name: "draw" });
  expect(used).not.toHaveProperty("output");
  expect(JSON.stringify([events, messages])).not.toContain(bytes.toString("base64").slice(0, 64));
});

test("PTL-4 streamed: preliminary results are none, and a call beside one of ours is not run here", async () => {
  const call = { type: "tool-call", toolCallId: "p1", toolName: "search", input: '{"q":1}', providerExecuted: true };
  const result = { type: "tool-result", toolCallId: "p1", toolName: "search" };
  const model = mockModel(
    [
      [
        call,
        { ...result, result: { part: true }, preliminary: true },
        { ...result, result: { whole: true }, isError: true },
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "Yes." },
        { type: "text-end", id: "t" },
        finish(),
      ] as never,
    ],
    "anthropic.messages",
  );
  const search = aiSdkTool(anthropic.tools.webSearch_20250305({}), "search");
  const stream = aiSdk({ model }).stream(asking(search));
  const used: unknown[] = [];
  for await (const event of stream) if (event.type === "provider.tool") used.push(event);
  expect(used).toMatchObject([
    { callId: "p1", name: "search", input: { q: 1 }, output: { whole: true }, isError: true },
  ]);
  expect((await stream.response).toolResults).toEqual([]);
});

test("PTL-2 Chat Completions and other providers' tools are refused before anything is sent", async () => {
  await using server = await startServer(answering(200, anthropicAnswer));
  const { baseURL } = server;
  const search = aiSdkTool(openai.tools.webSearch({}));
  const chat = aiSdk({ model: createOpenAI({ baseURL, apiKey }).chat("gpt-5.4") });
  const other = aiSdk({ model: createAnthropic({ baseURL, apiKey })("claude-sonnet-4-5") });
  for (const adapter of [chat, other]) {
    await expect(adapter.evaluate(asking(search))).rejects.toMatchObject({ code: "provider", reason: "bad_request" });
  }
  expect(server.requests).toEqual([]);
});
