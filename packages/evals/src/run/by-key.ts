import type { AttemptKey } from "../results.ts";

/** Something for each attempt: by variant, row and repetition, so that no key has to be written as a text. */
export class ByKey<T> {
  readonly #variants = new Map<string, Map<string, T[]>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get({ variant, rowId, repetition }: AttemptKey): T | undefined {
    return this.#variants.get(variant)?.get(rowId)?.[repetition - 1];
  }

  set({ variant, rowId, repetition }: AttemptKey, value: T): void {
    let rows = this.#variants.get(variant);
    if (rows === undefined) this.#variants.set(variant, (rows = new Map()));
    const known = rows.get(rowId);
    if (known?.[repetition - 1] === undefined) this.#size += 1;
    if (known !== undefined) known[repetition - 1] = value;
    else if (repetition === 1) rows.set(rowId, [value]);
    else {
      const values: T[] = [];
      values[repetition - 1] = value;
      rows.set(rowId, values);
    }
  }

  *values(): Iterable<T> {
    for (const rows of this.#variants.values()) {
      for (const values of rows.values()) for (const value of values) if (value !== undefined) yield value;
    }
  }
}
