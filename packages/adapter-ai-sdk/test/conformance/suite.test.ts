import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { describeAdapter } from "@proviso/adapter-kit/conformance";
import { fallback, paced } from "@proviso/runtime/routing";
import { inject } from "vitest";
import { overTheWire } from "./over-the-wire.ts";
import { scriptedLanguageModel } from "./scripted-model.ts";

const leftOut = {
  rule: "SET-1 SET-2 each setting",
  why: "the package leaves the temperature out for a model that reasons, and says so in a warning",
};
overTheWire(
  "@ai-sdk/openai, responses",
  ({ apiKey, baseURL, ...given }) => {
    const model = createOpenAI({ apiKey, baseURL }).responses("gpt-5.4");
    return aiSdk({ model, providerOptions: { openai: { store: false } }, secrets: [apiKey], ...given });
  },
  [leftOut],
);

if (inject("exhaustive")) {
  overTheWire("litellm", (given) => litellm({ model: "openai/gpt-5.4", ...given }));
  // RTE-12 a wrapped adapter does what the adapter does.
  overTheWire("litellm, paced in a fallback", (given) =>
    fallback([paced(litellm({ model: "openai/gpt-5.4", ...given }))]),
  );

  overTheWire(
    "@ai-sdk/openai, chat",
    ({ apiKey, baseURL, ...given }) =>
      aiSdk({ model: createOpenAI({ apiKey, baseURL }).chat("gpt-5.4"), secrets: [apiKey], ...given }),
    [leftOut],
  );

  overTheWire("@ai-sdk/openai-compatible", ({ apiKey, baseURL, ...given }) => {
    const settings = { name: "here", apiKey, baseURL, includeUsage: true, supportsStructuredOutputs: true };
    return aiSdk({ model: createOpenAICompatible(settings)("gpt-5.4"), secrets: [apiKey], ...given });
  });
}

const noText = "the interface of such a model has a call's arguments as an object, not as its text";
describeAdapter("a model in process that takes no schema", {
  skip: [{ rule: "LOOP-2 arguments are replayed", why: noText }],
  async start(script, { apiKey, ...settings }) {
    const { model, ...played } = scriptedLanguageModel(script);
    const adapter = aiSdk({ model, nativeOutput: false, secrets: [apiKey], ...settings });
    return { adapter, ...played, close: async () => {} };
  },
});

const noTools = "this model takes no tools";
describeAdapter("a model in process that takes no tools", {
  skip: [
    "LOOP-2",
    "LOOP-3",
    "LIM-4",
    "CTX-12",
    "SEC-2",
    "THR-7",
    "TOOL-1",
    "TOOL-5",
    "TOOL-6",
    "TOOL-7",
    "TOOL-9",
    "TX-1",
    "LIM-3 SEC-3 no listener is left after a tool's turn",
    "LOOP-5 an answer that is cut inside arguments",
    "LOOP-6 usage is summed",
    "LOOP-7 tools are sent",
    "LOOP-9 with tools",
    "JRN-13 RPL-1 with the option journal, with tools",
    "OUT-6 the schema",
    "PRM-9",
    "PRO-1 the same events, messages and state as in process, with tools",
    "STR-1 the deltas of each turn with calls",
    "VIS-3",
  ].map((rule) => ({ rule, why: noTools })),
  async start(script, { apiKey, ...settings }) {
    const { model, ...played } = scriptedLanguageModel(script);
    const adapter = aiSdk({ model, capabilities: { tools: false }, secrets: [apiKey], ...settings });
    return { adapter, ...played, close: async () => {} };
  },
});
