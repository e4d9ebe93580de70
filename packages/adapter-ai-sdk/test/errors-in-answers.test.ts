import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { answering, startServer, type Respond } from "@proviso/fault-matrix/loopback-server";
import { expect, test } from "vitest";

const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): object => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason, ...more }],
});
const streaming = (...chunks: readonly object[]): Respond =>
  answering(200, chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("") + "data: [DONE]\n\n", {
    "content-type": "text/event-stream",
  });
const completion = (message: object, finish_reason: string, more: object = {}): object => ({
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason, ...more }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});
const whole = {
  json: answering(200, completion({ content: "Fine." }, "stop")),
  stream: streaming(chunk({ role: "assistant", content: "Fine." }), chunk({}, "stop")),
};
// OpenRouter's: a status in place of a word. Source: OpenRouter's API reference, "Errors".
const error = { message: "The model is overloaded.", code: 503 };
const apiKey = "key-12345678";
const throttle = { baseDelayMs: 1 };
const chat = (baseURL: string) => aiSdk({ model: createOpenAI({ baseURL, apiKey }).chat("gpt-4.1"), throttle });
const compatible = (baseURL: string) =>
  aiSdk({ model: createOpenAICompatible({ name: "here", baseURL, apiKey })("m"), throttle });
const proxied = (baseURL: string) => litellm({ model: "m", baseURL, apiKey, throttle });

test.each([
  ["as JSON", "json", answering(200, { error })],
  ["as JSON, beside half an answer", "json", answering(200, completion({ content: "Hal" }, "error", { error }))],
  ["as the first event", "stream", streaming({ error })],
  ["after text", "stream", streaming(chunk({ role: "assistant", content: "Hal" }), { error })],
] as const)("AIS-18 an error with a status in it, %s of status 200, is asked again", async (_, way, respond) => {
  for (const adapterAt of [chat, compatible, proxied]) {
    await using server = await startServer(respond, whole[way]);
    const adapter = adapterAt(server.baseURL);
    const response = way === "stream" ? await adapter.stream("Hi.").response : await adapter.evaluate("Hi.");
    expect(response.output).toBe("Fine.");
    expect(server.requests).toHaveLength(2);
  }
});

test("AIS-18 an error of Anthropic's in an answer of status 200 is the error it says", async () => {
  const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  await using server = await startServer(answering(200, overloaded));
  const model = createAnthropic({ baseURL: server.baseURL, apiKey })("claude-sonnet-4-5");
  const asked = aiSdk({ model, throttle: { ...throttle, maxAttempts: 2 } }).evaluate("Hi.");
  await expect(asked).rejects.toMatchObject({ code: "throttled", kind: "server_error", attempts: 2 });
});
