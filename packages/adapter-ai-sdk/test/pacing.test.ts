import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { aiSdk } from "@proviso/adapter-ai-sdk";
import { expectCountedBoundsToBePaced, expectTheLimitToBecomeThePace } from "@proviso/fault-matrix/pacing";
import { test } from "vitest";

test.each([false, true])(
  "PAC-2 over the ai ecosystem (streamed: %s) the limits of the headers become the pace, and no row is lost",
  (isStreamed) =>
    expectTheLimitToBecomeThePace(({ baseURL, clock }) => {
      const { chat } = createOpenAI({ apiKey: "key-12345678", baseURL });
      return aiSdk({ model: chat("m"), clock });
    }, isStreamed),
);

test("PAC-4 over Anthropic's wire a service that counts the longest answers, and reports shorter ones, refuses nothing", () =>
  expectCountedBoundsToBePaced(({ baseURL, clock }) =>
    aiSdk({ model: createAnthropic({ apiKey: "key-12345678", baseURL })("claude-test"), clock }),
  ));
