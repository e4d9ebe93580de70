// The attempts of a run by their place in its order: row, then variant, then repetition.
import type { AnyDefinition, ReadyVariant } from "../define/define-eval.ts";
import type { AttemptRecord } from "../results.ts";

/** Room for all attempts of a run. */
export function recordsOf(run: {
  readonly definition: AnyDefinition;
  readonly rows: readonly unknown[];
  readonly variants: readonly ReadyVariant[];
}): Records {
  const names = run.variants.map(({ name }) => name);
  return new Records(run.rows.length, names, run.definition.repetitions ?? 1);
}

/** The attempts that a run has. */
export class Records {
  readonly #records: (AttemptRecord | undefined)[];
  readonly #variants: ReadonlyMap<string, number>;
  readonly #repetitions: number;
  #size = 0;

  constructor(rows: number, variants: readonly string[], repetitions: number) {
    this.#records = Array.from({ length: rows * variants.length * repetitions });
    this.#variants = new Map(variants.map((name, at) => [name, at]));
    this.#repetitions = repetitions;
  }

  /** How many attempts there are. */
  get size(): number {
    return this.#size;
  }

  /** `place`: that of the planned attempt. */
  set(place: number, record: AttemptRecord): void {
    if (this.#records[place] === undefined) this.#size += 1;
    this.#records[place] = record;
  }

  /** All attempts of the variant and the row of this place; undefined: one of them is missing. */
  of(row: number, variant: string): readonly AttemptRecord[] | undefined {
    const first = (row * this.#variants.size + (this.#variants.get(variant) ?? 0)) * this.#repetitions;
    const attempts: AttemptRecord[] = [];
    for (let place = first; place < first + this.#repetitions; place++) {
      const record = this.#records[place];
      if (record === undefined) return undefined;
      attempts.push(record);
    }
    return attempts;
  }

  /** All attempts of the row of this place, whatever their variant; undefined: one of them is missing. */
  ofRow(row: number): readonly AttemptRecord[] | undefined {
    const each = this.#variants.size * this.#repetitions;
    const attempts = this.#records.slice(row * each, (row + 1) * each).filter((record) => record !== undefined);
    return attempts.length === each ? attempts : undefined;
  }

  /** One attempt; undefined: it is missing. `repetition` counts from 1. */
  at(row: number, variant: string, repetition: number): AttemptRecord | undefined {
    const of = row * this.#variants.size + (this.#variants.get(variant) ?? 0);
    return this.#records[of * this.#repetitions + repetition - 1];
  }

  /** All attempts that there are, in order. */
  all(): readonly AttemptRecord[] {
    return this.#records.filter((record) => record !== undefined);
  }
}
