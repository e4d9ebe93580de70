import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  aiSdk,
  litellm,
  validateAiSdkOptions,
  validateLiteLLMOptions,
  type AiSdkOptions,
  type LiteLLMOptions,
} from "@proviso/adapter-ai-sdk";
import { openai, validateOpenAIOptions, type OpenAIOptions } from "@proviso/adapter-openai";
import {
  acpAgent,
  commandLine,
  validateAcpAgentOptions,
  validateCommandLineOptions,
  type AcpAgentOptions,
  type CommandLineOptions,
} from "@proviso/adapter-process";
import type { Clock, ProviderAdapter } from "@proviso/core";

export const apiKey = "sk-contract-0123456789";
export const model = "openai/gpt-5.4";

/** How an adapter's options are checked, and what becomes of them. */
export interface Contract {
  readonly name: string;
  /** Options that will do. */
  readonly fine: object;
  readonly validate: (options: unknown) => boolean;
  readonly make: (options: unknown) => ProviderAdapter;
}

export const languageModel = createOpenAICompatible({ name: "here", baseURL: "http://127.0.0.1:1/v1" })(model);

export const contracts: readonly Contract[] = [
  {
    name: "openai",
    fine: { model, apiKey },
    validate: (options) => validateOpenAIOptions(options as OpenAIOptions),
    make: (options) => openai(options as OpenAIOptions),
  },
  {
    name: "aiSdk",
    fine: { model: languageModel },
    validate: (options) => validateAiSdkOptions(options as AiSdkOptions),
    make: (options) => aiSdk(options as AiSdkOptions),
  },
  {
    name: "litellm",
    fine: { model, apiKey, baseURL: "http://127.0.0.1:1/v1" },
    validate: (options) => validateLiteLLMOptions(options as LiteLLMOptions),
    make: (options) => litellm(options as LiteLLMOptions),
  },
  {
    name: "commandLine",
    fine: { command: "cat" },
    validate: (options) => validateCommandLineOptions(options as CommandLineOptions),
    make: (options) => commandLine(options as CommandLineOptions),
  },
  {
    name: "acpAgent",
    fine: { command: "cat" },
    validate: (options) => validateAcpAgentOptions(options as AcpAgentOptions),
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
