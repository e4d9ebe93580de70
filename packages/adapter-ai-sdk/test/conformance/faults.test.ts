import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { describeFaultMatrix } from "@proviso/fault-matrix";
import { inject } from "vitest";

const apiKey = "sk-matrix-0123456789";
/** Each adapter has some of the faults of its API; together they have all, and adapter-openai those of two APIs again. */
const slice = (part: number, of: number) => (inject("exhaustive") ? undefined : { part, of });
/** A body that is no stream is read away as one by the SDK: what stood in it nobody can tell. */
const expectedOfStreams = { stream_as_json: { code: "provider", why: "invalid_response" } } as const;

describeFaultMatrix("@ai-sdk/openai, responses", {
  api: "responses",
  expectedOfStreams,
  slice: slice(0, 2),
  make: ({ baseURL, ...times }) => {
    const model = createOpenAI({ baseURL, apiKey }).responses("gpt-5.4");
    return aiSdk({ model, providerOptions: { openai: { store: false } }, ...times });
  },
});

describeFaultMatrix("@ai-sdk/openai, chat", {
  api: "chat",
  expectedOfStreams,
  slice: slice(0, 4),
  make: ({ baseURL, ...times }) => aiSdk({ model: createOpenAI({ baseURL, apiKey }).chat("gpt-5.4"), ...times }),
});

describeFaultMatrix("@ai-sdk/openai-compatible", {
  api: "chat",
  expectedOfStreams,
  slice: slice(1, 4),
  make: ({ baseURL, ...times }) => {
    const settings = { name: "here", baseURL, apiKey, includeUsage: true, supportsStructuredOutputs: true };
    return aiSdk({ model: createOpenAICompatible(settings)("gpt-5.4"), ...times });
  },
});

describeFaultMatrix("litellm", {
  api: "chat",
  expectedOfStreams,
  slice: slice(2, 4),
  make: ({ baseURL, ...times }) => litellm({ model: "openai/gpt-5.4", baseURL, apiKey, ...times }),
});

const unreadable = { code: "provider", why: "invalid_response" } as const;

describeFaultMatrix("@ai-sdk/anthropic", {
  api: "anthropic",
  slice: slice(0, 2),
  expected: {
    // The package holds each answer against a schema of its own, which takes no other usage and no block that it does not know.
    usage_missing: unreadable,
    usage_null: unreadable,
    usage_strings: unreadable,
    unknown_items: unreadable,
    missing_call_id: unreadable,
    // It reads no body with the key __proto__.
    arguments_proto: unreadable,
    // It asks for 64,000 tokens at most, and the service keeps to that.
    arguments_huge: { code: "provider", why: "truncated" },
    // The service has one reason for a refusal and a filter.
    content_filter: { code: "provider", why: "refusal" },
  },
  expectedOfStreams: {
    ...expectedOfStreams,
    // The package looks at a stream's first event before all others; where it cannot read that, it says no more.
    stream_unknown_events: { code: "provider", why: "unknown" },
    usage_missing: { code: "provider", why: "unknown" },
    usage_null: { code: "provider", why: "unknown" },
    usage_strings: { code: "provider", why: "unknown" },
    // Arguments come as pieces of a text there.
    arguments_proto: "right",
  },
  make: ({ baseURL, ...times }) =>
    aiSdk({ model: createAnthropic({ baseURL, apiKey })("claude-sonnet-4-5"), ...times }),
});

describeFaultMatrix("@ai-sdk/google", {
  api: "gemini",
  slice: slice(1, 2),
  expected: {
    usage_strings: unreadable,
    arguments_proto: unreadable,
    // The service has no refusal beside its filters.
    refusal: { code: "provider", why: "content_filter" },
  },
  // A stream without a candidate has no reason for its end.
  breaks: ["no_output"],
  expectedOfStreams,
  make: ({ baseURL, ...times }) =>
    aiSdk({ model: createGoogle({ baseURL, apiKey })("gemini-3-pro-preview"), ...times }),
});
