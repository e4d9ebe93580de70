// A pace whose state is in Redis. Within a process requests wait in one line, and its head alone asks Redis; what begins
// inside a request that has its turn does so, too, since those in line may wait for that one.
import {
  DefinitionError,
  systemClock,
  type Pace,
  type PaceEntry,
  type PaceLimits,
  type PaceOutcome,
  type PaceRequest,
  type PaceState,
  type PaceTurn,
} from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { shareNumbers, systemId } from "@proviso/runtime/internal";
import { closed, Connections } from "./connections.ts";
import { endScript, enterScript } from "./pace-script.ts";
import { settledIn } from "./settled-in.ts";

/** What `redisPace` takes. */
export interface RedisPaceOptions {
  /** `redis://host:port`, or `rediss://` with TLS. */
  readonly url: string;
  /** The name of what is paced: one for each key of a service. */
  readonly key: string;
  /** Requests a minute, until the service states another number. Left out: what the service states. */
  readonly requestsPerMinute?: number | undefined;
  /** Tokens of input and output together, a minute, until the service states another number. Left out: what it states. */
  readonly tokensPerMinute?: number | undefined;
  /** Requests in flight at most, in all processes. Default: no limit. */
  readonly maxInFlight?: number | undefined;
}

const optionNames = {
  url: true,
  key: true,
  requestsPerMinute: true,
  tokensPerMinute: true,
  maxInFlight: true,
} as const;
/** How often Redis is asked while as many requests are in flight as may be, or while it is away. */
const [fullMs, awayMs] = [100, 1_000];
/** How long Redis may take to answer a request whose deadline is sooner. */
const answerMs = 1_000;

/**
 * Makes a pace that all processes share that name one key of one Redis. Requests leave as fast as the limits allow that are
 * given, or that the service states in its answers; a refusal lowers the pace for all, a Retry-After stops all. Where
 * neither is known, a Retry-After alone holds requests back. While Redis cannot be reached requests wait for it.
 * @throws {DefinitionError} for options that cannot be.
 */
export function redisPace(options: RedisPaceOptions): Pace & AsyncDisposable {
  return new RedisPace(options);
}

/** A request that may be sent, and what Redis has charged for it, as its script wrote it. */
interface Charge {
  readonly id: string;
  readonly request: PaceRequest;
  readonly written: string;
}

/** How long a request waits; 0 with what it may be sent for. */
interface Answer {
  readonly waitMs: number;
  readonly charge?: Charge;
}

type EnterAnswer = readonly [waitMs: number, written: string, requests: number, tokens: number, share: string];

class RedisPace implements Pace, AsyncDisposable {
  readonly #connections: Connections;
  readonly #keys: readonly [string, string];
  readonly #options: RedisPaceOptions;
  /** Resolves when the last request in line has its turn, or has left. */
  #line: Promise<void> = Promise.resolve();
  #queued = 0;
  #inFlight = 0;
  #seen: Omit<PaceState, "queued" | "inFlight">;

  constructor(options: RedisPaceOptions) {
    checkOptionNames("redisPace", options, optionNames);
    const { url, key, requestsPerMinute, tokensPerMinute, maxInFlight } = options;
    if (typeof url !== "string" || !/^rediss?:\/\//u.test(url)) {
      throw new DefinitionError(`redisPace: url must begin with redis:// or rediss://, not ${describeValue(url)}.`);
    }
    if (typeof key !== "string" || key === "") {
      throw new DefinitionError(`redisPace: key must be a text that is not empty, not ${describeValue(key)}.`);
    }
    for (const [name, value] of Object.entries({ requestsPerMinute, tokensPerMinute, maxInFlight })) {
      if (value === undefined || (typeof value === "number" && value > 0 && Number.isFinite(value))) continue;
      throw new DefinitionError(`redisPace: ${name} must be a positive number, not ${describeValue(value)}.`);
    }
    this.#options = options;
    this.#connections = new Connections(url);
    this.#keys = [`proviso:{pace:${key}}:state`, `proviso:{pace:${key}}:flight`];
    this.#seen = { requestsPerMinute, tokensPerMinute, share: shareNumbers.first };
  }

