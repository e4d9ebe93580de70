import { DefinitionError, describeValue, isRecord, type EvaluateOptions } from "@proviso/core";

/** @throws {DefinitionError} naming the option, and what it must be. */
export function checkOptions(options: EvaluateOptions): void {
  if (!isRecord(options))
    throw new DefinitionError(`The options of evaluate must be an object, not ${describeValue(options)}.`);
  for (const [name, [fits, mustBe]] of Object.entries(kinds)) {
    const value = options[name];
    if (value !== undefined && !fits(value)) throw refused(name, mustBe, value);
  }
  checkPolicies(options["policies"]);
  checkEstimate(options["expect"]);
}

/** Whether an evaluation can be told to stop by it; `checkOptions` refuses the others. */
export function hasUsableSignal(options: EvaluateOptions): boolean {
  return isRecord(options) && (options.signal === undefined || kinds.signal[0](options.signal));
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) > 0;
/** With these methods: a class of the caller's own, or of another realm, is as good. */
const has =
  (...methods: readonly string[]) =>
  (value: unknown): boolean =>
    typeof value === "object" &&
    value !== null &&
    methods.every((method) => typeof (value as Readonly<Record<string, unknown>>)[method] === "function");

type Kind = readonly [fits: (value: unknown) => boolean, mustBe: string];
const kinds = {
  deadline: [has("remainingMs"), "a deadline: deadlineIn(milliseconds) or deadlineAt(date)"],
  signal: [has("addEventListener", "removeEventListener"), "an AbortSignal, the signal of a controller for example"],
  budget: [
    (value) => typeof value === "object" && value !== null,
    "limits, { maxTotalTokens: 10_000 } for example, or a tracker of trackBudget",
  ],
  overrides: [
    (value) => typeof value === "object" && value !== null && "store" in value && has("resolve")(value.store),
    "{ store, tag }, with a store such as memoryOverrides()",
  ],
  policies: [Array.isArray, "a list of what definePolicy makes"],
  maxRepairs: [(value) => Number.isInteger(value) && (value as number) >= 0, "a whole number from 0"],
  maxTurns: [isCount, "a positive whole number"],
  maxDepth: [isCount, "a positive whole number"],
} as const satisfies Partial<Record<keyof EvaluateOptions, Kind>>;

function checkPolicies(policies: unknown = []): void {
  (policies as readonly unknown[]).forEach((policy, index) => {
    if (has("check")(policy)) return;
    throw new DefinitionError(
      `The option policies must be a list of what definePolicy makes: policies[${index}] has no check.`,
    );
  });
}

function checkEstimate(expect: unknown): void {
  if (expect === undefined) return;
  const tokens: unknown = (expect as NonNullable<EvaluateOptions["expect"]> | null)?.outputTokensPerTurn?.p90;
  if (typeof tokens === "number" && Number.isFinite(tokens) && tokens >= 0) return;
  throw new DefinitionError(
    `The option expect must be an estimate: outputTokensPerTurn.p90 is a number from 0, not ${String(tokens)}.`,
  );
}

function refused(name: string, mustBe: string, value: unknown): DefinitionError {
  return new DefinitionError(`The option ${name} must be ${mustBe}, not ${describeValue(value)}.`);
}
