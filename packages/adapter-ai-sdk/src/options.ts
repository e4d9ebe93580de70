import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import { DefinitionError } from "@proviso/core";
import { checkOptionNames, isRecord, type OptionNames } from "@proviso/core/provider";
import { describeValue } from "@proviso/core/internal";
import { checkAdapterOptions, adapterOptionNames, checkModelSettings, type ModelSettings } from "@proviso/adapter-kit";
import { type AdapterOptions } from "@proviso/runtime";

// Here, and not beside what reads them: the types of the package reach this file.
declare module "@proviso/core" {
  interface ProviderOptions {
    /**
     * Options of `aiSdk` and `litellm` of @proviso/adapter-ai-sdk. They go to the model as they are, under its provider's
     * own name: `{ aiSdk: { anthropic: { … } } }`.
     */
    readonly aiSdk?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  }
}

/** A model of the ai ecosystem, of any of the interface versions that are in use. */
export type LanguageModel = LanguageModelV4 | LanguageModelV3 | LanguageModelV2;

/** What every request carries; only what is set is sent. A model reports what it does not take by a warning. */
export interface AiSdkSettings extends Omit<ModelSettings, "topLogprobs"> {
  /**
   * Options by provider. `@ai-sdk/openai` on the Responses API replays by reference to what the service stored: behind
   * a proxy, or where nothing is stored, give `{ openai: { store: false } }`.
   */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined;
  /** Headers that every request carries. Their values count as secrets. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What `aiSdk` takes. */
export interface AiSdkOptions extends AiSdkSettings, AdapterOptions {
  /** Any LanguageModel of the ai ecosystem, or an id that its default provider resolves. */
  readonly model: LanguageModel | string;
  /** false: the schema goes into the prompt text and the answer is parsed from text. Default true. */
  readonly nativeOutput?: boolean | undefined;
  /** A LanguageModel does not say what it cannot do; left out: both. */
  readonly capabilities?:
    | { readonly tools?: boolean | undefined; readonly nativeOutput?: boolean | undefined }
    | undefined;
}

export const settingNames = {
  temperature: true,
  topP: true,
  presencePenalty: true,
  frequencyPenalty: true,
  maxOutputTokens: true,
  timeoutMs: true,
  stallMs: true,
  seed: true,
  stop: true,
  providerOptions: true,
  headers: true,
} as const satisfies OptionNames<AiSdkSettings>;
/** The settings that decide what the model answers. */
export function decidingIn({
  temperature,
  topP,
  presencePenalty,
  frequencyPenalty,
  maxOutputTokens,
  seed,
  stop,
  providerOptions,
}: AiSdkSettings): AiSdkSettings {
  return { temperature, topP, presencePenalty, frequencyPenalty, maxOutputTokens, seed, stop, providerOptions };
}

const optionNames = {
  model: true,
  nativeOutput: true,
  capabilities: true,
  ...settingNames,
  ...adapterOptionNames,
} as const satisfies OptionNames<AiSdkOptions>;

/** A checked copy. @throws {DefinitionError} naming the option and its range. */
export function checkOptions(given: AiSdkOptions): AiSdkOptions {
  const { model } = given ?? ({} as AiSdkOptions);
  if (typeof model === "string" ? model.trim() === "" : !isModel(model)) {
    const expected = 'a LanguageModel, such as anthropic("claude-sonnet-4-5") of @ai-sdk/anthropic, or an id';
    throw new DefinitionError(`aiSdk needs { model }: ${expected}.`);
  }
  checkOptionNames("aiSdk", given, optionNames);
  checkOptionNames("The capabilities of aiSdk", given.capabilities, { tools: true, nativeOutput: true });
  checkVersion(model);
  checkAdapterOptions(given);
  return { ...checkSettings(given), model };
}

/** The settings alone, checked and copied. @throws {DefinitionError} naming the option and its range. */
export function checkSettings<T extends AiSdkSettings>(given: T): T {
  checkModelSettings(given);
  const { stop, headers, providerOptions } = given;
  return Object.freeze({
    ...given,
    ...(stop === undefined ? {} : { stop: [...stop] }),
    ...(headers === undefined ? {} : { headers: { ...headers } }),
    ...(providerOptions === undefined ? {} : { providerOptions: plainCopy("providerOptions", providerOptions) }),
  });
}

/** @throws {DefinitionError} where the value cannot be copied. */
export function plainCopy<T>(name: string, value: T): T {
  if (!isRecord(value)) {
    throw new DefinitionError(`The option ${name} must be an object, not ${describeValue(value)}.`);
  }
  try {
    return structuredClone(value);
  } catch (cause) {
    throw new DefinitionError(`The option ${name} must be plain JSON.`, { cause });
  }
}

export function isModel(model: unknown): model is LanguageModel {
  const { doGenerate, doStream, modelId, provider } = (model ?? {}) as Partial<LanguageModel>;
  const calls = typeof doGenerate === "function" && typeof doStream === "function";
  return calls && typeof modelId === "string" && typeof provider === "string";
}

/** @throws {DefinitionError} for a model of an interface that is not read here. */
export function checkVersion(model: LanguageModel | string): void {
  if (typeof model === "string") return;
  const version: unknown = model.specificationVersion;
  if (version === "v4" || version === "v3" || version === "v2") return;
  throw new DefinitionError(
    `The model "${model.modelId}" has the interface ${typeof version === "string" ? version : describeValue(version)}; aiSdk takes v2, v3 and v4: update its package.`,
  );
}
