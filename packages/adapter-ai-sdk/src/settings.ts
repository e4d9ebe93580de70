import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { EvaluationSettings, ModelRequest } from "@proviso/core";
import { isRecord, type ModelCapabilities, type SettingRefusal } from "@proviso/core/provider";
import { ignoredByGemini, isRecursiveSchema, type WireSchema } from "@proviso/adapter-kit";
import { bodyFields, givingWay } from "./option-names.ts";
import type { LanguageModel } from "./options.ts";

/** The options of providers, by their names. */
export type ByProvider = NonNullable<LanguageModelV4CallOptions["providerOptions"]>;

/** The providers whose options beyond the ecosystem's own are known here. */
type Kind = "responses" | "chat" | "anthropic" | "bedrock" | "google" | "gateway" | "compatible" | "other";

/** Recognises a provider by its model's `provider`, `openai.responses` for example, or by a field of the model. */
export function kindOf(model: LanguageModel | string): Kind {
  if (typeof model === "string") return model === "litellm" ? "compatible" : "gateway";
  const { provider } = model;
  if (/^(openai|azure)\b/.test(provider)) return /\b(chat|completion)\b/.test(provider) ? "chat" : "responses";
  if (/\banthropic\b/.test(provider)) return "anthropic";
  if (/\bbedrock\b/.test(provider)) return "bedrock";
  if (/\b(google|vertex)\b/.test(provider)) return "google";
  if (/\bgateway\b/.test(provider)) return "gateway";
  return "supportsStructuredOutputs" in model ? "compatible" : "other";
}

/** Whether the model's wire is one of OpenAI's, whatever interface the model has. */
export function isOpenAIFamily(model: LanguageModel): boolean {
  return /^(openai|azure|litellm)\b/.test(model.provider) || "supportsStructuredOutputs" in model;
}

type Setting = keyof EvaluationSettings;

/** What every model of the ecosystem is asked for by name. */
const always: readonly Setting[] = ["temperature", "topP", "maxOutputTokens", "providerOptions"];

/** What a provider takes beyond that. Its package would log a warning for the others, and leave them out. */
const more: Readonly<Record<Kind, readonly Setting[]>> = {
  responses: ["logprobs", "serviceTier", "cache"],
  chat: ["stop", "seed", "logprobs", "serviceTier", "cache"],
  anthropic: ["stop", "serviceTier", "cache"],
  bedrock: ["stop", "cache"],
  google: ["stop", "seed", "serviceTier"],
  gateway: ["stop", "seed", "cache"],
  compatible: ["stop", "seed", "serviceTier", "cache"],
  other: ["stop", "seed"],
};

/** How long the caches of a provider can be asked to live. */
const lifetimes: Readonly<Record<Kind, readonly string[]>> = {
  responses: ["30m", "12h"],
  chat: ["30m"],
  anthropic: ["5m", "1h"],
  bedrock: [],
  google: [],
  gateway: ["5m", "1h"],
  compatible: ["5m", "1h"],
  other: [],
};

/** The settings that a model takes. */
export function settingsOfModel(model: LanguageModel | string): Pick<ModelCapabilities, "settings" | "refusesSetting"> {
  const kind = kindOf(model);
  // The interfaces before v4 have no word for reasoning, but the package of compatible services has an option.
  const knowsReasoning = typeof model === "string" || isNewest(model) || kind === "compatible";
  const settings = [...always, ...(knowsReasoning ? (["reasoning"] as const) : []), ...more[kind]];
  return {
    settings: Object.freeze(settings),
    refusesSetting: (given) => refusal(kind, given),
  };
}

function isNewest({ specificationVersion }: LanguageModel): boolean {
  return specificationVersion === "v4";
}

/** The tiers of Anthropic's service: its package throws for any other. */
const anthropicTiers: readonly string[] = ["auto", "standard_only", "standard", "priority"];

