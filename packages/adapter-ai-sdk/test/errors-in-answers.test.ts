import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { ProviderError } from "@proviso/core";
import { brokenAnswers, brokenBelowPackages, completion, fine } from "@proviso/fault-matrix/errors-in-answers";
import { answering, startServer } from "@proviso/fault-matrix/loopback-server";
import { expect, test } from "vitest";

const apiKey = "key-12345678";
const throttle = { baseDelayMs: 1 };
const chat = (baseURL: string) => aiSdk({ model: createOpenAI({ baseURL, apiKey }).chat("gpt-4.1"), throttle });
const compatible = (baseURL: string) =>
  aiSdk({ model: createOpenAICompatible({ name: "here", baseURL, apiKey })("m"), throttle });
const proxied = (baseURL: string) => litellm({ model: "m", baseURL, apiKey, throttle });

test.each(brokenAnswers)(
  "AIS-18 an error with a status in it, %s of status 200, is asked again",
  async (_, way, respond) => {
    for (const adapterAt of [chat, compatible, proxied]) {
      await using server = await startServer(respond, fine[way]);
      const adapter = adapterAt(server.baseURL);
      const response = way === "stream" ? await adapter.stream("Hi.").response : await adapter.evaluate("Hi.");
      expect(response.output).toBe("Fine.");
      expect(server.requests).toHaveLength(2);
    }
  },
);

test.each([{}, { code: null, message: "" }])("AIS-18 %o in a choice says of no error", async (error) => {
  const body = completion({ content: "Whole." }, "stop") as { choices: object[] };
  const choices = body.choices.map((choice) => ({ ...choice, error }));
  for (const adapterAt of [chat, compatible, proxied]) {
    await using server = await startServer(answering(200, { ...body, choices }));
    expect((await adapterAt(server.baseURL).evaluate("Hi.")).output).toBe("Whole.");
  }
});

test.each(brokenBelowPackages)(
  "AIS-18 an error %s that the package does not pass on fails, and is not asked again",
  async (_, way, respond) => {
    for (const adapterAt of [chat, compatible, proxied]) {
      await using server = await startServer(respond, fine[way]);
      await expect(adapterAt(server.baseURL).stream("Hi.").response).rejects.toBeInstanceOf(ProviderError);
      expect(server.requests).toHaveLength(1);
    }
  },
);

test.each([
  ["rate_limit_exceeded", { code: "throttled", kind: "rate_limit", attempts: 2 }],
  ["invalid_api_key", { code: "provider", reason: "api_key" }],
  [null, { code: "throttled", kind: "server_error", attempts: 2 }],
])(
  "AIS-18 an error with the code %j and nothing else in an answer of status 200 is the same on every wire",
  async (code, expected) => {
    const body = { error: { message: "Not now.", type: "server_error", param: null, code } };
    const twice = { ...throttle, maxAttempts: 2 };
    await using server = await startServer(answering(200, body));
    const { baseURL } = server;
    const models = [
      createOpenAI({ baseURL, apiKey })("gpt-4.1"),
      createOpenAI({ baseURL, apiKey }).chat("gpt-4.1"),
      createOpenAICompatible({ name: "here", baseURL, apiKey })("m"),
    ];
    for (const model of models) {
      const asked = aiSdk({ model, throttle: twice }).evaluate("Hi.");
      await expect(asked).rejects.toMatchObject({ ...expected, message: expect.stringContaining("Not now.") });
    }
  },
);

test("AIS-18 an error of Anthropic's in an answer of status 200 is the error it says", async () => {
  const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  await using server = await startServer(answering(200, overloaded));
  const model = createAnthropic({ baseURL: server.baseURL, apiKey })("claude-sonnet-4-5");
  const asked = aiSdk({ model, throttle: { ...throttle, maxAttempts: 2 } }).evaluate("Hi.");
  await expect(asked).rejects.toMatchObject({ code: "throttled", kind: "server_error", attempts: 2 });
});
