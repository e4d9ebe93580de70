import { aiSdk } from "@proviso/adapter-ai-sdk";
import { definePrompt, defineProviderTool, type StreamEvent } from "@proviso/core";
import { expect, test } from "vitest";
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
