import {
  DefinitionError,
  describeValue,
  isDeadline,
  isRecord,
  type EvaluateOptions,
  type ToolChoice,
} from "@proviso/core";

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
  maxRepairs: ["a whole number from 0", (value) => Number.isInteger(value) && (value as number) >= 0],
  maxTurns: ["a positive whole number", isPositiveInteger],
  maxDepth: ["a positive whole number", isPositiveInteger],
};

/** @throws {DefinitionError} naming the option, and what it must be. */
export function checkEvaluateOptions(options: EvaluateOptions): void {
  if (!isRecord(options))
    throw new DefinitionError(`The options of evaluate must be an object, not ${describeValue(options)}.`);
  for (const [name, [mustBe, fits]] of Object.entries(expected)) {
    const value = options[name];
    if (value !== undefined && !fits(value)) throw refused(name, mustBe, value);
  }
  checkToolChoice(options["toolChoice"]);
  checkPolicies(options["policies"]);
  checkEstimate(options["expect"]);
}

/** @throws {DefinitionError} for what is no choice. */
export function checkToolChoice(choice: unknown): asserts choice is ToolChoice | undefined {
  if (choice === undefined || choice === "auto" || choice === "none" || choice === "required") return;
  if (isRecord(choice) && typeof choice["tool"] === "string") return;
  throw refused("toolChoice", '"auto", "none", "required" or { tool }', choice);
}

/** By its shape: there may be several realms. */
export function isAbortSignal(value: unknown): value is AbortSignal {
  return isRecord(value) && "aborted" in value && typeof value["addEventListener"] === "function";
}

function isPositiveInteger(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) > 0;
}

function checkPolicies(policies: unknown = []): void {
  (policies as readonly unknown[]).forEach((policy, index) => {
    if (isRecord(policy) && [policy["check"], policy["approve"]].some((step) => typeof step === "function")) return;
    throw new DefinitionError(
      `The option policies must be a list of what definePolicy makes: policies[${index}] has neither check nor approve.`,
    );
  });
}

function checkEstimate(expect: unknown): void {
  if (expect === undefined) return;
  const tokens: unknown = (expect as NonNullable<EvaluateOptions["expect"]> | null)?.outputTokensPerTurn?.p90;
  if (typeof tokens === "number" && Number.isFinite(tokens) && tokens >= 0) return;
  throw refused("expect", "an estimate: outputTokensPerTurn.p90 is a number from 0", tokens);
}

function refused(name: string, mustBe: string, value: unknown): DefinitionError {
  return new DefinitionError(`The option ${name} must be ${mustBe}, not ${describeValue(value)}.`);
}