function refusal(kind: Kind, settings: EvaluationSettings): SettingRefusal | undefined {
  const { cache, reasoning, providerOptions, serviceTier } = settings;
  if (kind === "anthropic" && serviceTier !== undefined && !anthropicTiers.includes(serviceTier)) {
    const why = `Anthropic's tier is one of ${anthropicTiers.join(", ")}; ${serviceTier} was asked for.`;
    return { setting: "serviceTier", why };
  }
  if (typeof cache === "object" && cache.ttl !== undefined && !lifetimes[kind].includes(cache.ttl)) {
    const known = lifetimes[kind].length === 0 ? "cannot be chosen" : `is one of ${lifetimes[kind].join(", ")}`;
    return { setting: "cache", why: `The lifetime of its cache ${known}; ${cache.ttl} was asked for.` };
  }
  if (kind !== "responses" && (reasoning?.summary ?? "none") !== "none") {
    return { setting: "reasoning", why: "The ecosystem has no way to ask this provider for a summary." };
  }
  const own: unknown = providerOptions?.aiSdk;
  if (own === undefined || (isRecord(own) && Object.values(own).every(isRecord))) return undefined;
  return { setting: "providerOptions", why: "Under aiSdk stand the options of providers, each an object by its name." };
}

const nothing: EvaluationSettings = Object.freeze({});

/** What an evaluation sets; an empty object where it sets nothing. */
export function settingsIn({ settings = nothing }: ModelRequest): EvaluationSettings {
  return settings;
}

/** The options of one request by provider: the adapter's, then what the settings come to, then the evaluation's own. */
export function providerOptionsOf(
  model: LanguageModel,
  adapters: ByProvider | undefined,
  request: ModelRequest,
): ByProvider | undefined {
  const settings = settingsIn(request);
  const own = settings.providerOptions?.aiSdk as ByProvider | undefined;
  const left = givingWay(adapters, settings);
  return merged(merged(left, optionsFor(model, settings, merged(left, own))), own);
}

/** What the settings come to; `beside`: the options that are sent with them. */
function optionsFor(
  model: LanguageModel,
  settings: EvaluationSettings,
  beside: ByProvider | undefined,
): ByProvider | undefined {
  const { serviceTier, logprobs, cache, reasoning } = settings;
  const kind = kindOf(model);
  const key = keyOf(model, kind, beside);
  const isOpenAI = kind === "responses" || kind === "chat";
  const effort = kind === "compatible" && !isNewest(model) ? reasoning?.effort : undefined;
  const { key: promptCacheKey, ttl } = cache === undefined || cache === "auto" ? {} : cache;
  const options = {
    ...(serviceTier === undefined ? {} : { [kind === "compatible" ? "service_tier" : "serviceTier"]: serviceTier }),
    ...(logprobs === undefined ? {} : { logprobs }),
    ...(kind === "responses" ? summaryOf(reasoning, beside?.[key]) : {}),
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
    ...(isOpenAI && promptCacheKey !== undefined ? { promptCacheKey } : {}),
    ...(isOpenAI && ttl !== undefined ? { promptCacheOptions: { ttl } } : {}),
  };
  return Object.keys(options).length === 0 ? undefined : { [key]: options };
}

/** `@ai-sdk/openai` asks for a detailed summary wherever it gets an effort, unless the option is there, if only as null. */
function summaryOf(reasoning: EvaluationSettings["reasoning"], beside: ByProvider[string] | undefined): object {
  const { summary, effort } = reasoning ?? {};
  if (summary !== undefined) return { reasoningSummary: summary === "none" ? null : summary };
  return effort === undefined || beside?.["reasoningSummary"] !== undefined ? {} : { reasoningSummary: null };
}

/** The name under which a package looks for its options: of several the one that is used already. */
function keyOf(model: LanguageModel, kind: Kind, beside: ByProvider | undefined): string {
  const keys = optionKeys(model, kind);
  return keys.find((key) => beside?.[key] !== undefined) ?? keys.at(-1) ?? kind;
}

/** The names under which a package looks for its options; of several the first that is there counts. */
export function optionKeys({ provider }: LanguageModel, kind: Kind): readonly string[] {
  const own = provider.split(".")[0] ?? provider;
  switch (kind) {
    case "responses":
    case "chat":
      return own === "azure" ? ["azure", "openai"] : ["openai"];
    case "anthropic":
      if (own === kind || !/\banthropic\b/.test(provider)) return [kind];
      return [own, ...(own === "googleVertex" ? ["vertex"] : []), kind];
    case "bedrock":
      return ["amazonBedrock", kind];
    case "google":
      return /vertex/.test(provider) ? ["googleVertex", "vertex", kind] : [kind];
    case "gateway":
    case "compatible":
    case "other":
      return [own];
  }
}

