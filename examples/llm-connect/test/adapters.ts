import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, litellm, type AiSdkOptions, type LiteLLMOptions } from "@proviso/adapter-ai-sdk";
import { openai, type OpenAIOptions } from "@proviso/adapter-openai";
import { acpAgent, commandLine, type AcpAgentOptions, type CommandLineOptions } from "@proviso/adapter-process";
import type { Clock, ProviderAdapter } from "@proviso/core";
import { checkOptions, type OptionsCheck } from "@proviso/runtime";

export const apiKey = "sk-contract-0123456789";
export const model = "openai/gpt-5.4";

/** How an adapter's options are checked, and what becomes of them. */
export interface Contract {
  readonly name: string;
  /** Options that will do. */
  readonly fine: object;
  readonly check: (options: unknown) => OptionsCheck;
  readonly make: (options: unknown) => ProviderAdapter;
}

export const languageModel = createOpenAICompatible({ name: "here", baseURL: "http://127.0.0.1:1/v1" })(model);

export const contracts: readonly Contract[] = [
  {
    name: "openai",
    fine: { model, apiKey },
    check: (options) => checkOptions(openai, options as OpenAIOptions),
    make: (options) => openai(options as OpenAIOptions),
  },
  {
    name: "aiSdk",
    fine: { model: languageModel },
    check: (options) => checkOptions(aiSdk, options as AiSdkOptions),
    make: (options) => aiSdk(options as AiSdkOptions),
  },
  {
    name: "litellm",
    fine: { model, apiKey, baseURL: "http://127.0.0.1:1/v1" },
    check: (options) => checkOptions(litellm, options as LiteLLMOptions),
    make: (options) => litellm(options as LiteLLMOptions),
  },
  {
    name: "commandLine",
    fine: { command: "cat" },
    check: (options) => checkOptions(commandLine, options as CommandLineOptions),
    make: (options) => commandLine(options as CommandLineOptions),
  },
  {
    name: "acpAgent",
    fine: { command: "cat" },
    check: (options) => checkOptions(acpAgent, options as AcpAgentOptions),
    make: (options) => acpAgent(options as AcpAgentOptions),
  },
];

interface WireOptions {
  readonly baseURL: string;
  readonly clock?: Clock;
  readonly temperature?: number;
  readonly maxOutputTokens?: number;
  readonly timeoutMs?: number;
  readonly throttle?: { readonly maxAttempts?: number; readonly baseDelayMs?: number; readonly maxDelayMs?: number };
}

/** The adapters that speak to a service, at an address, and the name of the provider. */
export const wires: readonly (readonly [string, (options: WireOptions) => ProviderAdapter, string])[] = [
  ["openai, responses", (options) => openai({ model, apiKey, api: "responses", ...options }), "openai"],
  ["openai, chat", (options) => openai({ model, apiKey, api: "chat", ...options }), "openai"],
  ["litellm", (options) => litellm({ model, apiKey, ...options }), "litellm"],
  [
    "aiSdk",
    ({ baseURL, ...options }) => {
      const provider = createOpenAICompatible({ name: "here", apiKey, baseURL, includeUsage: true });
      return aiSdk({ model: provider(model), secrets: [apiKey], ...options });
    },
    "here.chat",
  ],
];
