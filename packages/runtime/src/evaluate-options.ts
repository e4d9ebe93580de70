import { DefinitionError, describeValue, isRecord, type EvaluateOptions, type ToolChoice } from "@proviso/core";

/** Each says what the option must be; undefined is as if left out. */
const expected: {
  readonly [K in keyof EvaluateOptions]?: readonly [string, (value: unknown) => boolean];
} = {
  deadline: ["a deadline, of deadlineIn(ms) or deadlineAt(date)", isDeadline],
  budget: ["a budget, { maxTotalTokens } say, or a tracker of trackBudget(…)", isRecord],
  signal: ["an AbortSignal", isAbortSignal],
  policies: ["a list of policies", Array.isArray],
  overrides: ["{ store, tag? }", (value) => isRecord(value) && isRecord(value["store"]) && canResolve(value["store"])],
  maxRepairs: ["a whole number from 0", (value) => Number.isInteger(value) && (value as number) >= 0],
  maxTurns: ["a positive whole number", isPositiveInteger],
  maxDepth: ["a positive whole number", isPositiveInteger],
};

/** @throws {DefinitionError} for an option that is not what it must be. */
export function checkEvaluateOptions(options: EvaluateOptions): void {
  if (!isRecord(options)) throw new DefinitionError(`The options must be an object, not ${describeValue(options)}.`);
  for (const [name, [what, fits]] of Object.entries(expected)) {
    const value = options[name];
    if (value !== undefined && !fits(value)) throw unfit(name, what, value);
  }
  checkToolChoice(options.toolChoice as unknown);
  const { expect } = options as EvaluateOptions;
  if (expect === undefined) return;
  const tokens: unknown = (expect as Partial<typeof expect> | null)?.outputTokensPerTurn?.p90;
  if (typeof tokens !== "number" || !Number.isFinite(tokens) || tokens < 0) {
    throw unfit("expect", "an estimate: outputTokensPerTurn.p90 is a number from 0", tokens);
  }
}

/** @throws {DefinitionError} for what is no choice. */
export function checkToolChoice(choice: unknown): asserts choice is ToolChoice | undefined {
  if (choice === undefined || choice === "auto" || choice === "none" || choice === "required") return;
  if (isRecord(choice) && typeof choice["tool"] === "string") return;
  throw unfit("toolChoice", '"auto", "none", "required" or { tool }', choice);
}

/** By its shape: there may be several realms. */
export function isAbortSignal(value: unknown): value is AbortSignal {
  return isRecord(value) && "aborted" in value && typeof value["addEventListener"] === "function";
}

function isDeadline(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { expiresAt, remainingMs } = value;
  return isRecord(expiresAt) && !Number.isNaN(Number(expiresAt)) && typeof remainingMs === "function";
}

function canResolve({ resolve }: Readonly<Record<string, unknown>>): boolean {
  return typeof resolve === "function";
}

function isPositiveInteger(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) > 0;
}

function unfit(name: string, what: string, value: unknown): DefinitionError {
  return new DefinitionError(`The option ${name} must be ${what}, not ${describeValue(value)}.`);
}
