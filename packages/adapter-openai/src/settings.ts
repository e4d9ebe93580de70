import type { EvaluationSettings, ModelRequest } from "@proviso/core";
import { isRecord, type ModelCapabilities, type OptionNames, type SettingRefusal } from "@proviso/core/provider";
import { cacheMarks, countMarks, unknownOption } from "@proviso/adapter-kit";
import type { CheckedOptions } from "./options.ts";

/** What one evaluation may set under `providerOptions.openai`. */
export interface OpenAIRequestOptions {
  /** Whether the service stores the answer. false: reasoning is asked for encrypted, and replayed so. */
  readonly store?: boolean;
  /** Texts that the service keeps with the answer. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** A stable id of the end user, for the service's abuse detection. */
  readonly safetyIdentifier?: string;
  /** How long the answer is. */
  readonly verbosity?: "low" | "medium" | "high";
  /** Whether the model may make several calls in one turn. */
  readonly parallelToolCalls?: boolean;
  /** Calls of tools that the provider runs itself, at most; with api "responses" alone. */
  readonly maxToolCalls?: number;
  /** Fields that are laid over the body, last. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
}

declare module "@proviso/core" {
  interface ProviderOptions {
    /** Options of `openai` of @proviso/adapter-openai. */
    readonly openai?: OpenAIRequestOptions;
  }
}

const names = {
  store: true,
  metadata: true,
  safetyIdentifier: true,
  verbosity: true,
  parallelToolCalls: true,
  maxToolCalls: true,
  extraBody: true,
} as const satisfies OptionNames<OpenAIRequestOptions>;

type Api = CheckedOptions["api"];
type Item = Readonly<Record<string, unknown>>;

const both = [
  "temperature",
  "topP",
  "maxOutputTokens",
  "reasoning",
  "logprobs",
  "serviceTier",
  "cache",
  "providerOptions",
] as const;

/** The settings that an API takes. */
export function settingsOfApi(api: Api): Pick<ModelCapabilities, "settings" | "refusesSetting"> {
  return {
    settings: Object.freeze(api === "chat" ? [...both, "stop" as const, "seed" as const] : [...both]),
    refusesSetting: (settings) => refusal(api, settings),
  };
}

/** How long the caches of an API can be asked to live. Source: OpenAI API reference, "prompt_cache_options". */
const lifetimes: Readonly<Record<Api, readonly string[]>> = { responses: ["30m", "12h"], chat: ["30m"] };

function refusal(api: Api, { cache, reasoning, providerOptions }: EvaluationSettings): SettingRefusal | undefined {
  if (typeof cache === "object" && cache.ttl !== undefined && !lifetimes[api].includes(cache.ttl)) {
    const known = lifetimes[api].join(", ");
    return { setting: "cache", why: `The lifetime of its cache is one of ${known}, not ${cache.ttl}.` };
  }
  if (api === "chat" && (reasoning?.summary ?? "none") !== "none") {
    return { setting: "reasoning", why: 'Chat Completions gives no summary; use { api: "responses" }.' };
  }
  const why = unknownOption("The provider options of openai", providerOptions?.openai, names);
  if (why !== undefined) return { setting: "providerOptions", why };
  if (api === "chat" && providerOptions?.openai?.maxToolCalls !== undefined) {
    return { setting: "providerOptions", why: 'Chat Completions takes no maxToolCalls; use { api: "responses" }.' };
  }
  return undefined;
}

/** Whether a part of the body that is written once has to be changed for this request. */
export function changesParts({ settings, output }: ModelRequest): boolean {
  return output !== undefined && settings?.providerOptions?.openai?.verbosity !== undefined;
}

/** What both APIs take under the same names. */
function shared(options: CheckedOptions, request: ModelRequest, settings: EvaluationSettings, hasTools: boolean): Item {
  const { temperature, topP, serviceTier, cache, providerOptions } = settings;
  const own = providerOptions?.openai ?? {};
  const parallelToolCalls = own.parallelToolCalls ?? options.parallelToolCalls;
  const { key, ttl } = cache === undefined || cache === "auto" ? {} : cache;
  // The service sets one mark of its own unless it is asked not to, and then keeps three of a request's.
  const mode = countMarks(cacheMarks(request)) > 3 ? "explicit" : undefined;
  return {
    temperature,
    top_p: topP,
    service_tier: serviceTier,
    parallel_tool_calls: hasTools ? parallelToolCalls : undefined,
    store: own.store,
    metadata: own.metadata,
    safety_identifier: own.safetyIdentifier,
    prompt_cache_key: key,
    prompt_cache_options: ttl === undefined && mode === undefined ? undefined : defined({ mode, ttl }),
  };
}

/** The fields that an evaluation's settings lay over a body of Chat Completions; undefined: it sets nothing. */
export function chatSettings(options: CheckedOptions, request: ModelRequest, limitKey: string): Item | undefined {
  const { settings } = request;
  if (settings === undefined || Object.keys(settings).length === 0) return undefined;
  const { maxOutputTokens, stop, seed, reasoning, logprobs, providerOptions } = settings;
  const own = providerOptions?.openai ?? {};
  return defined({
    ...shared(options, request, settings, request.tools.length > 0),
    reasoning_effort: reasoning?.effort,
    logprobs: logprobs === undefined ? undefined : true,
    top_logprobs: logprobs,
    stop,
    seed,
    verbosity: own.verbosity,
    [limitKey]: maxOutputTokens,
    ...own.extraBody,
  });
}

/** The fields that an evaluation's settings lay over a body of the Responses API; undefined: it sets nothing. */
export function responsesSettings(options: CheckedOptions, request: ModelRequest, output: unknown): Item | undefined {
  const { settings } = request;
  if (settings === undefined || Object.keys(settings).length === 0) return undefined;
  const { maxOutputTokens, reasoning, logprobs, providerOptions } = settings;
  const own = providerOptions?.openai ?? {};
  const { verbosity } = own;
  return defined({
    ...shared(options, request, settings, request.tools.length > 0),
    reasoning: reasoningOf(options, reasoning),
    text: verbosity === undefined ? undefined : { ...(isRecord(output) ? output : {}), verbosity },
    include: includeOf({
      store: own.store ?? options.store,
      logprobs: options.logprobs === true || logprobs !== undefined,
    }),
    top_logprobs: logprobs,
    max_tool_calls: own.maxToolCalls,
    max_output_tokens: maxOutputTokens,
    ...own.extraBody,
  });
}

function reasoningOf({ reasoningEffort }: CheckedOptions, given: EvaluationSettings["reasoning"]): Item | undefined {
  if (given === undefined) return undefined;
  const { effort = reasoningEffort, summary } = given;
  const asked = defined({ effort, summary: summary === "none" ? undefined : summary });
  return Object.keys(asked).length === 0 ? undefined : asked;
}

/** What the Responses API adds to an answer; undefined: nothing. */
export function includeOf(asked: {
  readonly store: boolean | undefined;
  readonly logprobs: boolean;
}): readonly string[] | undefined {
  const include = [
    // The service cannot look reasoning up where it stores nothing: the reasoning travels encrypted.
    ...(asked.store === false ? ["reasoning.encrypted_content"] : []),
    ...(asked.logprobs ? ["message.output_text.logprobs"] : []),
  ];
  return include.length === 0 ? undefined : include;
}

function defined(fields: Item): Item {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
