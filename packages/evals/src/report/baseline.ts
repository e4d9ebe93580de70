// What variants are compared with: the first of them, or a saved run.
import type { EvalReport } from "../results.ts";
import type { ReadyVariant } from "../define/define-eval.ts";
import { rowValues, scoreOf, type Outside, type Pick, type RowValues, type View } from "./view.ts";

/** A score that is compared. */
interface Compared {
  readonly variant: string;
  readonly scorer: string;
  readonly range: readonly [number, number];
  readonly outside: Outside;
}

/** One side of all comparisons. */
export interface Baseline {
  readonly shown: EvalReport["baseline"];
  isComparedWith(variant: string): boolean;
  valuesOf(view: View, of: Compared): RowValues;
  /** Why its scores by a scorer are not compared, in words; undefined: they are. */
  whyOtherScores(scorer: string): string | undefined;
  /** undefined: it has no such measure. */
  measuresOf(view: View, variant: string, pick: Pick): RowValues | undefined;
}

/** Each variant but the first one is compared where there is no saved run. */
export function firstIsBaseline(variants: readonly ReadyVariant[]): Baseline["isComparedWith"] {
  return (variant) => variant !== variants[0]?.name;
}

export function firstVariant(variants: readonly ReadyVariant[]): Baseline {
  const name = variants[0]?.name ?? "";
  return {
    shown: { variant: name },
    isComparedWith: firstIsBaseline(variants),
    valuesOf: (view, { scorer, range, outside }) => rowValues(view, name, scoreOf(scorer, range, outside)),
    whyOtherScores: () => undefined,
    measuresOf: (view, _variant, pick) => rowValues(view, name, pick),
  };
}
