import { DefinitionError, type EvaluationSettings } from "@proviso/core";
import { checkOptionNames, isRecord, type ModelCapabilities } from "@proviso/core/provider";
import { describeValue, plainCopy, whyNoJson } from "@proviso/core/internal";
import { failure, type Failure } from "../failures.ts";

/** What a request carries where the evaluation sets nothing: one object for all of them. */
const noSettings: EvaluationSettings = Object.freeze({});

type Check = readonly [mustBe: string, fits: (value: unknown) => boolean];

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const summaries = ["auto", "concise", "detailed", "none"];
const lifetimes = ["5m", "30m", "1h", "12h"];
const mostStops = 16;

const checks: { readonly [K in keyof EvaluationSettings]-?: Check } = {
  temperature: ["a number from 0 to 2", (value) => isBetween(value, 0, 2)],
  topP: ["a number from 0 to 1", (value) => isBetween(value, 0, 1)],
  maxOutputTokens: ["a whole number, at least 1", (value) => isWhole(value) && value >= 1],
  stop: [
    `1 to ${mostStops} well-formed texts, none of them empty`,
    (value) => Array.isArray(value) && isBetween(value.length, 1, mostStops) && Array.from(value).every(isText),
  ],
  seed: ["a whole number", isWhole],
  reasoning: ["an object such as { effort, summary }", isRecord],
  logprobs: ["a whole number from 0 to 20", (value) => isWhole(value) && isBetween(value, 0, 20)],
  serviceTier: ["a well-formed text that names a tier", isText],
  cache: ['"auto" or an object such as { key, ttl, breakpoints }', (value) => value === "auto" || isRecord(value)],
  providerOptions: [
    "an object of plain JSON, the options by provider",
    (value) => isRecord(value) && Object.values(value).every((options) => options === undefined || isRecord(options)),
  ],
};

const reasoningChecks: { readonly [K in keyof NonNullable<EvaluationSettings["reasoning"]>]-?: Check } = {
  effort: [oneOf(efforts), (value) => efforts.includes(value as string)],
  summary: [oneOf(summaries), (value) => summaries.includes(value as string)],
};

type CacheOptions = Exclude<EvaluationSettings["cache"], "auto" | undefined>;

const cacheChecks: { readonly [K in keyof CacheOptions]-?: Check } = {
  key: ["a well-formed text that is not empty", isText],
  ttl: [oneOf(lifetimes), (value) => lifetimes.includes(value as string)],
  breakpoints: ["true or false", (value) => typeof value === "boolean"],
};

/** @throws {DefinitionError} naming the setting, its range and what was given. */
export function checkSettings(settings: EvaluationSettings | undefined): void {
  if (settings === undefined) return;
  checkEach("settings", settings, checks);
  const { reasoning, cache, providerOptions } = settings;
  if (reasoning !== undefined) checkEach("settings.reasoning", reasoning, reasoningChecks);
  if (cache !== undefined && cache !== "auto") checkEach("settings.cache", cache, cacheChecks);
  if (providerOptions === undefined || plainCopy(providerOptions) !== undefined) return;
  const why =
    whyNoJson(providerOptions) ?? "it holds a function, an instance of a class, or more than 16 Mi characters.";
  throw new DefinitionError(`The option settings.providerOptions must be plain JSON: ${why}`);
}

function checkEach(what: string, given: object, expected: Readonly<Record<string, Check>>): void {
  checkOptionNames(`The option ${what}`, given, expected);
  for (const [name, value] of Object.entries(given) as readonly (readonly [string, unknown])[]) {
    const check = expected[name];
    if (value === undefined || check === undefined || check[1](value)) continue;
    throw new DefinitionError(`The option ${what}.${name} must be ${check[0]}, not ${describeValue(value)}.`);
  }
}

function oneOf(words: readonly string[]): string {
  return words.map((word) => JSON.stringify(word)).join(", ");
}

function isText(value: unknown): value is string {
  // Half a surrogate pair reaches no wire.
  return typeof value === "string" && value !== "" && value.isWellFormed();
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isBetween(value: unknown, low: number, high: number): boolean {
  return typeof value === "number" && value >= low && value <= high;
}

/** The settings that each request of an evaluation carries: a copy of what was set, with the key of the cache. */
export function settingsOf(given: EvaluationSettings | undefined, promptName: string): EvaluationSettings {
  if (given === undefined) return noSettings;
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  if (set.length === 0) return noSettings;
  const settings = structuredClone(Object.fromEntries(set)) as EvaluationSettings;
  const { cache } = settings;
  if (cache === undefined) return Object.freeze(settings);
  const { key = promptName, ...rest } = cache === "auto" ? {} : cache;
  return Object.freeze({ ...settings, cache: Object.freeze({ key, ...rest }) });
}

/** Whether the requests mark where a cache may begin a new stretch. */
export function setsMarks(settings: EvaluationSettings = noSettings): boolean {
  const { cache } = settings;
  return cache !== undefined && (cache === "auto" || cache.breakpoints !== false);
}

/** What takes the settings of a request: a model, or an agent. */
interface TakesSettings {
  readonly name: string;
  readonly capabilities?: Pick<ModelCapabilities, "settings" | "refusesSetting"> | undefined;
}

/** A setting that cannot be kept is refused before anything is sent. Options of other providers are passed over. */
export function refusedSetting(
  { name, capabilities = {} }: TakesSettings,
  settings: EvaluationSettings,
): Failure | undefined {
  if (settings === noSettings) return undefined;
  const { settings: taken = [], refusesSetting } = capabilities;
  const unknown = (Object.keys(settings) as (keyof EvaluationSettings)[]).find(
    (setting) => setting !== "providerOptions" && !taken.includes(setting),
  );
  if (unknown !== undefined) {
    const offered = taken.length === 0 ? "It takes no settings." : `It takes ${taken.join(", ")}.`;
    return refusal(`${name} does not take the setting ${unknown}. ${offered}`);
  }
  const refused = refusesSetting?.(settings);
  return refused && refusal(`${name} cannot keep the setting ${refused.setting}: ${refused.why}`);
}

function refusal(message: string): Failure {
  return failure({ stop: "provider", phase: "request", reason: "bad_request", message });
}
