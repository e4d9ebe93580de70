import { DefinitionError, type EvaluateOptions, type Prompt, type ToolChoice } from "@proviso/core";
import { checkOptionNames, isRecord, type OptionNames } from "@proviso/core/provider";
import { describeValue, isDeadline, textPrompt } from "@proviso/core/internal";
import { optionFault } from "./failures.ts";
import { openerOf } from "./recording/run-value.ts";
import { checkSettings } from "./request/settings.ts";

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
  policies: ["a list of what definePolicy makes", Array.isArray],
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

/** @throws {DefinitionError} for what is neither a bound prompt nor a text that says something. */
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

/** @throws {OptionFault} naming the option, and what it must be. */
export function checkEvaluateOptions(given: EvaluateOptions): void {
  let option: string | undefined;
  try {
    const options: unknown = given;
    if (!isRecord(options))
      throw new DefinitionError(`The options of evaluate must be an object, not ${describeValue(options)}.`);
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
    checkListOfPolicies(given.policies);
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
    "Give continueFrom or messages: continueFrom goes on with a history that holds the prompt's question, messages stand before the question.",
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

function checkListOfPolicies(policies: unknown): void {
  if (policies === undefined) return;
  (policies as readonly unknown[]).forEach((policy, index) => {
    if (isRecord(policy) && [policy["check"], policy["approve"]].some((step) => typeof step === "function")) return;
    throw new DefinitionError(
      `The option policies must be a list of what definePolicy makes: policies[${index}] has neither check nor approve.`,
    );
  });
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
