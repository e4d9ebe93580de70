// The packages for Anthropic's models add the tokens of thinking to `maxOutputTokens`: `max_tokens` is the sum. What the
// bound of an answer allows is therefore divided here.
import { isRecord } from "@proviso/core/provider";
import type { LanguageModel } from "./options.ts";
import { withoutHigherLimits } from "./option-names.ts";
import { kindOf, optionKeys, type ByProvider } from "./settings.ts";

/** What is asked of the model's length and thoughts. */
export interface Asked {
  /** Tokens of the answer at most, with its thoughts; undefined: as many as the model likes. */
  readonly bound: number | undefined;
  /** How much the model is to think, by the ecosystem's name. */
  readonly effort: string | undefined;
  readonly options: ByProvider | undefined;
  /** Whether a call is forced: by the choice, or because the package sends the output's schema as a tool to be called. */
  readonly forces: { readonly choice: boolean; readonly output: boolean };
  /** Whether the calls that the request answers, if any, were begun with a thought of this model. */
  readonly beginsWithThought: () => boolean;
}

/** A request's length and thoughts, as the package takes them. */
export interface Divided {
  /** Tokens of the answer, without those that the package adds for its thoughts. */
  readonly maxOutputTokens: number | undefined;
  readonly options: ByProvider | undefined;
}

/** The fewest tokens of thinking that Anthropic takes. Source: Claude API reference, "Extended thinking". */
const leastThinking = 1_024;
/** The share of the bound that thinking gets at most, so that there is room for the answer. */
const most = 0.8;

/**
 * Divides the bound of an answer between thoughts and text, where the package would add to it. A call that is forced is
 * made without a thought, and calls that were begun without one are answered without any: Anthropic refuses the request
 * otherwise. A model that cannot stop thinking keeps its effort. Source: Claude API reference, "Extended thinking",
 * "Toggling thinking modes in conversations" and "Extended thinking with tool use".
 */
export function withinBound(model: LanguageModel, asked: Asked): Divided {
  const { bound, effort, options, forces, beginsWithThought } = asked;
  let divided: Divided = { maxOutputTokens: bound, options: withoutHigherLimits(options, bound ?? Infinity) };
  for (const place of placesOf(model)) {
    const thinking = thinkingIn(divided.options, place, model, effort);
    if (thinking === undefined) continue;
    const { key, given, tokens } = thinking;
    // An output's tool is not forced by the package where thinking has a number of tokens.
    const isForced = !neverForced.test(model.modelId) && (forces.choice || (tokens === "adaptive" && forces.output));
    if (tokens === "adaptive" && !isForced) continue;
    const fits = !isForced && leastThinking <= (bound ?? Infinity) * most && beginsWithThought();
    if (fits && bound === undefined) continue;
    const fitting = Math.min(Number(tokens), Math.floor((bound ?? Infinity) * most));
    const field = fits
      ? { [place.field]: { ...given, type: "enabled", budgetTokens: fitting } }
      : withoutThought(model, place, effort);
    divided = {
      maxOutputTokens: fits && bound !== undefined ? bound - fitting : bound,
      options: { ...divided.options, [key]: { ...divided.options?.[key], ...field } },
    };
  }
  return divided;
}

/** Models that think whatever they are asked. Source, also of the next two: the table of models of `@ai-sdk/anthropic` 4. */
const alwaysThinks = /claude-(?:(?:opus|sonnet)-5[-.]5|fable-5)/;
/** The ones among them whose calls the package only asks for, so that there is nothing to switch off. */
const neverForced = /claude-(?:(?:opus|sonnet)-5[-.]5|fable-5[-.][12](?!\d))/;
/** Models that choose themselves how much they think, also where the options have a number of tokens. */
const takesNoTokens = new RegExp(`${alwaysThinks.source}|claude-haiku-5[-.]5`);

