import type { ProviderAdapter } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { openaiModel } from "./openai-model.ts";
import { environment, type OpenAIOptions } from "./options.ts";
import { shortestKey } from "./redact.ts";

export type { LeanFetch, LeanFetchInit, LeanResponse } from "./fetch.ts";
export { openaiModel, validateOpenAIOptions } from "./openai-model.ts";
export type { OpenAIChatSettings, OpenAIClient, OpenAIConnection, OpenAIOptions, OpenAISettings } from "./options.ts";

/**
 * Evaluates prompts with a model of OpenAI, or of a server that speaks its wire.
 * @throws {DefinitionError} as `openaiModel` does.
 */
export function openai(options: OpenAIOptions): ProviderAdapter {
  return modelAdapter(openaiModel(options), { ...options, secrets: secretsOf(options) });
}

/** The key is always among them. A short one is a placeholder ("none"): hiding it would garble every other word. */
function secretsOf({ secrets = [], apiKey, client }: OpenAIOptions): readonly string[] {
  const keys = [apiKey, (client as { readonly apiKey?: unknown } | undefined)?.apiKey, environment("OPENAI_API_KEY")];
  return [...secrets, ...keys.filter((key): key is string => typeof key === "string" && key.length >= shortestKey)];
}
