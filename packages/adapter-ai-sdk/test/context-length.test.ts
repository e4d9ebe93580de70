import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { definePrompt, isEvaluationFailure, type EvaluationFailure, type ProviderAdapter } from "@proviso/core";
import { full, mentioned } from "@proviso/fault-matrix/full-contexts";
import { answering, startServer } from "@proviso/fault-matrix/loopback-server";
import { describe, expect, test } from "vitest";

const prompt = definePrompt({ key: "p", text: "Hi." }).bind();
const throttle = { maxAttempts: 1 };
type Make = (connection: { readonly baseURL: string; readonly apiKey: string }) => ProviderAdapter;
const makes: Readonly<Record<string, Make>> = {
  anthropic: (at) => aiSdk({ model: createAnthropic(at)("claude-sonnet-4-5"), throttle }),
  google: (at) => aiSdk({ model: createGoogle(at)("gemini-2.5-flash"), throttle }),
  "openai chat": (at) => aiSdk({ model: createOpenAI(at).chat("m"), throttle }),
  compatible: (at) => aiSdk({ model: createOpenAICompatible({ name: "here", ...at })("m"), throttle }),
  litellm: (at) => litellm({ model: "m", ...at, throttle }),
};

async function refused(make: Make, status: number, body: unknown, stream: boolean): Promise<EvaluationFailure> {
  await using server = await startServer(answering(status, body));
  const adapter = make({ baseURL: server.baseURL, apiKey: "sk-test-0123456789" });
  const asked = stream ? adapter.stream(prompt).response : adapter.evaluate(prompt);
  const error: unknown = await asked.catch((reason: unknown) => reason);
  if (!isEvaluationFailure(error)) throw new Error("It answered.", { cause: error });
  return error;
}

describe.each(Object.entries(makes))("PRO-7 %s", (name, make) => {
  const ways = name === "litellm" ? [false, true] : [false];
  test.each(full)("PRO-7 $service is context_length", async ({ status, body }) => {
    for (const stream of ways) {
      const error = await refused(make, status, body, stream);
      expect(error).toMatchObject({ code: "provider", reason: "context_length", status });
    }
  });

  test.each(mentioned)("PRO-7 $service only mentions it", async ({ status, body, expected }) => {
    const { failure: _failure, ...why } = expected as { readonly failure: string };
    for (const stream of ways) expect(await refused(make, status, body, stream)).toMatchObject(why);
  });
});

test("PRO-7 an error inside a stream of a compatible server is context_length", async () => {
  const body = full.find(({ service }) => service === "vLLM, an error of its own")?.body;
  const head = { "content-type": "text/event-stream" };
  await using server = await startServer(answering(200, `data: ${JSON.stringify(body)}\n\n`, head));
  const adapter = litellm({ model: "m", apiKey: "sk-test-0123456789", baseURL: server.baseURL, throttle });
  await expect(adapter.stream(prompt).response).rejects.toMatchObject({ reason: "context_length" });
});