  state(): PaceState {
    return { queued: this.#queued, inFlight: this.#inFlight, ...this.#seen };
  }

  async enter(request: PaceRequest, limits: PaceLimits = {}): Promise<PaceEntry> {
    const { signal, expiresAt = Infinity, isInside = false } = limits;
    signal?.throwIfAborted();
    const since = systemClock.now();
    const before = isInside ? Promise.resolve() : this.#line;
    let leave = (): void => {};
    if (!isInside) this.#line = new Promise((resolve) => (leave = resolve));
    this.#queued++;
    try {
      const untilDeadline = Math.max(0, expiresAt - since);
      if (!(await settledIn(untilDeadline, before, signal))) {
        return { ok: false, reason: "deadline", retryAfterMs: untilDeadline };
      }
      for (;;) {
        const { waitMs, charge } = await this.#answerIn(
          Math.max(answerMs, expiresAt - systemClock.now()),
          request,
          limits,
        );
        if (charge !== undefined) return { ok: true, turn: this.#turn(charge, systemClock.now() - since) };
        if (systemClock.now() + waitMs > expiresAt) return { ok: false, reason: "deadline", retryAfterMs: waitMs };
        await settledIn(waitMs, undefined, signal);
      }
    } finally {
      this.#queued--;
      // A request behind it waits for those before it.
      void before.then(leave);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections[Symbol.asyncDispose]();
  }

  /** What Redis answers in that time: where it hangs, there is no answer. A place that it gives later is given back. */
  async #answerIn(ms: number, request: PaceRequest, { signal, isInside }: PaceLimits): Promise<Answer> {
    const asking = this.#ask(request, isInside === true);
    const giveBackLate = async (): Promise<void> => {
      const { charge } = await asking.catch((): Answer => ({ waitMs: awayMs }));
      if (charge !== undefined) this.#turn(charge, 0).giveBack();
    };
    const isAnswered = await settledIn(ms, asking, signal).catch((reason: unknown) => {
      void giveBackLate();
      throw reason;
    });
    if (isAnswered) return asking;
    void giveBackLate();
    return { waitMs: awayMs };
  }

  async #ask(request: PaceRequest, isInside: boolean): Promise<Answer> {
    const { requestsPerMinute = 0, tokensPerMinute = 0, maxInFlight = 0 } = this.#options;
    const most = isInside ? 0 : maxInFlight;
    const id = systemId();
    try {
      const redis = await this.#connections.commands();
      const { inputTokens, outputTokens } = request;
      const given = [id, inputTokens, outputTokens, most, requestsPerMinute, tokensPerMinute];
      const answer = (await redis.eval(enterScript, 2, ...this.#keys, ...given)) as EnterAnswer;
      const [waitMs, written, requests, tokens, share] = answer;
      this.#seen = {
        requestsPerMinute: requests || undefined,
        tokensPerMinute: tokens || undefined,
        share: Number(share),
      };
      if (waitMs === 0) return { waitMs, charge: { id, request, written } };
      return { waitMs: waitMs < 0 ? fullMs : waitMs };
    } catch (error) {
      if (this.#connections.isClosed) throw closed(error);
      return { waitMs: awayMs };
    }
  }

  #turn(charge: Charge, queuedMs: number): PaceTurn {
    this.#inFlight++;
    let isOver = false;
    const over = (outcome: PaceOutcome, isSent: boolean): void => {
      if (isOver) return;
      isOver = true;
      this.#inFlight--;
      // What Redis does not learn it makes good: the lease ends, and the estimate stands.
      void this.#end(charge, outcome, isSent).catch(() => {});
    };
    return {
      queuedMs,
      end: (outcome = {}) => over(outcome, true),
      giveBack: () => over({ usage: { inputTokens: 0, outputTokens: 0 } }, false),
    };
  }

  async #end(charge: Charge, { rateLimit = {}, usage, refused }: PaceOutcome, isSent: boolean): Promise<void> {
    const { requests = 0, tokens = 0, inputTokens = 0, outputTokens = 0 } = rateLimit;
    const { tokensLeft, outputTokensLeft } = rateLimit;
    const spent = refused === undefined ? usage : undefined;
    const redis = await this.#connections.commands();
    await redis.eval(
      endScript,
      2,
      ...this.#keys,
      charge.id,
      charge.written,
      charge.request.inputTokens,
      charge.request.outputTokens,
      spent?.inputTokens ?? -1,
      spent?.outputTokens ?? -1,
      requests,
      tokens,
      inputTokens,
      outputTokens,
      refused !== undefined && refused.tooOften !== false ? 1 : 0,
      refused?.retryAfterMs ?? 0,
      isSent ? 0 : 1,
      tokensLeft?.left ?? -1,
      tokensLeft?.size ?? -1,
      outputTokensLeft?.left ?? -1,
      outputTokensLeft?.size ?? -1,
    );
  }
}
