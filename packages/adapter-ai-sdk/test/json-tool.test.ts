import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { aiSdk, type LanguageModel } from "@proviso/adapter-ai-sdk";
import { definePrompt, defineTool } from "@proviso/core";
import { answering, startServer, type Respond } from "@proviso/fault-matrix/loopback-server";
import { expect, test } from "vitest";
import { z } from "zod";
import { mockModel } from "./support/mock-model.ts";

const usage = { input_tokens: 10, output_tokens: 5 };
const anthropicAnswer = (content: readonly object[], stop_reason: string): Respond =>
  answering(200, {
    id: "m",
    type: "message",
    role: "assistant",
    model: "c",
    content,
    stop_reason,
    stop_sequence: null,
    usage,
  });
const callOf = (id: string, name: string, input: object): object => ({ type: "tool_use", id, name, input });

function prompting() {
  const read: string[] = [];
  const toolNamed = (name: string) =>
    defineTool({
      name,
      description: "Reads a file.",
      input: z.object({ path: z.string() }),
      execute: ({ path }) => `${name} ${read.push(`${name} ${path}`)}`,
    });
  const prompt = definePrompt({
    key: "reading",
    output: z.object({ n: z.number() }),
    sections: [{ key: "t", role: "user", text: "Read.", tools: [toolNamed("json"), toolNamed("json_")] }],
  }).bind();
  return { prompt, read };
}

test.each(["claude-3-5-haiku-latest", "claude-sonnet-4-5"])(
  "AIS-24 tools named json and json_ beside an output are called on %s, and are not the package's own",
  async (id) => {
    await using server = await startServer(
      anthropicAnswer([callOf("1", "json_", { path: "a" }), callOf("2", "json__", { path: "b" })], "tool_use"),
      id.includes("3-5")
        ? anthropicAnswer([callOf("3", "json", { n: 2 })], "tool_use")
        : anthropicAnswer([{ type: "text", text: '{"n":2}' }], "end_turn"),
    );
    const { prompt, read } = prompting();
    const model = createAnthropic({ apiKey: "key-12345678", baseURL: server.baseURL })(id);
    const { output, toolResults } = await aiSdk({ model }).evaluate(prompt);
    expect(output).toEqual({ n: 2 });
    expect(read).toEqual(["json a", "json_ b"]);
    expect(toolResults.map(({ name }) => name)).toEqual(["json", "json_"]);
    const [first = {}, second = {}] = server.requests.map(({ body }) => body);
    const names = (first["tools"] as readonly { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(["json_", "json__", ...(id.includes("3-5") ? ["json"] : [])]);
    const [, assistant] = second["messages"] as readonly { content: readonly object[] }[];
    expect(assistant?.content).toMatchObject([{ name: "json_" }, { name: "json__" }]);
  },
);

test("AIS-24 a choice of the tool json, and calls in a history, go by the name that is sent", async () => {
  await using server = await startServer(anthropicAnswer([{ type: "text", text: "Fine." }], "end_turn"));
  const model = createAnthropic({ apiKey: "key-12345678", baseURL: server.baseURL })("claude-sonnet-4-5");
  const tool = defineTool({
    name: "json",
    description: "Reads a file.",
    input: z.object({ path: z.string() }),
    execute: ({ path }) => path,
  });
  const prompt = definePrompt({ key: "plain", sections: [{ key: "t", role: "user", text: "Read.", tools: [tool] }] });
  await aiSdk({ model }).evaluate(prompt.bind(), {
    toolChoice: { tool: "json" },
    messages: [
      { role: "user", text: "Read." },
      { role: "assistant", text: "", toolCalls: [{ id: "1", name: "json", arguments: '{"path":"a"}' }] },
      { role: "tool", callId: "1", name: "json", text: "a", isError: false },
    ],
  });
  const body = server.requests[0]?.body;
  expect(body?.["tool_choice"]).toMatchObject({ type: "tool", name: "json_" });
  expect(JSON.stringify(body)).not.toContain('"name":"json"');
});

test("AIS-24 Google's package keeps its own tool apart, and others have none: json stays json", async () => {
  const part = (one: object): object => ({
    candidates: [{ content: { role: "model", parts: [one] }, finishReason: "STOP" }],
  });
  await using server = await startServer(
    answering(200, part({ functionCall: { name: "json", args: { path: "a" } } })),
    answering(200, part({ functionCall: { name: "json_1", args: { n: 2 } } })),
  );
  const { prompt, read } = prompting();
  const model = createGoogle({ apiKey: "key-12345678", baseURL: server.baseURL })("gemini-2.5-flash");
  expect((await aiSdk({ model }).evaluate(prompt)).output).toEqual({ n: 2 });
  expect(read).toEqual(["json a"]);

  const namesOf = async (other: LanguageModel & { calls: readonly { tools?: readonly { name: string }[] }[] }) => {
    await aiSdk({ model: other })
      .evaluate(prompt)
      .catch(() => {});
    return other.calls[0]?.tools?.map(({ name }) => name);
  };
  const answer = { content: [{ type: "text" as const, text: '{"n":1}' }] };
  expect(await namesOf(mockModel([answer], "openai.chat"))).toEqual(["json", "json_"]);
  expect(await namesOf(mockModel([answer], "mistral.chat"))).toEqual(["json", "json_"]);
  expect(await namesOf({ ...mockModel([answer], "amazon-bedrock") })).toEqual(["json_", "json__"]);
});
