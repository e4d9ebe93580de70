import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { describeCanary } from "@proviso/fault-matrix";

// A model of the SDK's has its key inside: who makes one registers the key.
describeCanary("@ai-sdk/openai, responses", {
  make: ({ baseURL, apiKey, secrets, ...watched }) =>
    aiSdk({ model: createOpenAI({ baseURL, apiKey }).responses("gpt-5.4"), secrets: [...secrets, apiKey], ...watched }),
});

describeCanary("@ai-sdk/openai, chat", {
  make: ({ baseURL, apiKey, secrets, ...watched }) =>
    aiSdk({ model: createOpenAI({ baseURL, apiKey }).chat("gpt-5.4"), secrets: [...secrets, apiKey], ...watched }),
});

describeCanary("@ai-sdk/openai-compatible", {
  make: ({ baseURL, apiKey, secrets, ...watched }) => {
    const settings = { name: "here", baseURL, apiKey, includeUsage: true, supportsStructuredOutputs: true };
    const model = createOpenAICompatible(settings)("gpt-5.4");
    return aiSdk({ model, secrets: [...secrets, apiKey], ...watched });
  },
});

describeCanary("litellm", {
  make: ({ baseURL, apiKey, ...watched }) => litellm({ model: "openai/gpt-5.4", baseURL, apiKey, ...watched }),
});

describeCanary("@ai-sdk/anthropic", {
  make: ({ baseURL, apiKey, secrets, ...watched }) => {
    const model = createAnthropic({ baseURL, apiKey })("claude-sonnet-4-5");
    return aiSdk({ model, secrets: [...secrets, apiKey], ...watched });
  },
});

describeCanary("@ai-sdk/google", {
  make: ({ baseURL, apiKey, secrets, ...watched }) => {
    const model = createGoogle({ baseURL, apiKey })("gemini-3-pro-preview");
    return aiSdk({ model, secrets: [...secrets, apiKey], ...watched });
  },
});
