import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { describeFaultMatrix } from "@proviso/fault-matrix";
import { inject } from "vitest";

const apiKey = "sk-matrix-0123456789";
/** One adapter has the faults of its API alone, three share those of theirs. */
const slice = (part: number, of: number) => (inject("exhaustive") ? undefined : { part, of });
/** A body that is no stream is read away as one by the SDK: what stood in it nobody can tell. */
const expectedOfStreams = { stream_as_json: { code: "provider", why: "invalid_response" } } as const;

describeFaultMatrix("@ai-sdk/openai, responses", {
  api: "responses",
  expectedOfStreams,
  slice: slice(0, 1),
  make: ({ baseURL, ...times }) => {
    const model = createOpenAI({ baseURL, apiKey }).responses("gpt-5.4");
    return aiSdk({ model, providerOptions: { openai: { store: false } }, ...times });
  },
});

describeFaultMatrix("@ai-sdk/openai, chat", {
  api: "chat",
  expectedOfStreams,
  slice: slice(0, 3),
  make: ({ baseURL, ...times }) => aiSdk({ model: createOpenAI({ baseURL, apiKey }).chat("gpt-5.4"), ...times }),
});

describeFaultMatrix("@ai-sdk/openai-compatible", {
  api: "chat",
  expectedOfStreams,
  slice: slice(1, 3),
  make: ({ baseURL, ...times }) => {
    const settings = { name: "here", baseURL, apiKey, includeUsage: true, supportsStructuredOutputs: true };
    return aiSdk({ model: createOpenAICompatible(settings)("gpt-5.4"), ...times });
  },
});

describeFaultMatrix("litellm", {
  api: "chat",
  expectedOfStreams,
  slice: slice(2, 3),
  make: ({ baseURL, ...times }) => litellm({ model: "openai/gpt-5.4", baseURL, apiKey, ...times }),
});
