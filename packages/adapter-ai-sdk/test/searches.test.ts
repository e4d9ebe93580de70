import { anthropic, createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle, google } from "@ai-sdk/google";
import { createOpenAI, openai } from "@ai-sdk/openai";
import { aiSdk, aiSdkTool } from "@proviso/adapter-ai-sdk";
import { expectSearches } from "@proviso/fault-matrix/searches";
import { describe, test } from "vitest";

const apiKey = "key-12345678";

describe.each([false, true])("the service searches beside a call of ours (streamed: %s)", (isStreamed) => {
  test("PTL-3 PTL-4 SRC-1 over OpenAI's Responses", () =>
    expectSearches(
      ({ baseURL }) => aiSdk({ model: createOpenAI({ apiKey, baseURL }).responses("gpt-5.4") }),
      aiSdkTool(openai.tools.webSearch({}), "search"),
      { isStreamed },
    ));

  test("PTL-3 PTL-4 SRC-1 over Anthropic's Messages", () =>
    expectSearches(
      ({ baseURL }) => aiSdk({ model: createAnthropic({ apiKey, baseURL })("claude-sonnet-4-5") }),
      aiSdkTool(anthropic.tools.webSearch_20250305({}), "search"),
      { isStreamed },
    ));

  test("PTL-3 PTL-4 SRC-1 over Gemini's generateContent", () =>
    expectSearches(
      ({ baseURL }) => aiSdk({ model: createGoogle({ apiKey, baseURL })("gemini-3-pro-preview") }),
      aiSdkTool(google.tools.googleSearch({}), "search"),
      { isStreamed, isReported: false },
    ));
});
