import type { Clock } from "@proviso/core";
import { setAlarm } from "@proviso/core/internal";

/**
 * Ends a request when its signal fires, when it takes too long, or when a stream of it stands still. Times are
 * milliseconds; where one is up the reason is a `TimeoutError`.
 */
export interface RequestGuard extends Disposable {
  /** The signal for the request: it aborts with the given signal and when a time is over. */
  readonly signal: AbortSignal;
  /** Rejects when the signal aborts. It never causes an unhandled rejection. */
  readonly ended: Promise<never>;
  /** Starts the stall limit: from now on a part of the answer has to arrive every so many milliseconds. */
  expect(ms: number): void;
  /** Call it when a part of the answer arrives: the time for the next one begins anew. */
  received(): void;
  /** Call this when the whole answer was read: disposing the guard aborts nothing then. */
  done(): void;
}

/**
 * The reason with which a request that is not needed any more is aborted. It is made once, because making it is slow.
 */
const over = new DOMException("The request is over.", "AbortError");

const once = { once: true } as const;

/**
 * Guards a request by the caller's signal and a time limit. A disposed guard leaves no timer, no listener and no open
 * request behind.
 */
export function guardRequest(signal: AbortSignal, clock: Clock, timeoutMs: number): RequestGuard {
  return new Guard(signal, clock, timeoutMs);
}

/**
 * Each waiting request has one, so it is a single object: it is the signal's listener itself, and makes a promise only
 * where `ended` is read.
 */
class Guard implements RequestGuard {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #cancelTimeout: (() => void) | undefined;
  #cancelStall: (() => void) | undefined;
  #receivedAt = 0;
  #isDone = false;
  #ended: Promise<never> | undefined;
  #end: ((reason: unknown) => void) | undefined;

  constructor(signal: AbortSignal, clock: Clock, timeoutMs: number) {
    this.#caller = signal;
    this.#clock = clock;
    this.#startedAt = clock.now();
    if (signal.aborted) this.handleEvent();
    else signal.addEventListener("abort", this, once);
    this.#waitForAnswer(timeoutMs, timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get ended(): Promise<never> {
    if (this.#ended === undefined) {
      this.#ended = new Promise<never>((_, reject) => (this.#end = reject));
      this.#ended.catch(() => {});
      if (this.signal.aborted) this.#end?.(this.signal.reason);
    }
    return this.#ended;
  }

  expect(ms: number): void {
    this.received();
    this.#waitForPiece(ms, ms);
  }

  received(): void {
    this.#receivedAt = this.#clock.now();
  }

  done(): void {
    this.#isDone = true;
  }

  /** The caller's signal fired. */
  handleEvent(): void {
    this.#stop(this.#caller.reason);
  }

  [Symbol.dispose](): void {
    this.#caller.removeEventListener("abort", this);
    this.#cancelTimeout?.();
    this.#cancelStall?.();
    // The abort stops an SDK that would go on reading a body which is not needed any more.
    if (!this.#isDone) this.#controller.abort(over);
  }

  #waitForAnswer(left: number, ms: number): void {
    this.#cancelTimeout = setAlarm(this.#clock, left, () => {
      const more = this.#startedAt + ms - this.#clock.now();
      if (more > 0) this.#waitForAnswer(more, ms);
      else this.#stop(new DOMException(`No answer within ${ms} ms.`, "TimeoutError"));
    });
  }

  /** Keeps one timer at a time, however many pieces arrive. */
  #waitForPiece(left: number, ms: number): void {
    this.#cancelStall = setAlarm(this.#clock, left, () => {
      const more = this.#receivedAt + ms - this.#clock.now();
      if (more > 0) this.#waitForPiece(more, ms);
      else this.#stop(new DOMException(`The stream stood still for ${ms} ms.`, "TimeoutError"));
    });
  }

  /** The promise rejects before the work meets its signal, which it may answer with an error of its own. */
  #stop(reason: unknown): void {
    this.#end?.(reason);
    this.#controller.abort(reason);
  }
}
