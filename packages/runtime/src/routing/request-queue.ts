// The requests that wait for a pace.
import type { PaceRequest, PaceTurn } from "@proviso/core";
import type { Charged } from "./costs.ts";

/** A request that waits. */
export class WaitingRequest {
  readonly request: PaceRequest;
  readonly since: number;
  /** The turn that it was given; undefined: none yet. */
  turn: PaceTurn | undefined;
  /** Milliseconds until it may go, as the first of the queue, when it was last woken; Infinity: until another request is over. */
  waitMs = Infinity;
  #woken = Promise.withResolvers<void>();

  constructor(request: PaceRequest, since: number) {
    this.request = request;
    this.since = since;
  }

  /** Lets it look again at what is known of its turn, in its own code. */
  wake(): void {
    this.#woken.resolve();
  }

  async woken(): Promise<void> {
    await this.#woken.promise;
    this.#woken = Promise.withResolvers();
  }
}

/** The requests that wait, in the order in which they came. */
export class RequestQueue {
  readonly #requests = new Set<WaitingRequest>();
  #inputTokens = 0;
  #outputTokens = 0;
  /** How many of them have answers of no known length. */
  #unknown = 0;

  get size(): number {
    return this.#requests.size;
  }

  [Symbol.iterator](): IterableIterator<WaitingRequest> {
    return this.#requests.values();
  }

  add(waiting: WaitingRequest): void {
    this.#requests.add(waiting);
    this.#count(waiting, 1);
  }

  /** Returns whether it was there. */
  remove(waiting: WaitingRequest): boolean {
    const isThere = this.#requests.delete(waiting);
    if (isThere) this.#count(waiting, -1);
    return isThere;
  }

  /** What all of them will be charged for. */
  charged(): Charged {
    return {
      requests: this.#requests.size,
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      unknown: this.#unknown,
    };
  }

  #count({ request: { inputTokens, outputTokens } }: WaitingRequest, times: 1 | -1): void {
    this.#inputTokens += times * inputTokens;
    this.#outputTokens += times * outputTokens;
    if (outputTokens === 0) this.#unknown += times;
  }
}
