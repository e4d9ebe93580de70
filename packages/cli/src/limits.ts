import { deadlineIn, type Clock, type EvaluateOptions } from "@proviso/core";
import { text, wholeNumber } from "./read-arguments.ts";
import { shown, UsageError } from "./usage.ts";

/** The flags that limit an evaluation. */
export const limitFlags = { deadline: text, "max-tokens": text, "max-cost": text } as const;

export const limitsHelp = `  --deadline TIME  500ms, 90s, 5m or 1h: it has ended by then. Default: none
  --max-tokens N   tokens of all requests together. Default: no limit
  --max-cost USD   US dollars; the model's price has to be known. Default: no limit`;

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** What a command line limits. */
export interface Limits {
  readonly deadlineMs: number | undefined;
  readonly budget: { readonly maxTotalTokens: number | undefined; readonly maxCostUsd: number | undefined } | undefined;
}

/** @throws {UsageError} for a limit that cannot be. */
export function limitsIn(
  values: { readonly [Name in keyof typeof limitFlags]?: string | undefined },
  costFlag = "--max-cost",
): Limits {
  const { deadline, "max-tokens": tokens, "max-cost": cost } = values;
  const maxTotalTokens = tokens === undefined ? undefined : wholeNumber("--max-tokens", tokens, 1, 1e12);
  const maxCostUsd = cost === undefined ? undefined : dollarsIn(costFlag, cost);
  return {
    deadlineMs: deadline === undefined ? undefined : durationIn(deadline),
    budget: maxTotalTokens === undefined && maxCostUsd === undefined ? undefined : { maxTotalTokens, maxCostUsd },
  };
}

/** The limits as `evaluate` takes them; the deadline counts from now. */
export function evaluateLimits(
  { deadlineMs, budget }: Limits,
  clock: Clock,
): Pick<EvaluateOptions, "deadline" | "budget"> {
  return { deadline: deadlineMs === undefined ? undefined : deadlineIn(deadlineMs, clock), budget };
}

function durationIn(given: string): number {
  const [, number, unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(given) ?? [];
  const ms = Number(number) * (unitMs[unit] ?? Number.NaN);
  if (ms > 0) return ms;
  throw new UsageError(`--deadline takes a time such as 90s, 5m or 500ms, not ${shown(given)}`);
}

function dollarsIn(name: string, given: string): number {
  const dollars = /^\d{1,9}(?:\.\d{1,9})?$/.test(given) ? Number(given) : 0;
  if (dollars > 0) return dollars;
  throw new UsageError(`${name} takes US dollars such as 0.5, not ${shown(given)}`);
}
