// The evaluations that a tool's handler, or the body of a transaction, has begun.
//
// 1. None outlives what began it: it is waited for, or aborted and then waited for.

/** Evaluations that end together. */
export class BegunEvaluations {
  readonly #running = new Set<Promise<unknown>>();
  #ending: AbortController | undefined;

  /** Fires when they are to end. */
  get signal(): AbortSignal {
    return (this.#ending ??= new AbortController()).signal;
  }

  get isEmpty(): boolean {
    return this.#running.size === 0;
  }

  /** Adds one, or a handler that goes on behind one that was aborted. */
  add(work: Promise<unknown>): void {
    this.#running.add(work);
    const forget = (): void => void this.#running.delete(work);
    // What began it may never look at it.
    work.then(forget, forget);
  }

  /** Ends those that run, and each that is added later as soon as it begins. */
  abort(reason: unknown): void {
    (this.#ending ??= new AbortController()).abort(reason);
  }

  /** Resolves when all have ended, also those that are added meanwhile. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}
