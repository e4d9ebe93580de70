// The requests that wait for a pace.
import type { PaceRequest, PaceTurn } from "@proviso/core";
import type { Charged } from "./costs.ts";

/** A request that waits. */
export class WaitingRequest {
  readonly request: PaceRequest;
  readonly since: number;
  /** Whether it begins in the code of one that has its turn. */
  readonly isInside: boolean;
  /** The turn that it was given; undefined: none yet. */
  turn: PaceTurn | undefined;
  /** Milliseconds until it may go, as the first of the queue, when it was last woken; Infinity: until another request is over. */
  waitMs = Infinity;
  #woken = Promise.withResolvers<void>();

  constructor(request: PaceRequest, since: number, isInside: boolean) {
    this.request = request;
    this.since = since;
    this.isInside = isInside;
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

/** The requests that wait, in the order in which they came; first those for which one that has its turn waits. */
export class RequestQueue {
  readonly #inside = new Set<WaitingRequest>();
  readonly #others = new Set<WaitingRequest>();
  #inputTokens = 0;
  #outputTokens = 0;
  /** How many of them have answers of no known length. */
  #unknown = 0;

  get size(): number {
    return this.#inside.size + this.#others.size;
  }

  /** How many are before one that comes now. */
  before(isInside: boolean): number {
    return isInside ? this.#inside.size : this.size;
  }

  *[Symbol.iterator](): IterableIterator<WaitingRequest> {
    yield* this.#inside;
    yield* this.#others;
  }

  add(waiting: WaitingRequest): void {
    this.#listOf(waiting).add(waiting);
    this.#count(waiting, 1);
  }

  /** Returns whether it was there. */
  remove(waiting: WaitingRequest): boolean {
    const isThere = this.#listOf(waiting).delete(waiting);
    if (isThere) this.#count(waiting, -1);
    return isThere;
  }

  /** What all of them will be charged for. */
  charged(): Charged {
    return {
      requests: this.size,
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      unknown: this.#unknown,
    };
  }

  #listOf({ isInside }: WaitingRequest): Set<WaitingRequest> {
    return isInside ? this.#inside : this.#others;
  }

  #count({ request: { inputTokens, outputTokens } }: WaitingRequest, times: 1 | -1): void {
    this.#inputTokens += times * inputTokens;
    this.#outputTokens += times * outputTokens;
    if (outputTokens === 0) this.#unknown += times;
  }
}
