// The difference between a variant and the baseline by one scorer; a judge's is corrected by labels (EVL-18).
import { scorerOf, type AnyDefinition } from "../define/define-eval.ts";
import type { Difference } from "../results.ts";
import type { Estimate, Level } from "../statistics/estimate.ts";
import type { Baseline } from "./baseline.ts";
import { correctedSides } from "./judged.ts";
import { differenceOf, type Sides } from "./numbers.ts";
import { rowValues, scoreOf, type Outside, type RowValues, type View } from "./view.ts";

interface Compared {
  readonly variant: string;
  readonly scorer: string;
}

/** undefined: fewer than two clusters have both scores. */
export function scoreDifference(
  view: View,
  of: { readonly definition: AnyDefinition; readonly baseline: Baseline },
  compared: Compared,
  level: Level,
): Difference | undefined {
  const { range } = scorerOf(of.definition.scorers[compared.scorer] as Parameters<typeof scorerOf>[0]);
  const sides = sidesOf(view, of.baseline, { ...compared, range });
  const plain = differenceOf(sides, level, { range, lessIsBetter: range[0] > range[1] });
  const { shown } = of.baseline;
  // A saved run has no answers that labels could be about.
  if (plain === undefined || "saved" in shown) return plain;
  const corrected = (own: Outside, other: Outside): Estimate | undefined => {
    const asked = { definition: of.definition, scorer: compared.scorer, range };
    const variant = { ...asked, variant: compared.variant, outside: own };
    return correctedSides(view, { variant, baseline: { ...asked, variant: shown.variant, outside: other } }, level);
  };
  const scored = corrected("scored", "scored");
  if (scored === undefined) return plain;
  const [worst = scored, best = scored] = [corrected("worst", "best"), corrected("best", "worst")];
  // More rows alone would not settle it: the error of the labels stays.
  return { ...plain, ...scored, rowsToSettle: undefined, bounds: { worst, best } };
}

function sidesOf(
  view: View,
  baseline: Baseline,
  { variant, scorer, range }: Compared & { readonly range: readonly [number, number] },
): Sides {
  const own = (outside: Outside): RowValues => rowValues(view, variant, scoreOf(scorer, range, outside));
  const other = (outside: Outside): RowValues => baseline.valuesOf(view, { variant, scorer, range, outside });
  return {
    scored: { variant: own("scored"), baseline: other("scored") },
    worst: { variant: own("worst"), baseline: other("best") },
    best: { variant: own("best"), baseline: other("worst") },
  };
}
