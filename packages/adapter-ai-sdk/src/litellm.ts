import { DefinitionError, type ProviderAdapter } from "@proviso/core";
import { checkOptionNames, isRecord, type OptionNames } from "@proviso/core/provider";
import { describeValue } from "@proviso/core/internal";
import {
  checkAdapterOptions,
  adapterOptionNames,
  adapterOptionsOf,
  checkBaseURL,
  credentialsIn,
  environmentVariable,
  headerSecrets,
  isSecret,
  importFailure,
  requirePackage,
} from "@proviso/adapter-kit";
import { modelAdapter, type AdapterOptions } from "@proviso/runtime";
import { providerOf, takesSchemas } from "./ai-sdk-model.ts";
import {
  checkSettings,
  checkVersion,
  isModel,
  plainCopy,
  settingNames,
  type AiSdkOptions,
  type AiSdkSettings,
  type LanguageModel,
} from "./options.ts";
import { modelSource, type ModelSource } from "./resolve-model.ts";
import { withExtraBody } from "./settings.ts";

/** What `litellm` takes. */
export interface LiteLLMOptions extends AiSdkSettings, AdapterOptions {
  /**
   * The model's name at the proxy, `anthropic/claude-sonnet-4-5` for example; it is sent verbatim. Or a ready model of
   * the ecosystem, such as `createOpenAI({ baseURL, apiKey }).chat(id)` of `@ai-sdk/openai`, which then has its own
   * `baseURL`, `apiKey` and `extraBody`.
   */
  readonly model: string | LanguageModel;
  /** The address of the proxy. Left out: the value of LITELLM_BASE_URL. */
  readonly baseURL?: string | undefined;
  /** The key for the proxy. Left out: the value of LITELLM_API_KEY. */
  readonly apiKey?: string | undefined;
  /** Laid over the body, last. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined;
  /** What the model behind the proxy can do, which the proxy does not report. Left out: both. */
  readonly capabilities?: AiSdkOptions["capabilities"];
}

/**
 * Evaluates prompts with a model behind a LiteLLM proxy. A schema is sent, but only the text of an answer is trusted.
 * @example
 * ```ts
 * import { litellm } from "@proviso/adapter-ai-sdk";
 *
 * // The key is in LITELLM_API_KEY.
 * const adapter = litellm({ model: "anthropic/claude-sonnet-4-5", baseURL: "http://localhost:4000" });
 * const { output } = await adapter.evaluate("What is the capital of France?");
 * console.log(output);
 * ```
 * @throws {DefinitionError} for a missing address or key, an option that is unknown or out of range, and where an id is
 * given and `@ai-sdk/openai-compatible` is not installed.
 */
export function litellm(given: LiteLLMOptions): ProviderAdapter {
  const options = checkLiteLLMOptions(given);
  const { model, capabilities } = options;
  const source = isOfProxy(options) ? proxySource(options) : { ...modelSource(model), name };
  const provider = providerOf(source, options, {
    tools: capabilities?.tools ?? true,
    nativeOutput: capabilities?.nativeOutput ?? takesSchemas(model),
    textOnly: true,
    reportsCost: isOfProxy(options),
  });
  return modelAdapter(provider, adapterOptionsOf(options));
}

const optionNames = {
  model: true,
  baseURL: true,
  apiKey: true,
  extraBody: true,
  capabilities: true,
  ...settingNames,
  ...adapterOptionNames,
} as const satisfies OptionNames<LiteLLMOptions>;

const name = "litellm";
const proxyPackage = { name: "@ai-sdk/openai-compatible", purpose: "litellm" };

/** Options that were checked, with nothing left to look up. */
type CheckedOptions = ReadyOptions | ProxyOptions;
interface ReadyOptions extends LiteLLMOptions {
  readonly model: LanguageModel;
}
interface ProxyOptions extends LiteLLMOptions {
  readonly model: string;
  readonly baseURL: string;
  readonly apiKey: string;
}

/** A checked copy. @throws {DefinitionError} naming the option and its range. */
function checkLiteLLMOptions(given: LiteLLMOptions): CheckedOptions {
  const { model, extraBody, capabilities } = given ?? ({} as LiteLLMOptions);
  if (typeof model === "string" ? model.trim() === "" : !isModel(model)) {
    throw new DefinitionError(
      'litellm needs a model, for example { model: "anthropic/claude-sonnet-4-5" }, or createOpenAI({ baseURL, apiKey }).chat("…") of @ai-sdk/openai.',
    );
  }
  checkOptionNames("litellm", given, optionNames);
  checkVersion(model);
  checkCapabilities(capabilities);
  checkAdapterOptions(given);
  const { secrets = [], headers } = given;
  if (typeof model !== "string") {
    refuseBesideModel(given);
    // The model's own key is not known here; where it came from the environment, it is.
    const keys = [environmentVariable("LITELLM_API_KEY")].filter(isSecret);
    return { ...checkSettings(given), model, secrets: [...secrets, ...keys, ...headerSecrets(headers)] };
  }
  const apiKey = keyOf(given);
  const baseURL = addressOf(given);
  return {
    ...checkSettings(given),
    model,
    apiKey,
    secrets: [...secrets, ...[apiKey].filter(isSecret), ...headerSecrets(headers), ...credentialsIn(baseURL)],
    baseURL,
    ...(extraBody === undefined ? {} : { extraBody: plainCopy("extraBody", extraBody) }),
  };
}

function checkCapabilities(given: unknown = {}): void {
  const fits =
    isRecord(given) &&
    Object.entries(given).every(
      ([ability, can]) =>
        (ability === "tools" || ability === "nativeOutput") && (can === undefined || typeof can === "boolean"),
    );
  if (fits) return;
  throw new DefinitionError(
    `The option capabilities must be { tools, nativeOutput }, each true or false, not ${describeValue(given)}.`,
  );
}

/** Refuses options that a ready model would ignore: it was made with its own. */
function refuseBesideModel(given: LiteLLMOptions): void {
  for (const option of ["baseURL", "apiKey", "extraBody"] as const) {
    if (given[option] === undefined) continue;
    throw new DefinitionError(`litellm takes no ${option} beside a ready model: give it where the model is made.`);
  }
}

function isOfProxy(options: CheckedOptions): options is ProxyOptions {
  return typeof options.model === "string";
}

/** Rejects with a DefinitionError where the package is missing. */
async function loadProxyPackage(): Promise<typeof import("@ai-sdk/openai-compatible")> {
  try {
    return await import("@ai-sdk/openai-compatible");
  } catch (error) {
    throw importFailure(proxyPackage, error);
  }
}

/** @throws {DefinitionError} where the package that speaks to the proxy is missing. */
function proxySource({ model, baseURL, apiKey, extraBody }: ProxyOptions): ModelSource {
  requirePackage({ ...proxyPackage, resolve: import.meta.resolve });
  return {
    name,
    modelId: model,
    of: "litellm",
    settings: { baseURL, extraBody },
    load: async () => {
      const { createOpenAICompatible } = await loadProxyPackage();
      const proxy = createOpenAICompatible({
        name,
        baseURL,
        apiKey,
        includeUsage: true,
        supportsStructuredOutputs: true,
        ...(extraBody && { transformRequestBody: (body) => withExtraBody(body, extraBody) }),
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