function merged(a: ByProvider | undefined, b: ByProvider | undefined): ByProvider | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Object.fromEntries([...Object.keys(a), ...Object.keys(b)].map((key) => [key, { ...a[key], ...b[key] }]));
}

/**
 * Asks for a schema that is not strict: the OpenAI family sends each strict by default, and the package of Anthropic's
 * models would leave keywords out, and close what is open. Other providers ignore the option.
 */
export function notStrict(model: LanguageModel, options: ByProvider | undefined): ByProvider {
  const kind = kindOf(model);
  const kinds: readonly Kind[] = kind === "gateway" ? ["responses", "anthropic"] : [kind];
  const asked = kinds.map((one) => {
    const option = one === "anthropic" ? { structuredOutputMode: "jsonTool" } : { strictJsonSchema: false };
    return [keyOf(model, one, options), option] as const;
  });
  return merged(Object.fromEntries(asked), options) ?? {};
}

/** Whether the package of Anthropic's models sends an output's schema as a tool that is to be called, and not as a format. */
export function goesAsTool(model: LanguageModel, wire: WireSchema, options: ByProvider | undefined): boolean {
  const modes = optionKeys(model, "anthropic").map((key) => options?.[key]?.["structuredOutputMode"]);
  if (modes.includes("outputFormat")) return false;
  // Vertex has no format, and a format cannot be recursive.
  return !wire.strict || modes.includes("jsonTool") || /vertex/i.test(model.provider) || isRecursiveSchema(wire.schema);
}

/** What a provider passes over in the schema of an output, so that the model would not know of it. */
export function ignoredKeywords(model: LanguageModel): ReadonlySet<string> | undefined {
  const kind = kindOf(model);
  return kind === "google" || (kind === "gateway" && model.modelId.startsWith("google/")) ? ignoredByGemini : undefined;
}

/** The options that mark the end of a stretch which a cache may keep; undefined where the provider knows no marks. */
export function markOptions(model: LanguageModel, { cache }: EvaluationSettings): ByProvider | undefined {
  const ttl = typeof cache === "object" ? cache.ttl : undefined;
  const control = { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) };
  const breakpoint = { promptCacheBreakpoint: { mode: "explicit" } };
  switch (kindOf(model)) {
    case "responses":
    case "chat":
      return { openai: breakpoint, ...(model.provider.startsWith("azure") ? { azure: breakpoint } : {}) };
    case "anthropic":
      return { anthropic: { cacheControl: control } };
    case "bedrock":
      return { bedrock: { cachePoint: { type: "default" } } };
    case "gateway":
      return { anthropic: { cacheControl: control }, bedrock: { cachePoint: { type: "default" } } };
    case "compatible":
      return { openaiCompatible: { cache_control: control } };
    case "google":
    case "other":
      return undefined;
  }
}

/** The key in a body that lists the fields which an evaluation has set. It is taken away before the body is sent. */
const setFields = "proviso_set_fields";

/** Lists what the evaluation has set, so that the adapter's `extraBody` is not laid over it. */
export function withSetFields(name: string, options: ByProvider | undefined, request: ModelRequest): ByProvider {
  const set = (Object.keys(settingsIn(request)) as Setting[]).flatMap((setting) => bodyFields[setting] ?? []);
  return merged(options, { [name]: { [setFields]: set } }) ?? {};
}

/** Lays the adapter's own fields over a body, but for those that the evaluation has set. A limit of tokens is never raised. */
export function withExtraBody(
  { [setFields]: given, ...body }: Readonly<Record<string, unknown>>,
  extraBody: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const set: readonly unknown[] = Array.isArray(given) ? given : [];
  const extra = Object.fromEntries(Object.entries(extraBody).filter(([key]) => !set.includes(key)));
  const own = extra["max_tokens"];
  const limit = body["max_tokens"];
  const smaller = typeof own === "number" && typeof limit === "number" ? { max_tokens: Math.min(own, limit) } : {};
  return { ...body, ...extra, ...smaller };
}
