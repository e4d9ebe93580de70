import type { EvaluationSettings } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import type { ByProvider } from "./settings.ts";

type Options = ByProvider[string];
type Setting = keyof EvaluationSettings;

/** The fields of a body of Chat Completions that settings come to. */
export const bodyFields: { readonly [K in Setting]?: string } = {
  temperature: "temperature",
  topP: "top_p",
  maxOutputTokens: "max_tokens",
  stop: "stop",
  seed: "seed",
  reasoning: "reasoning_effort",
  serviceTier: "service_tier",
};

/** The options of packages for how much their models think. */
const effortNames: readonly string[] = [
  "reasoningEffort",
  "effort",
  "thinking",
  "reasoningConfig",
  "reasoning",
  "thinkingBudget",
  "thinkingLevel",
];

/** The adapter's own options, without those that would win over what the evaluation has set. */
export function givingWay(options: ByProvider | undefined, settings: EvaluationSettings): ByProvider | undefined {
  const fields = (Object.keys(settings) as Setting[]).flatMap((setting) => bodyFields[setting] ?? []);
  const names = new Set(settings.reasoning?.effort === undefined ? fields : [...fields, ...effortNames]);
  if (options === undefined || names.size === 0) return options;
  return mapped(options, (own) => without(own, names));
}

/** Google's name for its thinking has also whether the thoughts are shown: that stays. */
function without(options: Options, names: ReadonlySet<string>): Options {
  const left = Object.entries(options).filter(([name]) => !names.has(name));
  return Object.fromEntries(
    left.map(([name, value]) => [
      name,
      name === "thinkingConfig" && isRecord(value) ? without(value as Options, names) : value,
    ]),
  );
}

/** The options of packages for how long an answer may be, beside the ecosystem's own. */
const limitNames: readonly string[] = ["maxCompletionTokens", "max_completion_tokens", "max_tokens"];

/** The options, with no limit of an answer above the bound. */
export function withoutHigherLimits(options: ByProvider | undefined, bound: number): ByProvider | undefined {
  const isHigher = (name: string, value: unknown): boolean =>
    limitNames.includes(name) && typeof value === "number" && value > bound;
  const all = Object.values(options ?? {}).flatMap((own) => Object.entries(own));
  if (options === undefined || !all.some(([name, value]) => isHigher(name, value))) return options;
  return mapped(options, (own) =>
    Object.fromEntries(Object.entries(own).map(([name, value]) => [name, isHigher(name, value) ? bound : value])),
  );
}

function mapped(options: ByProvider, change: (own: Options) => Options): ByProvider {
  return Object.fromEntries(Object.entries(options).map(([key, own]) => [key, change(own)]));
}
