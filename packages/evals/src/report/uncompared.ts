// What could not be compared with a saved run, and why.
import { scorerOf, type AnyDefinition } from "../define/define-eval.ts";
import type { Difference, Uncompared } from "../results.ts";
import type { Baseline } from "./baseline.ts";
import { hasClusters, unpaired } from "./numbers.ts";
import { rowValues, scoreOf, type View } from "./view.ts";

/**
 * undefined: the variant has scores of too few rows or groups for an interval, or the saved run has the rows that were
 * scored, by the same version of the scorer.
 */
export function uncomparedOf(
  view: View,
  { definition, baseline }: { readonly definition: AnyDefinition; readonly baseline: Baseline },
  { variant, scorer }: { readonly variant: string; readonly scorer: string },
): Uncompared | undefined {
  if (!("saved" in baseline.shown)) return undefined;
  const { range } = scorerOf(definition.scorers[scorer] as Parameters<typeof scorerOf>[0]);
  const own = rowValues(view, variant, scoreOf(scorer, range, "scored"));
  if (!hasClusters(own.values)) return undefined;
  const counts = unpaired(own, baseline.valuesOf(view, { variant, scorer, range, outside: "scored" }));
  const why = baseline.whyOtherScores(scorer) ?? leftOutText(counts);
  return why === undefined ? undefined : { unpaired: counts, why };
}

/** The rows that were scored and have no equal in the saved run, in words; undefined: each has one. */
export function leftOutText({ changed, onlyVariant }: Difference["unpaired"]): string | undefined {
  const parts: string[] = [];
  if (changed > 0) parts.push(`${rows(changed)} changed since the saved run`);
  if (onlyVariant > 0) parts.push(`${rows(onlyVariant)} ${onlyVariant === 1 ? "has" : "have"} no score in it`);
  if (changed === 0 && onlyVariant > 0) parts[0] = `${rows(onlyVariant)} without a score in the saved run`;
  return parts.length === 0 ? undefined : parts.join(", ");
}

function rows(count: number): string {
  return `${count} row${count === 1 ? "" : "s"}`;
}