/** The options that ask for no thought: of a model that always thinks none is asked for, and its effort goes alone. */
function withoutThought({ modelId }: LanguageModel, { field }: Place, effort: string | undefined): object {
  if (!alwaysThinks.test(modelId)) return { [field]: { type: "disabled" } };
  // Bedrock's package makes an effort of the ecosystem's by itself.
  const goesAlone = field === "thinking" && shares.has(effort);
  return { [field]: undefined, ...(goesAlone ? { effort: effort === "minimal" ? "low" : effort } : {}) };
}

/** Where a package looks for its thinking. */
interface Place {
  /** The names of the provider's options, the one that counts first. */
  readonly keys: readonly string[];
  readonly field: string;
}

function placesOf(model: LanguageModel): readonly Place[] {
  const kind = kindOf(model);
  const anthropic = { keys: optionKeys(model, "anthropic"), field: "thinking" };
  const bedrock = { keys: optionKeys(model, "bedrock"), field: "reasoningConfig" };
  if (kind === "anthropic") return [anthropic];
  if (!model.modelId.includes("claude")) return [];
  if (kind === "bedrock") return [bedrock];
  return kind === "gateway" ? [anthropic, bedrock] : [];
}

interface Thinking {
  readonly key: string;
  readonly given: object;
  readonly tokens: Tokens;
}

/** Tokens of thinking; "adaptive": as many as the model likes. */
type Tokens = number | "adaptive";

/** The thinking that options ask for, else that of the effort; undefined: none that the package would add. */
function thinkingIn(
  options: ByProvider | undefined,
  { keys, field }: Place,
  model: LanguageModel,
  effort: string | undefined,
): Thinking | undefined {
  const stated = keys.find((key) => isRecord(options?.[key]?.[field]));
  const given = stated === undefined ? undefined : options?.[stated]?.[field];
  if (stated !== undefined && isRecord(given)) {
    const { type, budgetTokens = leastThinking } = given;
    if (type === "adaptive") return { key: stated, given, tokens: type };
    if (type !== "enabled" || typeof budgetTokens !== "number") return undefined;
    return { key: stated, given, tokens: takesNoTokens.test(model.modelId) ? "adaptive" : budgetTokens };
  }
  const byEffort = effortTokens(model, effort);
  // An effort of the package's own stands in for the ecosystem's.
  if (byEffort === undefined || keys.some((key) => options?.[key]?.["effort"] !== undefined)) return undefined;
  const key = keys.find((name) => options?.[name] !== undefined) ?? keys.at(-1) ?? field;
  return { key, given: {}, tokens: byEffort };
}

/** The share of a model's longest answer that each effort comes to. Source: `@ai-sdk/provider-utils` 5. */
const shares: ReadonlyMap<string | undefined, number> = new Map([
  ["minimal", 0.02],
  ["low", 0.1],
  ["medium", 0.3],
  ["high", 0.6],
  ["xhigh", 0.9],
  ["max", 0.95],
]);

/** The tokens that the package makes of an effort; undefined where it makes none. */
function effortTokens({ modelId }: LanguageModel, effort: string | undefined): Tokens | undefined {
  const share = shares.get(effort);
  if (share === undefined) return undefined;
  const longest = longestOf(modelId);
  if (longest === undefined) return "adaptive";
  return Math.max(leastThinking, Math.round(longest * share));
}

/**
 * The longest answer of a model whose thinking is asked for in tokens; undefined for the later ones, which take an
 * effort. Source: the table of models of `@ai-sdk/anthropic` 4.
 */
function longestOf(modelId: string): number | undefined {
  const [, family, major, minor] = /claude-(?:([a-z]+)-)?(\d+)(?:[-.](\d{1,2})(?!\d))?/.exec(modelId) ?? [];
  if (major === undefined) return modelId.includes("claude-") ? undefined : 4_096;
  const version = Number(`${major}.${minor ?? 0}`);
  if (version >= 4.6) return undefined;
  if (version < 4) return 4_096;
  return family === "opus" && version < 4.5 ? 32_000 : 64_000;
}
