// The attempts of a run by row and variant.
import type { NamedRow } from "../data/rows.ts";
import type { Records } from "../run/records.ts";
import { failedOutside } from "../scores/outside.ts";
import type { Observation } from "../statistics/estimate.ts";
import type { AttemptRecord } from "../results.ts";
import { ownField } from "../own-field.ts";

/** The attempts that numbers are made of. What is computed of a view is kept with it, so nothing is added to one. */
export class View {
  /** The rows, in the order of the run; of a run that ended early, the first of them. */
  readonly rows: readonly NamedRow<object>[];
  readonly #records: Records;
  readonly #byVariant = new Map<string, readonly (readonly AttemptRecord[] | undefined)[]>();

  constructor(rows: readonly NamedRow<object>[], records: Records) {
    this.rows = rows;
    this.#records = records;
  }

  /** The attempts of each row; undefined: one of the row's is missing. Each score and measure is made of the same ones. */
  attemptsOf(variant: string): readonly (readonly AttemptRecord[] | undefined)[] {
    let attempts = this.#byVariant.get(variant);
    if (attempts === undefined) {
      attempts = this.rows.map((_, place) => this.#records.of(place, variant));
      this.#byVariant.set(variant, attempts);
    }
    return attempts;
  }

  /** The attempts of the row of this place, whatever their variant; undefined: one of them is missing. */
  attemptsAt(place: number): readonly AttemptRecord[] | undefined {
    return this.#records.ofRow(place);
  }
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

/** One number a row: the mean of its repetitions. */
export function rowValues(view: View, variant: string, pick: Pick): RowValues {
  const values: RowValue[] = [];
  const unscored = new Set<string>();
  const attempts = view.attemptsOf(variant);
  const { rows } = view;
  for (let place = 0; place < rows.length; place++) {
    const value = meanOf(attempts[place], pick);
    if (value === undefined) continue;
    const { id, hash, group } = rows[place] as NamedRow<object>;
    if (value === "unscored") unscored.add(id);
    else values.push({ id, value, hash, cluster: group });
  }
  return { values, unscored };
}

/** undefined: an attempt is missing, or has no such number. */
function meanOf(attempts: readonly AttemptRecord[] | undefined, pick: Pick): ReturnType<Pick> {
  if (attempts === undefined || attempts.length === 0) return undefined;
  const [only] = attempts;
  if (attempts.length === 1 && only !== undefined) return pick(only);
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
  return (record) => {
    const score = ownField(record.scores, scorer);
    if (score === undefined) return undefined;
    if ("unscored" in score) return "unscored";
    if (outside === "scored" || !failedOutside(record)) return score.value;
    return outside === "worst" ? worst : best;
  };
}
