import {
  DefinitionError,
  type EvaluateOptions,
  type Prompt,
  type ToolChoice,
  type EvaluationSettings,
} from "@proviso/core";
import { checkOptionNames, isRecord, type OptionNames, type ModelCapabilities } from "@proviso/core/provider";
import { checkList, describeValue, isDeadline, textPrompt, plainCopy, whyNoJson } from "@proviso/core/internal";
import { optionFault, failure, type Failure } from "./failures.ts";
import { openerOf } from "./recording/run-value.ts";

/** Each says what the option must be; undefined is as if left out. */
const expected: {
  readonly [K in keyof EvaluateOptions]?: readonly [mustBe: string, fits: (value: unknown) => boolean];
} = {
  deadline: ["a deadline: deadlineIn(milliseconds) or deadlineAt(date)", isDeadline],
  signal: ["an AbortSignal, the signal of a controller for example", isAbortSignal],
  budget: ["limits, { maxTotalTokens: 10_000 } for example, or a tracker of trackBudget", isRecord],
  overrides: [
    "{ store, tag }, with a store such as memoryOverrides()",
    (value) => isRecord(value) && isRecord(value["store"]) && typeof value["store"]["resolve"] === "function",
  ],
  continueFrom: [
    "an error that evaluate rejected with, a response, or messages",
    (value) => Array.isArray(value) || (isRecord(value) && Array.isArray(value["messages"])),
  ],
  pacing: [
    '"off", a pace such as sharedPace(), or paces such as sharedPacing()',
    (value) => value === "off" || (isRecord(value) && [value["enter"], value["lane"]].some(isFunction)),
  ],
  settings: ["an object such as { temperature: 0 }", isRecord],
  run: ["a run that a journal made, such as journal.run(id)", (value) => openerOf(value) !== undefined],
  context: ["a policy such as { window: 128_000 }", isRecord],
  maxRepairs: ["a whole number from 0", (value) => isWhole(value, 0)],
  maxTurns: ["a positive whole number", (value) => isWhole(value, 1)],
  maxDepth: ["a whole number from 0", (value) => isWhole(value, 0)],
};

const checks = Object.entries(expected).map(([name, [mustBe, fits]]) => ({ name, mustBe, fits }));

/** @throws {DefinitionError} for what is neither a bound prompt nor a text that is not blank. */
export function checkPrompt(prompt: unknown): void {
  if (typeof prompt === "string") textPrompt(prompt);
  if (typeof (prompt as Partial<Prompt> | undefined)?.render === "function") return;
  throw new DefinitionError("evaluate takes a bound prompt, template.bind(params), or a text.");
}

export const evaluateOptionNames = {
  deadline: true,
  budget: true,
  signal: true,
  pacing: true,
  session: true,
  messages: true,
  continueFrom: true,
  context: true,
  settings: true,
  resources: true,
  policies: true,
  toolChoice: true,
  maxTurns: true,
  maxRepairs: true,
  maxDepth: true,
  overrides: true,
  expect: true,
  run: true,
} as const satisfies OptionNames<EvaluateOptions>;

/** Checks options that a program without types may give. @throws {DefinitionError} for what is no object. */
export function checkIsObject(of: string, options: unknown): void {
  if (isRecord(options)) return;
  throw new DefinitionError(`The options of ${of} must be an object, not ${describeValue(options)}.`);
}

/** @throws {OptionFault} naming the option, and what it must be. */
export function checkEvaluateOptions(given: EvaluateOptions): void {
  let option: string | undefined;
  try {
    checkIsObject("evaluate", given);
    const options = given as Readonly<Record<string, unknown>>;
    option = Object.keys(options).find(
      (name) => !Object.hasOwn(evaluateOptionNames, name) && options[name] !== undefined,
    );
    if (option !== undefined) checkOptionNames("evaluate", given, evaluateOptionNames);
    for (const { name, mustBe, fits } of checks) {
      const value = options[name];
      option = name;
      if (value !== undefined && !fits(value)) throw refused(name, mustBe, value);
    }
    option = "continueFrom";
    checkHistory(given);
    option = "toolChoice";
    checkToolChoice(given.toolChoice);
    option = "policies";
    checkList("The option policies", "policies", given.policies);
    option = "settings";
    checkSettings(given.settings);
    option = "expect";
    checkEstimate(given.expect);
  } catch (error) {
    throw optionFault(option, error);
  }
}

