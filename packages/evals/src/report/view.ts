// The attempts of a run by row and variant.
import type { NamedRow } from "../data/rows.ts";
import { keyOf } from "../run/memory-store.ts";
import { outsideReasons } from "../scores/outside.ts";
import type { Observation } from "../statistics/estimate.ts";
import type { AttemptRecord } from "../results.ts";

/** The attempts that numbers are made of. What is computed of a view is kept, so nothing is added to one. */
export interface View {
  /** The rows, in the order of the run; of a run that ended early, the first of them. */
  readonly rows: readonly NamedRow<object>[];
  readonly repetitions: number;
  readonly records: ReadonlyMap<string, AttemptRecord>;
}

/** How failures of the surroundings count: as what they are scored, or as one end of the range. */
export type Outside = "scored" | "worst" | "best";

/** The number of a row. */
export interface RowValue extends Observation {
  readonly hash: string;
}

/** The numbers of a variant by row, and how many rows have none because a scorer failed. */
export interface RowValues {
  readonly values: ReadonlyMap<string, RowValue>;
  /** The ids of rows whose score is not known. */
  readonly unscored: ReadonlySet<string>;
}

/** A number of an attempt; undefined: it has none. */
export type Pick = (record: AttemptRecord) => number | "unscored" | undefined;

/** Returns all attempts of a row; undefined: one of them is missing. */
export function attemptsOf(view: View, rowId: string, variant: string): readonly AttemptRecord[] | undefined {
  const attempts: AttemptRecord[] = [];
  for (let repetition = 1; repetition <= view.repetitions; repetition++) {
    const record = view.records.get(keyOf({ rowId, variant, repetition }));
    if (record === undefined) return undefined;
    attempts.push(record);
  }
  return attempts;
}

/** The attempts by view and variant, row by row: each score and measure of a report is made of the same ones. */
const attemptsOfViews = new WeakMap<View, Map<string, readonly (readonly AttemptRecord[] | undefined)[]>>();

function attemptsByRow(view: View, variant: string): readonly (readonly AttemptRecord[] | undefined)[] {
  let byVariant = attemptsOfViews.get(view);
  if (byVariant === undefined) attemptsOfViews.set(view, (byVariant = new Map()));
  let attempts = byVariant.get(variant);
  if (attempts === undefined) {
    attempts = view.rows.map(({ id }) => attemptsOf(view, id, variant));
    byVariant.set(variant, attempts);
  }
  return attempts;
}

/** One number a row: the mean of its repetitions. */
export function rowValues(view: View, variant: string, pick: Pick): RowValues {
  const values = new Map<string, RowValue>();
  const unscored = new Set<string>();
  const attempts = attemptsByRow(view, variant);
  for (const [place, { id, hash, group }] of view.rows.entries()) {
    const numbers = attempts[place]?.map(pick) ?? [];
    if (numbers.includes("unscored")) unscored.add(id);
    const known = numbers.filter((number): number is number => typeof number === "number");
    if (known.length === 0 || known.length < numbers.length) continue;
    const value = known.reduce((sum, number) => sum + number, 0) / known.length;
    values.set(id, { value, hash, cluster: group });
  }
  return { values, unscored };
}

export function scoreOf(scorer: string, [worst, best]: readonly [number, number], outside: Outside): Pick {
  return ({ scores, failure }) => {
    const score = scores[scorer];
    if (score === undefined) return undefined;
    if ("unscored" in score) return "unscored";
    if (outside === "scored" || failure === undefined || !outsideReasons.includes(failure.reason)) return score.value;
    return outside === "worst" ? worst : best;
  };
}
