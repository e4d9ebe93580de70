import { DefinitionError, type ContextPolicy, type SummaryPolicy } from "@proviso/core";
import { checkOptionNames, isRecord, type OptionNames } from "@proviso/core/provider";
import { describeValue } from "@proviso/core/internal";
import { internalsOf } from "../nested/adapter-internals.ts";

/** A policy with its defaults. */
export interface Policy extends Pick<ContextPolicy, "window"> {
  readonly compactAt: number;
  readonly compactTo: number;
  readonly keepTurns: number;
  readonly toolResultCharacters: number;
  readonly summary: (SummaryPolicy & { readonly maxTokens: number }) | undefined;
}

const policyNames = {
  window: true,
  compactAt: true,
  compactTo: true,
  keepTurns: true,
  toolResultCharacters: true,
  summary: true,
} as const satisfies OptionNames<ContextPolicy>;

const summaryNames = { adapter: true, prompt: true, maxTokens: true } as const satisfies OptionNames<SummaryPolicy>;

/** A shorter result would be little more than the note in its middle. */
const shortestResult = 200;

/** @throws {DefinitionError} for a policy that cannot be, naming the field. */
export function readPolicy(given: ContextPolicy): Policy {
  checkOptionNames("The option context", given, policyNames);
  const { window, compactAt = 0.8, keepTurns = 4, toolResultCharacters = 65_536 } = given;
  const { compactTo = Math.min(0.5, (compactAt * 5) / 8) } = given;
  if (window !== undefined) check("window", window, "a whole number from 1", isWhole(window, 1));
  check("compactAt", compactAt, "a share above 0 and at most 1", isShare(compactAt) && compactAt <= 1);
  check(
    "compactTo",
    compactTo,
    `a share above 0 and below compactAt (${compactAt})`,
    isShare(compactTo) && compactTo < compactAt,
  );
  check("keepTurns", keepTurns, "a whole number from 0", isWhole(keepTurns, 0));
  const isLong = isWhole(toolResultCharacters, shortestResult);
  check("toolResultCharacters", toolResultCharacters, `a whole number from ${shortestResult}`, isLong);
  return { window, compactAt, compactTo, keepTurns, toolResultCharacters, summary: readSummary(given.summary) };
}

function readSummary(given: SummaryPolicy | undefined): Policy["summary"] {
  if (given === undefined) return undefined;
  check("summary", given, "an object such as { maxTokens: 2_000 }", isRecord(given));
  checkOptionNames("The option context.summary", given, summaryNames);
  const { adapter, prompt, maxTokens = 2_000 } = given;
  const isOurs = adapter === undefined || (isRecord(adapter) && internalsOf(adapter) !== undefined);
  check("summary.adapter", adapter, "an adapter that modelAdapter or agentAdapter made", isOurs);
  const isTemplate = prompt === undefined || (isRecord(prompt) && typeof prompt.bind === "function");
  check("summary.prompt", prompt, "what definePrompt makes", isTemplate);
  const hasTools = Object.keys(prompt?.descriptor.tools ?? {}).length > 0;
  check("summary.prompt", prompt, "a prompt without tools", !hasTools);
  check("summary.maxTokens", maxTokens, "a whole number from 1", isWhole(maxTokens, 1));
  return { ...given, maxTokens };
}

function isWhole(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least;
}

function isShare(value: unknown): boolean {
  return typeof value === "number" && value > 0 && value < Infinity;
}

function check(name: string, value: unknown, mustBe: string, fits: boolean): void {
  if (!fits) throw new DefinitionError(`The option context.${name} must be ${mustBe}, not ${describeValue(value)}.`);
}
