import type { ProviderAdapter } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { environmentVariable, isSecret } from "@proviso/runtime/adapter";
import { openaiModel } from "./openai-model.ts";
import type { OpenAIOptions } from "./options.ts";

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

/** The key is always among them. */
function secretsOf({ secrets = [], apiKey, client }: OpenAIOptions): readonly string[] {
  const keys = [
    apiKey,
    (client as { readonly apiKey?: unknown } | undefined)?.apiKey,
    environmentVariable("OPENAI_API_KEY"),
  ];
  return [...secrets, ...keys.filter(isSecret)];
}
