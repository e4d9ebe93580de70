import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import type { ProviderAdapter } from "@proviso/core";
import { playScript } from "@proviso/fault-matrix";
import { describeAdapter, type ConformanceSettings } from "@proviso/adapter-kit/conformance";
import { inject } from "vitest";
import { scriptedLanguageModel } from "./scripted-model.ts";

type Given = ConformanceSettings & { readonly baseURL: string };

/** A key that only the model knows is kept out of errors and events by `secrets`. */
function overTheWire(
  name: string,
  make: (given: Given) => ProviderAdapter,
  skip: readonly { readonly rule: string; readonly why: string }[] = [],
): void {
  describeAdapter(name, {
    skip,
    async start(script, settings) {
      const { baseURL, ...played } = await playScript(script);
      return { ...played, adapter: make({ baseURL, ...settings }) };
    },
  });
}

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

const asObjects = "the wire has a call's arguments as an object, not as its text";
const inWords = "the service has no code for it, only words of its own";
const ofObjects = [
  "LOOP-2 arguments are replayed",
  "PRO-1 the same events, messages and state as in process, with tools: calls that work, fail",
].map((rule) => ({ rule, why: asObjects }));
const unread = "the simulator does not read the files of this wire yet";
const files = ["FILE-2 FILE-6 photo.png", "FILE-2 FILE-6 paper.pdf", "FILE-6 FILE-10"].map((rule) => ({
  rule,
  why: unread,
}));
const inProcess = "PRO-1 the same events, messages and state as in process:";

overTheWire(
  "@ai-sdk/google",
  ({ apiKey, baseURL, ...given }) =>
    aiSdk({ model: createGoogle({ apiKey, baseURL })("gemini-3-pro-preview"), secrets: [apiKey], ...given }),
  [
    ...ofObjects,
    ...files,
    { rule: "FILE-2 FILE-6 voice.wav", why: unread },
    { rule: "FILE-9 a text file", why: unread },
    { rule: `${inProcess} a context that is too long`, why: inWords },
    { rule: "TOOL-1", why: asObjects },
    { rule: "LOOP-5 a refusal, a filter", why: "Gemini has no refusal beside its filters" },
    { rule: `${inProcess} a refused answer`, why: "Gemini has no refusal beside its filters" },
  ],
);

if (inject("exhaustive")) {
  overTheWire(
    "@ai-sdk/anthropic",
    ({ apiKey, baseURL, ...given }) =>
      aiSdk({ model: createAnthropic({ apiKey, baseURL })("claude-sonnet-4-5"), secrets: [apiKey], ...given }),
    [
      ...ofObjects,
      ...files,
      { rule: `${inProcess} a context that is too long`, why: inWords },
      { rule: `${inProcess} an exhausted quota`, why: inWords },
      { rule: "LOOP-5 a refusal, a filter", why: "Anthropic gives one reason for a refusal and a filter" },
      { rule: `${inProcess} a filtered answer`, why: "Anthropic gives one reason for a refusal and a filter" },
      { rule: "PRO-2 a setting that was not set", why: "the service requires max_tokens" },
      { rule: "LOOP-5 a long answer", why: "the package asks for 64,000 tokens at most" },
      { rule: "LIM-6", why: "the package takes no answer without a usage" },
      { rule: "TOOL-7", why: "the package takes no call without an id" },
      { rule: "TOOL-1", why: "the package refuses a body with the key __proto__" },
    ],
  );

  overTheWire("litellm", (given) => litellm({ model: "openai/gpt-5.4", ...given }));

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
