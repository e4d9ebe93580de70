import type { ProviderAdapter } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { adapterOptionsOf } from "@proviso/adapter-kit";
import { openaiModel } from "./openai-model.ts";
import { checkOptions, type OpenAIOptions } from "./options.ts";
import { secretsOf } from "./secrets.ts";

export type { LeanFetch, LeanFetchInit, LeanResponse } from "./fetch.ts";
export { openaiModel } from "./openai-model.ts";
export { openaiTools } from "./tools.ts";
export type { OpenAITools } from "./tools.ts";
export type { OpenAIRequestOptions } from "./settings.ts";
export type { OpenAIChatSettings, OpenAIClient, OpenAIConnection, OpenAIOptions, OpenAISettings } from "./options.ts";

/**
 * Evaluates prompts with a model of OpenAI, or of a server that speaks its wire.
 * @example
 * ```ts
 * import { openai } from "@proviso/adapter-openai";
 *
 * // The key is in OPENAI_API_KEY.
 * const adapter = openai({ model: "gpt-5.4" });
 * const { output } = await adapter.evaluate("What is the capital of France?");
 * console.log(output);
 * ```
 * @throws {DefinitionError} as `openaiModel` does.
 */
export function openai(options: OpenAIOptions): ProviderAdapter {
  return modelAdapter(openaiModel(options), {
    ...adapterOptionsOf(options),
    secrets: secretsOf(checkOptions(options)),
  });
}
