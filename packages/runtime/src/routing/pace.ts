// 1. First come, first served: only the head of the queue may go, and one alarm waits for it, which is its own: workers
//    that serve several requests end the timers of each with it.
// 2. Nothing waits before a limit is known or a request was refused, but for the first answer: two are sent before it.
// 3. A turn ends once: by its outcome, or by being given back.
// 4. A request inside another one, which waits for it, waits for no request's end and for none outside: only for the service.
import {
  systemClock,
  type Clock,
  type Pace,
  type PaceEntry,
  type PaceLimits,
  type PaceOutcome,
  type PaceRequest,
  type PaceTurn,
  type RateLimit,
} from "@proviso/core";
import { setAlarm } from "@proviso/core/internal";
import { chargedOnce, Costs, type Charge, type Kind } from "./costs.ts";
import { Meter } from "./meter.ts";
import { longestStopMs, meterNumbers } from "./pace-numbers.ts";
import { checkPaceOptions, type PaceOptions } from "./pace-options.ts";
import { RequestQueue, WaitingRequest } from "./request-queue.ts";
import { Share } from "./share.ts";
import { readyPaces } from "../request/paced.ts";

const defaultMaxQueued = 10_000;
/** Requests that are sent before the first answer, which states the limits. */
const beforeFirstAnswer = 2;
const { requestSlackMs, tokenSlackMs } = meterNumbers;

/**
 * A pace for all that use one key of one service. Requests leave in the order in which they came, as fast as the limits
 * allow that the service states in its answers, times a share that refusals lower. Where it states none, the rate is
 * found from its refusals. Before the first answer two requests are sent, after it nothing waits until a limit is known.
 * @throws {DefinitionError} for a limit that is not positive.
 */
export function sharedPace(options: PaceOptions = {}): Pace {
  return new QueuedPace(options);
}

class QueuedPace implements Pace {
  readonly #clock: Clock;
  readonly #maxInFlight: number;
  readonly #maxQueued: number;
  readonly #meters = new Map<Kind, Meter>();
  readonly #share = new Share();
  readonly #queue = new RequestQueue();
  #inFlight = 0;
  #isAnswered = false;
  #stoppedUntil = -Infinity;
  /** The clock as it was read last. */
  #now = -Infinity;
  readonly #costs = new Costs();

