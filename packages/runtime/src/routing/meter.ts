import { CountedBounds } from "./counted-bounds.ts";
import { meterNumbers } from "./pace-numbers.ts";

const minuteMs = 60_000;
const { mostMs } = meterNumbers;

/**
 * One limit for a minute, kept as the time at which the next request may go out: each request moves it by what it costs.
 * Source: the generic cell rate algorithm (ITU-T I.371) in its virtual scheduling form. A request may go as soon as the
 * time is there, however much it costs; the next one waits for the whole of it.
 */
export class Meter {
  /** The limit for a minute. */
  limit: number;
  /** Whether the service counts the longest answers that requests allow. */
  readonly bounds = new CountedBounds();
  readonly #slackMs: number;
  #freeAt = -Infinity;

  /** What is sent late may be made up for, up to `slackMs`. */
  constructor(limit: number, slackMs: number) {
    this.limit = limit;
    this.#slackMs = slackMs;
  }

  /** Milliseconds until a request may go out; 0: now. */
  waitMs(now: number): number {
    return Math.max(0, this.#freeAt - now);
  }

  /** Milliseconds that so much takes at this share of the limit. */
  durationMs(cost: number, share: number): number {
    return (cost * minuteMs) / (this.limit * share);
  }

  /** One request moves the time by a minute at most: whatever it cost, the service counts anew then. */
  charge(now: number, cost: number, share: number): void {
    this.#freeAt = Math.max(this.#freeAt, now - this.#slackMs) + Math.min(mostMs, this.durationMs(cost, share));
  }

  /** A request cost more, or less, than it was charged. */
  correct(difference: number, share: number): void {
    this.#freeAt += Math.max(-mostMs, Math.min(mostMs, this.durationMs(difference, share)));
  }

  /** The clock was set: times move with it. */
  shift(byMs: number): void {
    this.#freeAt += byMs;
  }
}
