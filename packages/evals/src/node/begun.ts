import type { Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import type { AttemptKey, AttemptRecord } from "../results.ts";

interface BegunAttempt {
  readonly key: AttemptKey;
  readonly worstCase: Usage;
}

/** The attempts of a run that have begun and are not in the file yet: as many as are made at once. Immutable. */
export class Begun {
  readonly #attempts: readonly BegunAttempt[];

  constructor(attempts: readonly BegunAttempt[] = []) {
    this.#attempts = attempts;
  }

  get size(): number {
    return this.#attempts.length;
  }

  /** What they spend at most, all together. */
  get worstCase(): Usage {
    return this.#attempts.reduce((sum, { worstCase }) => addUsage(sum, worstCase), noUsage);
  }

  /** What will have begun after these changes. */
  after(
    changes: readonly (
      | { readonly begins: AttemptKey; readonly worstCase: Usage }
      | { readonly record: AttemptRecord }
    )[],
  ): Begun {
    const attempts = [...this.#attempts];
    for (const change of changes) {
      const key = "record" in change ? change.record : change.begins;
      const place = attempts.findIndex((each) => isSame(each.key, key));
      if (place >= 0) attempts.splice(place, 1);
      if ("begins" in change) attempts.push({ key: change.begins, worstCase: change.worstCase });
    }
    return new Begun(attempts);
  }
}

function isSame(a: AttemptKey, b: AttemptKey): boolean {
  return a.rowId === b.rowId && a.variant === b.variant && a.repetition === b.repetition;
}
