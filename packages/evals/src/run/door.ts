// Lets attempts begin no faster than their lane sends requests: an attempt's own time does not pass in a queue (EVL-20).
import { systemClock, type Clock, type Pace, type PaceState } from "@proviso/core";

/** Attempts of a lane that begin before one of them has ended: only then its limits are known. */
const mostUnknown = 16;
/** How often the first attempt in line looks again. */
const againMs = 100;

/** What the pace does now; undefined: it throws where it is asked, so that its limit is not known. */
export function stateOf(pace: Pace): PaceState | undefined {
  try {
    return pace.state();
  } catch {
    return undefined;
  }
}

/** The door of one lane. */
export class Door {
  readonly #pace: Pace;
  readonly #clock: Clock;
  #line: Promise<void> = Promise.resolve();
  #begun = 0;
  #hasEnded = false;
  /** Attempts that begin before it is asked again whether a lane without a limit has one now. */
  #unasked = 0;

  constructor(pace: Pace, clock: Clock) {
    this.#pace = pace;
    this.#clock = clock;
  }

  /** undefined: the lane has no limit, and nothing waits. Never rejects. */
  enter(signal: AbortSignal): Promise<void> | undefined {
    if (this.#unasked > 0) {
      this.#unasked -= 1;
      return undefined;
    }
    if (this.#hasEnded && stateOf(this.#pace)?.requestsPerMinute === undefined) {
      this.#unasked = mostUnknown;
      return undefined;
    }
    return (this.#line = this.#line.then(() => this.#wait(signal)));
  }

  /** An attempt has ended. */
  left(): void {
    this.#hasEnded = true;
  }

  async #wait(signal: AbortSignal): Promise<void> {
    while (this.#isCrowded() && !signal.aborted) await this.#clock.sleep(againMs, signal).catch(() => {});
    this.#begun += 1;
    // The request of this attempt stands in the queue before the next attempt looks.
    await systemClock.sleep(0);
  }

  #isCrowded(): boolean {
    if (!this.#hasEnded) return this.#begun >= mostUnknown;
    const state = stateOf(this.#pace);
    if (state?.requestsPerMinute === undefined) return false;
    return state.queued > Math.max(1, (state.requestsPerMinute * state.share) / 60);
  }
}
