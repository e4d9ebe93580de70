/** The limits that a service states in an answer's headers, each for one minute. Left out: it states none. */
export interface RateLimit {
  /** Requests a minute. */
  readonly requests?: number | undefined;
  /** Tokens of input and output together, a minute. */
  readonly tokens?: number | undefined;
  /** Tokens of input, a minute. */
  readonly inputTokens?: number | undefined;
  /** Tokens of output, a minute. */
  readonly outputTokens?: number | undefined;
  /** What is left of `tokens`, where the service states it. */
  readonly tokensLeft?: Allowance | undefined;
  /** What is left of `outputTokens`, where the service states it. */
  readonly outputTokensLeft?: Allowance | undefined;
}

/** How much of a limit may be used at once, as a service counts it: a part may be used for answers that are not there yet. */
export interface Allowance {
  /** Tokens that one may use at this moment. */
  readonly left: number;
  /** Tokens that one may use at once when none was used for a while. */
  readonly size: number;
}

/** What a request is expected to cost, in tokens. */
export interface PaceRequest {
  /** An estimate of its input. */
  readonly inputTokens: number;
  /** An estimate of its answer, or a bound; 0: not known, so that it counts as earlier answers did. */
  readonly outputTokens: number;
}

/** When a wait for a pace ends without a turn. */
export interface PaceLimits {
  /** Leaves the queue at once; `enter` rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Epoch milliseconds. A wait that would end later is refused at once. Left out: no deadline. */
  readonly expiresAt?: number | undefined;
  /**
   * Whether the request begins in the code of one that has a turn here, for example in a model that evaluates something while
   * it answers. That one waits for it: so it waits for the limits of the service, and neither for another request's end nor
   * behind others. Default false.
   */
  readonly isInside?: boolean | undefined;
}

/** What is known of a request when it is over. */
export interface PaceOutcome {
  /** What the service states of its limits. */
  readonly rateLimit?: RateLimit | undefined;
  /** What the request really cost, in tokens; left out: the estimate stands. */
  readonly usage?: PaceRequest | undefined;
  /** The service refused it: for coming too often, or because it has too much to do. Left out: it was answered. */
  readonly refused?: PaceRefusal | undefined;
}

/** A request that the service refused for now. */
export interface PaceRefusal {
  /** false: the service is busy for reasons of its own, which does not lower the pace. Default true. */
  readonly tooOften?: boolean | undefined;
  /** Milliseconds that the service asked to wait; left out: it named none. */
  readonly retryAfterMs?: number | undefined;
}

/** The right to send one request. Exactly one of its functions is called, once. */
export interface PaceTurn {
  /** Milliseconds that the request waited for its turn. */
  readonly queuedMs: number;
  /** The request is over. Left out `outcome`: it ended without an answer, by an abort for example. */
  end(outcome?: PaceOutcome): void;
  /** The request is not sent after all. */
  giveBack(): void;
  /**
   * The request waits for something else before it is sent, for room in a budget: it keeps its place among those in flight,
   * and what it was charged is free for others. Before it is sent it enters again, as one inside this turn (`isInside`), and
   * gives this turn back; a limit may end it before. Left out: a request counts from its turn on, however long it waits then.
   */
  pause?(): void;
}

/** What a request for a turn comes to: the turn, or why there is none in time. */
export type PaceEntry =
  | {
      readonly ok: true;
      /** The right to send the request. */
      readonly turn: PaceTurn;
    }
  | {
      readonly ok: false;
      /** "deadline": the wait would pass `expiresAt`; "full": too many requests wait already. */
      readonly reason: "deadline" | "full";
      /** Milliseconds until the request could be sent, by the pace of now. */
      readonly retryAfterMs: number;
    };

/** What a pace does now. */
export interface PaceState {
  /** Requests that wait for their turn. */
  readonly queued: number;
  /** Requests that are sent and not over. */
  readonly inFlight: number;
  /** The limit that was given, stated or found; undefined: none is known, and nothing waits for it. */
  readonly requestsPerMinute: number | undefined;
  /** The limit that was given or stated; undefined: none is known. */
  readonly tokensPerMinute: number | undefined;
  /** The part of the limits that is used, 0 to 1. */
  readonly share: number;
}

/** Sends requests as fast as a service allows, first come, first served. Shared by all who use one key. */
export interface Pace {
  /**
   * Resolves when the request may be sent. Rejects with the reason of the signal, and where the pace is of no use any more:
   * one of `redisPace` that is disposed of, with a QueueError.
   */
  enter(request: PaceRequest, limits?: PaceLimits): Promise<PaceEntry>;
  /** What it does now, for logs and progress. */
  state(): PaceState;
}

/** Paces of several services, shared by all evaluations that are given them. */
export interface Pacing {
  /** The pace of an adapter and its model: always the same one for the same two names. */
  lane(adapter: string, model: string): Pace;
}
