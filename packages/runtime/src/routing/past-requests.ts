/** Requests that are looked at. */
const lastRequests = 100;

interface Ended {
  readonly durationMs: number;
  readonly isAnswered: boolean;
}

/** How the last 100 requests to one adapter went. */
export class PastRequests {
  readonly #ended: Ended[] = [];
  #next = 0;

  add(ended: Ended): void {
    this.#ended[this.#next] = ended;
    this.#next = (this.#next + 1) % lastRequests;
  }

  get count(): number {
    return this.#ended.length;
  }

  /** The failures among them, 0 to 1; undefined before the first request. */
  get failureShare(): number | undefined {
    if (this.#ended.length === 0) return undefined;
    return this.#ended.filter(({ isAnswered }) => !isAnswered).length / this.#ended.length;
  }

  /** Milliseconds within which so many of 100 answers came (nearest rank); undefined before the first answer. */
  percentile(percent: number): number | undefined {
    const durations = this.#ended.filter(({ isAnswered }) => isAnswered).map(({ durationMs }) => durationMs);
    durations.sort((a, b) => a - b);
    return durations[Math.max(0, Math.ceil((percent / 100) * durations.length) - 1)];
  }
}
