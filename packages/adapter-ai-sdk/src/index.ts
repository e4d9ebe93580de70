import type { ProviderAdapter } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { adapterOptionsOf } from "@proviso/adapter-kit";
import { aiSdkModel } from "./ai-sdk-model.ts";
import type { AiSdkOptions } from "./options.ts";
import { secretsOf } from "./secrets.ts";

export { aiSdkModel } from "./ai-sdk-model.ts";
export { aiSdkTool } from "./provider-tools.ts";
export { litellm } from "./litellm.ts";
export type { LiteLLMOptions } from "./litellm.ts";
export type { AiSdkOptions, AiSdkSettings, LanguageModel } from "./options.ts";

/**
 * Evaluates prompts with any model of the ai ecosystem. What `headers` carry, and the gateway's key where the model is an
 * id, are secrets; a key that only the model knows can be kept out of errors and logs with `secrets`.
 * @example
 * ```ts
 * import { openai } from "@ai-sdk/openai";
 * import { aiSdk } from "@proviso/adapter-ai-sdk";
 *
 * const adapter = aiSdk({ model: openai("gpt-5.4") });
 * const { output } = await adapter.evaluate("What is the capital of France?");
 * console.log(output);
 * ```
 * @throws {DefinitionError} as `aiSdkModel` does.
 */
export function aiSdk(options: AiSdkOptions): ProviderAdapter {
  return modelAdapter(aiSdkModel(options), { ...adapterOptionsOf(options), secrets: secretsOf(options) });
}
export { toUIMessageStream } from "./ui-message-stream.ts";
export type { UIMessageStreamOptions } from "./ui-message-stream.ts";
export type {
  UIMessageError,
  UIMessageFile,
  UIMessageMark,
  UIMessageOutput,
  UIMessageReset,
  UIMessageSourceDocument,
  UIMessageSourceUrl,
  UIMessageStart,
  UIMessageStreamChunk,
  UIMessageText,
  UIMessageTextDelta,
  UIMessageToolInput,
  UIMessageToolInputError,
  UIMessageToolOutput,
  UIMessageToolOutputError,
} from "./ui-message-chunk.ts";
