// The attempts of a run by row and variant.
import type { NamedRow } from "../data/rows.ts";
import type { Records } from "../run/records.ts";
import { outsideReasons } from "../scores/outside.ts";
import type { Observation } from "../statistics/estimate.ts";
import type { AttemptRecord } from "../results.ts";
import { ownField } from "../own-field.ts";

/** The attempts that numbers are made of. What is computed of a view is kept, so nothing is added to one. */
export interface View {
  /** The rows, in the order of the run; of a run that ended early, the first of them. */
  readonly rows: readonly NamedRow<object>[];
  readonly records: Records;
}

/** How failures of the surroundings count: as what they are scored, or as one end of the range. */
export type Outside = "scored" | "worst" | "best";

/** The number of a row. */
export interface RowValue extends Observation {
  readonly id: string;
  readonly hash: string;
}

/** The numbers of a variant by row, and how many rows have none because a scorer failed. */
export interface RowValues {
  readonly values: readonly RowValue[];
  /** The ids of rows whose score is not known. */
  readonly unscored: ReadonlySet<string>;
}

/** A number of an attempt; undefined: it has none. */
export type Pick = (record: AttemptRecord) => number | "unscored" | undefined;

/** The attempts by view and variant, row by row: each score and measure of a report is made of the same ones. */
const attemptsOfViews = new WeakMap<View, Map<string, readonly (readonly AttemptRecord[] | undefined)[]>>();

/** Returns the attempts of each row; undefined: one of the row's is missing. */
export function attemptsByRow(view: View, variant: string): readonly (readonly AttemptRecord[] | undefined)[] {
  let byVariant = attemptsOfViews.get(view);
  if (byVariant === undefined) attemptsOfViews.set(view, (byVariant = new Map()));
  let attempts = byVariant.get(variant);
  if (attempts === undefined) {
    attempts = view.rows.map((_, place) => view.records.of(place, variant));
    byVariant.set(variant, attempts);
  }
  return attempts;
}

/** One number a row: the mean of its repetitions. */
export function rowValues(view: View, variant: string, pick: Pick): RowValues {
  const values: RowValue[] = [];
  const unscored = new Set<string>();
  const attempts = attemptsByRow(view, variant);
  for (const [place, { id, hash, group }] of view.rows.entries()) {
    const value = meanOf(attempts[place], pick);
    if (value === "unscored") unscored.add(id);
    else if (value !== undefined) values.push({ id, value, hash, cluster: group });
  }
  return { values, unscored };
}

/** undefined: an attempt is missing, or has no such number. */
function meanOf(attempts: readonly AttemptRecord[] | undefined, pick: Pick): ReturnType<Pick> {
  if (attempts === undefined || attempts.length === 0) return undefined;
  let sum = 0;
  let isKnown = true;
  for (const attempt of attempts) {
    const number = pick(attempt);
    if (number === "unscored") return number;
    if (number === undefined) isKnown = false;
    else sum += number;
  }
  return isKnown ? sum / attempts.length : undefined;
}

export function scoreOf(scorer: string, [worst, best]: readonly [number, number], outside: Outside): Pick {
  return ({ scores, failure }) => {
    const score = ownField(scores, scorer);
    if (score === undefined) return undefined;
    if ("unscored" in score) return "unscored";
    if (outside === "scored" || failure === undefined || !outsideReasons.includes(failure.reason)) return score.value;
    return outside === "worst" ? worst : best;
  };
}
