import { createAnthropic } from "@ai-sdk/anthropic";
import { aiSdk, aiSdkTool } from "@proviso/adapter-ai-sdk";
import { definePrompt } from "@proviso/core";
import { answering, startServer, type Respond } from "@proviso/fault-matrix/loopback-server";
import { expect, test } from "vitest";

// Source: Claude API reference, "Handling stop reasons": a paused answer is sent back as it is.
const searched = [
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "node 24" } },
  {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: [
      {
        type: "web_search_result",
        url: "https://nodejs.org",
        title: "Node",
        encrypted_content: "abc",
        page_age: null,
      },
    ],
  },
];
const usage = { input_tokens: 10, output_tokens: 5 };
const text = (said: string) => ({ type: "text", text: said });
const json = (content: readonly object[], stop_reason: string): Respond =>
  answering(200, {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content,
    stop_reason,
    stop_sequence: null,
    usage,
  });
function streamed(content: readonly object[], stop_reason: string): Respond {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "claude", content: [], usage };
  const blocks = content.flatMap((block, index) => {
    const { input, ...rest } = block as { readonly input?: object; readonly type: string; readonly text?: string };
    const given = rest.type === "text" ? { ...rest, text: "" } : { ...rest, ...(input && { input: {} }) };
    const delta = rest.type === "text" ? { type: "text_delta", text: rest.text } : undefined;
    const args = input && { type: "input_json_delta", partial_json: JSON.stringify(input) };
    return [
      { type: "content_block_start", index, content_block: given },
      ...[delta, args].flatMap((one) => (one ? [{ type: "content_block_delta", index, delta: one }] : [])),
      { type: "content_block_stop", index },
    ];
  });
  const events = [
    { type: "message_start", message },
    ...blocks,
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ];
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  return answering(200, body, { "content-type": "text/event-stream" });
}

test.each([
  ["as JSON", json],
  ["streamed", streamed],
] as const)("LOOP-10 Anthropic's paused answer goes back as it is, %s", async (how, answer) => {
  for (const before of [[text("I look it up. ")], []]) {
    const first = [...before, ...searched];
    await using server = await startServer(answer(first, "pause_turn"), answer([text("Node 24 is out.")], "end_turn"));
    const anthropic = createAnthropic({ apiKey: "key-12345678", baseURL: server.baseURL });
    const search = aiSdkTool(anthropic.tools.webSearch_20250305());
    const prompt = definePrompt({
      key: "news",
      sections: [{ key: "t", role: "user", text: "What is new in Node?", providerTools: [search] }],
    }).bind();
    const adapter = aiSdk({ model: anthropic("claude-sonnet-4-5") });
    const { output, turns } =
      how === "streamed" ? await adapter.stream(prompt).response : await adapter.evaluate(prompt);
    expect({ output, turns }).toEqual({
      output: before.length === 0 ? "Node 24 is out." : "I look it up. Node 24 is out.",
      turns: 2,
    });
    const messages = server.requests[1]?.body["messages"] as readonly { role: string; content: readonly object[] }[];
    expect(messages).toHaveLength(2);
    expect(messages[1]?.role).toBe("assistant");
    expect(messages[1]?.content).toMatchObject(first);
  }
});
