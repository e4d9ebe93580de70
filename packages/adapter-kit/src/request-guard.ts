import type { Clock } from "@proviso/core";
import { setAlarm } from "@proviso/core/internal";

/**
 * Ends a request when its signal fires, when it takes too long, or when a stream of it stands still. Times are
 * milliseconds; where one is up the reason is a `TimeoutError`.
 */
export interface RequestGuard extends Disposable {
  /** For the request: the given signal and the times together. */
  readonly signal: AbortSignal;
  /** Rejects when one of them fires; never an unhandled rejection. */
  readonly ended: Promise<never>;
  /** From now on something has to be heard every so many milliseconds. */
  expect(ms: number): void;
  /** Call it when a part of the answer arrives: the time for the next one begins anew. */
  heard(): void;
  /** All of it was read: there is nothing to give up. */
  done(): void;
}

/** Nobody waits for it any more; made once, because the making costs. */
const over = new DOMException("The request is over.", "AbortError");

const once = { once: true } as const;

/** Leaves no timer, no listener and nothing that is still read behind once it is disposed of. */
export function guardRequest(signal: AbortSignal, clock: Clock, timeoutMs: number): RequestGuard {
  return new Guard(signal, clock, timeoutMs);
}

/**
 * There is one for each request that waits, so it is one object: the signal's listener itself, and a promise only where
 * somebody asks for it.
 */
class Guard implements RequestGuard {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #cancelTimeout: (() => void) | undefined;
  #cancelStall: (() => void) | undefined;
  #heardAt = 0;
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
    this.heard();
    this.#waitForPiece(ms, ms);
  }

  heard(): void {
    this.#heardAt = this.#clock.now();
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
    // Others may go on reading what nobody waits for.
    if (!this.#isDone) this.#controller.abort(over);
  }

  #waitForAnswer(left: number, ms: number): void {
    this.#cancelTimeout = setAlarm(this.#clock, left, () => {
      const more = this.#startedAt + ms - this.#clock.now();
      if (more > 0) this.#waitForAnswer(more, ms);
      else this.#stop(new DOMException(`No answer within ${ms} ms.`, "TimeoutError"));
    });
  }

  /** One timer at a time, whatever is heard in between. */
  #waitForPiece(left: number, ms: number): void {
    this.#cancelStall = setAlarm(this.#clock, left, () => {
      const more = this.#heardAt + ms - this.#clock.now();
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
