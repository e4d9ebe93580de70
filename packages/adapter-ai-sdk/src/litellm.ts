import {
  checkOptionNames,
  DefinitionError,
  describeValue,
  type OptionNames,
  type ProviderAdapter,
} from "@proviso/core";
import { checkAdapterOptions, modelAdapter, type AdapterOptions } from "@proviso/runtime";
import {
  adapterOptionNames,
  adapterOptionsOf,
  checkBaseURL,
  environmentVariable,
  headerSecrets,
  isSecret,
} from "@proviso/runtime/adapter";
import { providerOf } from "./ai-sdk-model.ts";
import { checkSettings, plainCopy, settingNames, type AiSdkSettings } from "./options.ts";
import { demand, loaded, type ModelSource } from "./resolve-model.ts";

/** What `litellm` takes. */
export interface LiteLLMOptions extends AiSdkSettings, AdapterOptions {
  /** As the proxy knows it, `anthropic/claude-sonnet-4-5` for example; sent verbatim. */
  readonly model: string;
  /** Left out: LITELLM_BASE_URL. */
  readonly baseURL?: string | undefined;
  /** Left out: LITELLM_API_KEY. */
  readonly apiKey?: string | undefined;
  /** Laid over the body, last. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Evaluates prompts with a model behind a LiteLLM proxy. A schema is sent, but only the text of an answer is trusted.
 * @throws {DefinitionError} for a missing address or key, an option that is out of range, and where
 * `@ai-sdk/openai-compatible` is not installed.
 */
export function litellm(given: LiteLLMOptions): ProviderAdapter {
  const options = checkProxyOptions(given);
  demand(packageName, "litellm");
  const abilities = { tools: true, nativeOutput: true, textOnly: true };
  const provider = providerOf(proxySource(options), options, abilities);
  return modelAdapter(provider, adapterOptionsOf(options));
}

/**
 * Pure and advisory, and never throws, whatever it is given: would `litellm` take these? What is left out is looked up
 * in the environment.
 */
export function validateLitellmOptions(options: LiteLLMOptions): boolean {
  try {
    checkProxyOptions(options);
    return true;
  } catch {
    return false;
  }
}

const optionNames = {
  ...adapterOptionNames,
  ...settingNames,
  model: true,
  baseURL: true,
  apiKey: true,
  extraBody: true,
} as const satisfies OptionNames<LiteLLMOptions>;

const packageName = "@ai-sdk/openai-compatible";

/** Options that were checked, with nothing left to look up. */
interface ProxyOptions extends LiteLLMOptions {
  readonly baseURL: string;
  readonly apiKey: string;
}

/** A checked copy. @throws {DefinitionError} naming the option and its range. */
function checkProxyOptions(given: LiteLLMOptions): ProxyOptions {
  const { model, extraBody } = given ?? ({} as LiteLLMOptions);
  if (typeof model !== "string" || model.trim() === "") {
    throw new DefinitionError('litellm needs a model, for example { model: "anthropic/claude-sonnet-4-5" }.');
  }
  checkOptionNames("litellm", given, optionNames);
  checkAdapterOptions(given);
  const apiKey = keyOf(given);
  const { secrets = [], headers } = given;
  return {
    ...checkSettings(given),
    apiKey,
    secrets: [...secrets, ...[apiKey].filter(isSecret), ...headerSecrets(headers)],
    baseURL: addressOf(given),
    ...(extraBody === undefined ? {} : { extraBody: plainCopy("extraBody", extraBody) }),
  };
}

function proxySource({ model, baseURL, apiKey, extraBody }: ProxyOptions): ModelSource {
  return {
    name: "litellm",
    modelId: model,
    load: async () => {
      const { createOpenAICompatible } = await loaded(packageName, import("@ai-sdk/openai-compatible"));
      const proxy = createOpenAICompatible({
        name: "litellm",
        baseURL,
        apiKey,
        includeUsage: true,
        supportsStructuredOutputs: true,
        ...(extraBody && { transformRequestBody: (body) => ({ ...body, ...extraBody }) }),
      });
      return proxy.chatModel(model);
    },
  };
}

/** Blank is as if left out. */
function trimmed(name: string, value: unknown): string | undefined {
  if (value === undefined || typeof value === "string") return value?.trim() || undefined;
  throw new DefinitionError(`The option ${name} must be a text, not ${describeValue(value)}.`);
}

function keyOf({ apiKey }: LiteLLMOptions): string {
  const key = trimmed("apiKey", apiKey) ?? environmentVariable("LITELLM_API_KEY");
  if (key !== undefined) return key;
  throw new DefinitionError(
    "litellm needs a key: set LITELLM_API_KEY, or give { apiKey }; any text will do for a proxy that asks for none.",
  );
}

function addressOf({ baseURL }: LiteLLMOptions): string {
  const address = trimmed("baseURL", baseURL) ?? environmentVariable("LITELLM_BASE_URL");
  if (address === undefined) {
    const example = '{ baseURL: "http://localhost:4000" }';
    throw new DefinitionError(`litellm needs the proxy's address: set LITELLM_BASE_URL, or give ${example}.`);
  }
  return checkBaseURL(address);
}
