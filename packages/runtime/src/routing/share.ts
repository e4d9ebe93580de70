import { shareNumbers } from "./pace-numbers.ts";

/** Requests a minute. */
const firstRate = 120;
const searchFactor = 1.5;
const leastRate = 1;
/** What a machine that slept, or a clock that jumped, adds to the rate is no more than so many seconds of growth. */
const longestGrowth = 10;
/** Requests a minute beyond which none is searched for. */
const mostRate = 1e6;
const { first: firstShare, least: leastShare, cutFactor, growFactor, cutEveryMs } = shareNumbers;

/**
 * How much of its limits a service lets us use. A refusal takes 15 %, each second without one gives 2 % back: additive
 * would be too slow for a limit of thousands a minute. Where the service states no limit the rate itself is found so,
 * from 2 requests a second, half as fast again each second until it is refused.
 */
export class Share {
  /** The part of the limits that is used, 0 to 1. */
  value: number = firstShare;
  /** Requests a minute; undefined: none is found yet, or the service states its limit. */
  rate: number | undefined;
  #isSearching = true;
  #grownAt = -Infinity;
  #cutAt = -Infinity;

  /** Time has passed. `isWaiting`: requests wait, so that the rate is really used and may grow. */
  grow(now: number, isWaiting: boolean): void {
    const seconds = this.#grownAt === -Infinity ? 0 : Math.max(0, now - this.#grownAt) / 1_000;
    this.#grownAt = now;
    if (seconds === 0) return;
    this.value = Math.min(firstShare, this.value * growFactor ** seconds);
    if (this.rate === undefined || !isWaiting) return;
    this.rate = Math.min(
      mostRate,
      this.rate * (this.#isSearching ? searchFactor : growFactor) ** Math.min(longestGrowth, seconds),
    );
  }

  /** The service refused a request that was sent at `sentAt`. Answers whether that lowers the pace. */
  refused(now: number, sentAt: number, knowsLimit: boolean): boolean {
    // A clock that was set back makes no cut lie ahead.
    if (this.#cutAt > now) this.#cutAt = -Infinity;
    if (sentAt <= this.#cutAt || now - this.#cutAt < cutEveryMs) return false;
    this.#cutAt = now;
    if (knowsLimit) {
      this.value = Math.max(leastShare, this.value * cutFactor);
    } else if (this.rate === undefined) {
      this.rate = firstRate;
    } else {
      this.#isSearching = false;
      this.rate = Math.max(leastRate, this.rate * cutFactor);
    }
    return true;
  }

  /** The service states a limit: what was found is not needed any more. */
  stated(): void {
    this.rate = undefined;
  }
}