function checkHistory({ continueFrom, messages }: EvaluateOptions): void {
  if (continueFrom === undefined || messages === undefined) return;
  throw new DefinitionError(
    "Give continueFrom or messages, not both: continueFrom goes on with a history that holds the prompt's question, messages stand before the question.",
  );
}

/** @throws {DefinitionError} for what is no choice. */
export function checkToolChoice(choice: unknown): asserts choice is ToolChoice | undefined {
  if (choice === undefined || choice === "auto" || choice === "none" || choice === "required") return;
  if (isRecord(choice) && typeof choice["tool"] === "string") return;
  throw refused("toolChoice", '"auto", "none", "required" or { tool }', choice);
}

/** Recognises a signal by its shape: there may be several realms. */
export function isAbortSignal(value: unknown): value is AbortSignal {
  return isRecord(value) && "aborted" in value && typeof value["addEventListener"] === "function";
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isWhole(value: unknown, least: number): boolean {
  return Number.isInteger(value) && (value as number) >= least;
}

function checkEstimate(expect: unknown): void {
  if (expect === undefined) return;
  const { outputTokensPerTurn, inputTokens } = (expect ?? {}) as Partial<NonNullable<EvaluateOptions["expect"]>>;
  const check = (name: string, tokens: unknown): void => {
    if (typeof tokens === "number" && Number.isFinite(tokens) && tokens >= 0) return;
    throw refused("expect", `an estimate: ${name}.p90 is a number from 0`, tokens);
  };
  check("outputTokensPerTurn", outputTokensPerTurn?.p90);
  if (inputTokens !== undefined) check("inputTokens", inputTokens.p90);
}

function refused(name: string, mustBe: string, value: unknown): DefinitionError {
  return new DefinitionError(`The option ${name} must be ${mustBe}, not ${describeValue(value)}.`);
}

/** What a request carries where the evaluation sets nothing: one object for all of them. */
const noSettings: EvaluationSettings = Object.freeze({});

type Check = readonly [mustBe: string, fits: (value: unknown) => boolean];

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const summaries = ["auto", "concise", "detailed", "none"];
const lifetimes = ["5m", "30m", "1h", "12h"];
const mostStops = 16;

const settingChecks: { readonly [K in keyof EvaluationSettings]-?: Check } = {
  temperature: ["a number from 0 to 2", (value) => isBetween(value, 0, 2)],
  topP: ["a number from 0 to 1", (value) => isBetween(value, 0, 1)],
  maxOutputTokens: ["a whole number, at least 1", (value) => isInteger(value) && value >= 1],
  stop: [
    `a list of 1 to ${mostStops} well-formed texts, none of them empty`,
    (value) => Array.isArray(value) && isBetween(value.length, 1, mostStops) && Array.from(value).every(isText),
  ],
  seed: ["a whole number", isInteger],
  reasoning: ["an object such as { effort, summary }", isRecord],
  logprobs: ["a whole number from 0 to 20", (value) => isInteger(value) && isBetween(value, 0, 20)],
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
function checkSettings(settings: EvaluationSettings | undefined): void {
  if (settings === undefined) return;
  checkEach("settings", settings, settingChecks);
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
    const found = Array.isArray(value) ? `a list of ${value.length}` : describeValue(value);
    throw new DefinitionError(`The option ${what}.${name} must be ${check[0]}, not ${found}.`);
  }
}

function oneOf(words: readonly string[]): string {
  return words.map((word) => JSON.stringify(word)).join(", ");
}

function isText(value: unknown): value is string {
  // Half a surrogate pair reaches no wire.
  return typeof value === "string" && value !== "" && value.isWellFormed();
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isBetween(value: unknown, low: number, high: number): boolean {
  return typeof value === "number" && value >= low && value <= high;
}

/**
 * The settings that each request of an evaluation carries: a copy of what was set, with the key of the cache.
 * @throws {DefinitionError} for what cannot be copied.
 */
export function settingsOf(given: EvaluationSettings | undefined, promptName: string): EvaluationSettings {
  if (given === undefined) return noSettings;
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  if (set.length === 0) return noSettings;
  // A structured clone takes no proxy.
  const copy = plainCopy(Object.fromEntries(set));
  if (copy === undefined) throw new DefinitionError("The option settings must be plain JSON.");
  const settings = copy.value as EvaluationSettings;
  const { cache } = settings;
  if (cache === undefined) return Object.freeze(settings);
  const { key = promptName, ...rest } = cache === "auto" ? {} : cache;
  return Object.freeze({ ...settings, cache: Object.freeze({ key, ...rest }) });
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
