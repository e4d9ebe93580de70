/**
 * What an SDK, or the program's own function, throws while spans are made: it is kept until all else is done. Then it is
 * thrown, and the runtime logs it.
 */
export class Faults {
  #first: { readonly error: unknown } | undefined;

  /** Returns undefined where the work throws. */
  keep<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.#first ??= { error };
      return undefined;
    }
  }

  /** @throws the first of what was kept since the last time. */
  report(): void {
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined) throw first.error;
  }
}
