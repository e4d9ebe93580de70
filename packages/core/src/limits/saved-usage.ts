import { describeValue } from "../describe-value.ts";
import { DefinitionError } from "../errors.ts";
import { isRecord } from "../is-record.ts";
import { checkOptionNames, type OptionNames } from "../option-names.ts";
import { addUsage, noUsage, sumOf, type Usage } from "./usage.ts";

const usageNames = {
  inputTokens: true,
  outputTokens: true,
  totalTokens: true,
  cachedInputTokens: true,
  cacheWriteTokens: true,
  reasoningTokens: true,
  costUsd: true,
  estimated: true,
} as const satisfies OptionNames<Usage>;

/**
 * What was spent before a restart, read back from wherever it was kept; nothing is trusted.
 * @throws {DefinitionError} for a count that is negative or not finite, and for a key that is not known.
 */
export function restoredUsage(saved: unknown): Usage {
  const { consumed } = recordOf(saved, { consumed: true }, "The second argument of trackBudget");
  if (consumed === undefined) return noUsage;
  const given = recordOf(consumed, usageNames, "consumed");
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || name === "estimated") continue;
    if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
      throw new DefinitionError(`consumed.${name} must be a number from 0, not ${describeValue(value)}.`);
    }
  }
  const { estimated = false } = given;
  if (typeof estimated !== "boolean") {
    throw new DefinitionError(`consumed.estimated must be true or false, not ${describeValue(estimated)}.`);
  }
  const usage = addUsage(noUsage, { ...noUsage, ...defined(given as Partial<Usage>), estimated });
  // A total that is smaller than its parts would give some of the budget back.
  const totalTokens = Math.max(usage.totalTokens, sumOf(usage.inputTokens, usage.outputTokens));
  return Object.freeze({ ...usage, totalTokens });
}

function recordOf(value: unknown, names: object, what: string): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw new DefinitionError(`${what} must be an object, not ${describeValue(value)}.`);
  checkOptionNames(what, value, names);
  return value;
}

function defined<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}
