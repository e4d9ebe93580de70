// The order in which what evaluations inside a call came to has to come again.
//
// 1. Everything has a place in it. What has to wait goes on when all before its place has come.
// 2. Each step looks at the first place that has not come, and at nothing else: the work does not grow with what there is.
// 3. As the last way out, the first that waits goes on where nothing came for as long as the record had waited, and a second.
import { systemClock } from "@proviso/core";
import { addTo } from "./queues.ts";

/** Milliseconds that something is waited for beside what the record had waited. */
export const patienceMs = 1_000;

interface Waiting {
  readonly begin: () => void;
  /** Milliseconds that the record had waited. */
  readonly waitedMs: number;
}

export class InsideOrder {
  /** The first place that has not come. */
  #first = 0;
  /** Later places that have come. */
  readonly #early = new Set<number>();
  /** What waits, by its place. */
  readonly #waiting = new Map<number, Waiting[]>();
  #steps = 0;
  /** Aborted while nothing waits. */
  #watching = new AbortController();

  constructor() {
    this.#watching.abort();
  }

  /** A place has come, or does not come any more. */
  came(place: number): void {
    if (place < this.#first) return;
    this.#steps += 1;
    this.#early.add(place);
    this.leave(place);
    while (this.#early.delete(this.#first)) this.#first += 1;
    this.leave(this.#first);
  }

  /** Resolves when all before a place has come; undefined: it has. */
  turnOf(place: number, waitedMs: number): Promise<void> | undefined {
    if (place <= this.#first || this.#early.has(place)) return undefined;
    this.#steps += 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    addTo(this.#waiting, place, { begin: resolve, waitedMs });
    if (this.#watching.signal.aborted) void this.#watch();
    return promise;
  }

  /** What waits at a place goes on. */
  leave(place: number): void {
    for (const { begin } of this.#waiting.get(place) ?? []) begin();
    if (this.#waiting.delete(place) && this.#waiting.size === 0) this.#watching.abort();
  }

  async #watch(): Promise<void> {
    this.#watching = new AbortController();
    const { signal } = this.#watching;
    while (!signal.aborted) {
      const steps = this.#steps;
      const first = this.#waiting.get(this.#firstWaiting()) ?? [];
      const waitedMs = Math.max(...first.map((waiting) => waiting.waitedMs));
      await systemClock.sleep(waitedMs + patienceMs, signal).catch(() => {});
      if (!signal.aborted && steps === this.#steps) this.#passTo(this.#firstWaiting());
    }
  }

  #firstWaiting(): number {
    let first = Infinity;
    for (const place of this.#waiting.keys()) first = Math.min(first, place);
    return first;
  }

  #passTo(place: number): void {
    for (let passed = this.#first; passed < place; passed++) this.came(passed);
  }
}