  constructor(options: PaceOptions) {
    checkPaceOptions(options);
    const { requestsPerMinute, tokensPerMinute, maxInFlight, maxQueued = defaultMaxQueued, clock } = options;
    this.#clock = clock ?? systemClock;
    this.#maxInFlight = maxInFlight ?? Infinity;
    this.#maxQueued = maxQueued;
    this.#learn({ requests: requestsPerMinute, tokens: tokensPerMinute });
    this.#isAnswered = this.#meters.size > 0;
    readyPaces.set(this, { enter: this.enter, enterAtOnce: this.#enterAtOnce.bind(this) });
  }

  state(): ReturnType<Pace["state"]> {
    this.#pass();
    return {
      queued: this.#queue.size,
      inFlight: this.#inFlight,
      requestsPerMinute: this.#meters.get("requests")?.limit,
      tokensPerMinute: this.#meters.get("tokens")?.limit,
      share: this.#share.value,
    };
  }

  enter(request: PaceRequest, limits: PaceLimits = {}): Promise<PaceEntry> {
    const { signal, expiresAt = Infinity, isInside = false } = limits;
    if (signal?.aborted === true) return Promise.reject(signal.reason);
    const turn = this.#enterAtOnce(request, limits);
    if (turn !== undefined) return Promise.resolve({ ok: true, turn });
    const now = this.#now;
    const retryAfterMs = isInside ? Math.ceil(this.#waitMs(now, true)) : this.#expectedMs(now);
    if (this.#queue.before(isInside) >= this.#maxQueued)
      return Promise.resolve({ ok: false, reason: "full", retryAfterMs });
    if (now + retryAfterMs > expiresAt) return Promise.resolve({ ok: false, reason: "deadline", retryAfterMs });
    return this.#waitForTurn(new WaitingRequest(request, now, isInside), signal);
  }

  /** Waits for the turn of a request. Rejects with the signal's reason when that fires first. */
  async #waitForTurn(waiting: WaitingRequest, signal: AbortSignal | undefined): Promise<PaceEntry> {
    const leave = (): void => {
      this.#pass();
      this.#queue.remove(waiting);
      waiting.wake();
      this.#dispatch();
    };
    signal?.addEventListener("abort", leave, { once: true });
    this.#queue.add(waiting);
    if (this.#queue.before(waiting.isInside) === 1) this.#dispatch();
    let stopAlarm: (() => void) | undefined;
    try {
      while (waiting.turn === undefined) {
        if (signal?.aborted === true) throw signal.reason;
        if (waiting.waitMs < Infinity) {
          stopAlarm = setAlarm(this.#clock, Math.ceil(waiting.waitMs), () => this.#dispatch());
        }
        await waiting.woken();
        stopAlarm?.();
        stopAlarm = undefined;
      }
      return { ok: true, turn: waiting.turn };
    } finally {
      signal?.removeEventListener("abort", leave);
      // The clock may have thrown.
      if (this.#queue.remove(waiting)) this.#dispatch();
    }
  }

  #enterAtOnce(request: PaceRequest, { isInside = false }: PaceLimits): PaceTurn | undefined {
    const now = this.#pass();
    return this.#queue.before(isInside) === 0 && this.#waitMs(now, isInside) === 0
      ? this.#begin(request, now, now)
      : undefined;
  }

  /** Time has passed: the share and the found rate grow. */
  #pass(): number {
    const now = this.#clock.now();
    if (now < this.#now) this.#shift(now - this.#now);
    this.#now = now;
    this.#share.grow(now, this.#queue.size > 0);
    const found = this.#share.rate;
    if (found !== undefined) this.#set("requests", found);
    return now;
  }

  /** A clock that is set back lets no request wait for the time that it has lost. */
  #shift(byMs: number): void {
    this.#stoppedUntil += byMs;
    for (const meter of this.#meters.values()) meter.shift(byMs);
  }

  #set(kind: Kind, limit: number): void {
    const meter = this.#meters.get(kind);
    if (meter !== undefined) meter.limit = limit;
    else this.#meters.set(kind, new Meter(limit, kind === "requests" ? requestSlackMs : tokenSlackMs));
  }

  #learn(stated: RateLimit): void {
    for (const kind of kinds) {
      const limit = stated[kind];
      if (limit === undefined || !Number.isFinite(limit) || limit <= 0) continue;
      this.#set(kind, limit);
      if (kind === "requests") this.#share.stated();
    }
  }

  /** Milliseconds until the head of the queue may go; Infinity: until a request is over. */
  #waitMs(now: number, isInside = false): number {
    const most = this.#isAnswered ? this.#maxInFlight : Math.min(this.#maxInFlight, beforeFirstAnswer);
    if (!isInside && this.#inFlight >= most) return Infinity;
    let waitMs = Math.max(0, this.#stoppedUntil - now);
    for (const meter of this.#meters.values()) waitMs = Math.max(waitMs, meter.waitMs(now));
    return waitMs;
  }

  /** Milliseconds until one more request could go, by the limits alone: when an answer will come is not known. */
  #expectedMs(now: number): number {
    const headMs = this.#waitMs(now);
    const charged = this.#queue.charged();
    let longest = 0;
    for (const [kind, meter] of this.#meters) {
      const cost = this.#costs.of(kind, charged, meter.bounds.share);
      longest = Math.max(longest, meter.durationMs(cost, this.#shareOf(kind)));
    }
    return Math.ceil(longest + (headMs === Infinity ? 0 : headMs));
  }

  /** A rate that is found is moved by itself. */
  #shareOf(kind: Kind): number {
    return kind === "requests" && this.#share.rate !== undefined ? 1 : this.#share.value;
  }

  /** Sends the requests that may go now, and lets the next one know when it may. */
  #dispatch(): void {
    for (const waiting of this.#queue) {
      const now = this.#pass();
      const waitMs = this.#waitMs(now, waiting.isInside);
      if (waitMs > 0) waiting.waitMs = waitMs;
      else {
        this.#queue.remove(waiting);
        waiting.turn = this.#begin(waiting.request, now, waiting.since);
      }
      waiting.wake();
      if (waitMs > 0) return;
    }
  }

  #begin(request: PaceRequest, now: number, since: number): PaceTurn {
    this.#inFlight++;
    let charges = this.#meters.size === 0 ? noCharges : this.#charge(request, now);
    const uncharge = (): void => {
      this.#correct(charges, { requests: 0, inputTokens: 0, outputTokens: 0 }, 0);
      charges = noCharges;
    };
    let isOver = false;
    const over = (then: () => void): void => {
      if (isOver) return;
      isOver = true;
      this.#inFlight--;
      this.#pass();
      then();
      this.#dispatch();
    };
    return {
      queuedMs: now - since,
      end: (outcome) => over(() => outcome && this.#ended(request, charges, now, outcome)),
      giveBack: () => over(uncharge),
      pause: () => {
        this.#pass();
        uncharge();
        this.#dispatch();
      },
    };
  }

  #charge(request: PaceRequest, now: number): ReadonlyMap<Kind, Charge> {
    const charged = chargedOnce(request);
    const charges = new Map<Kind, Charge>();
    for (const [kind, meter] of this.#meters) {
      const boundShare = meter.bounds.share;
      const cost = this.#costs.of(kind, charged, boundShare);
      meter.charge(now, cost, this.#shareOf(kind));
      charges.set(kind, { cost, boundShare });
    }
    return charges;
  }

  #ended(
    request: PaceRequest,
    charges: ReadonlyMap<Kind, Charge>,
    sentAt: number,
    { rateLimit, usage, refused }: PaceOutcome,
  ): void {
    this.#isAnswered = true;
    if (rateLimit !== undefined) {
      this.#learn(rateLimit);
      const { tokensLeft, outputTokensLeft } = rateLimit;
      if (tokensLeft !== undefined) this.#meters.get("tokens")?.bounds.learn(tokensLeft, request);
      if (outputTokensLeft !== undefined) this.#meters.get("outputTokens")?.bounds.learn(outputTokensLeft, request);
    }
    if (refused !== undefined) this.#refused(refused, sentAt);
    else if (usage !== undefined) {
      this.#correct(charges, { requests: 1, ...usage }, request.outputTokens);
      this.#costs.learn(request, usage);
    }
  }

  #refused({ tooOften = true, retryAfterMs = 0 }: NonNullable<PaceOutcome["refused"]>, sentAt: number): void {
    const now = this.#clock.now();
    if (retryAfterMs > 0) {
      this.#stoppedUntil = Math.max(this.#stoppedUntil, now + Math.min(retryAfterMs, longestStopMs));
    }
    if (!tooOften) return;
    const knowsLimit = this.#meters.size > 0 && this.#share.rate === undefined;
    if (this.#share.refused(now, sentAt, knowsLimit) && this.#share.rate !== undefined) {
      this.#set("requests", this.#share.rate);
    }
  }

  /** The charges were estimates; `real` is what was spent, of an answer that could have had `bound` tokens. */
  #correct(charges: ReadonlyMap<Kind, Charge>, real: PaceRequest & { readonly requests: number }, bound: number): void {
    const { requests, inputTokens: input, outputTokens: output } = real;
    for (const [kind, { cost, boundShare }] of charges) {
      const counted = output + boundShare * Math.max(0, bound - output);
      const spent = { requests, tokens: input + counted, inputTokens: input, outputTokens: counted };
      const difference = spent[kind] - cost;
      if (Number.isFinite(difference)) this.#meters.get(kind)?.correct(difference, this.#shareOf(kind));
    }
  }
}

/** What a request is charged where no limit is known. */
const noCharges: ReadonlyMap<Kind, Charge> = new Map();

const kinds: readonly Kind[] = ["requests", "tokens", "inputTokens", "outputTokens"];
