import { systemClock } from "@proviso/core";

/** Ends a request when its signal fires, or when nothing was heard of it for so long. */
export interface Guard extends Disposable {
  /** For the request: the given signal and the time together. */
  readonly signal: AbortSignal;
  /** Rejects when either fires; never an unhandled rejection. */
  readonly ended: Promise<never>;
  /** Begins the time anew. */
  heard(): void;
}

/** Nobody waits for it any more; made once, because the making costs. */
const over = new DOMException("The request is over.", "AbortError");

/** Leaves no timer, no listener and nothing that is still read behind once it is disposed of. */
export function guard(signal: AbortSignal, ms: number): Guard {
  const controller = new AbortController();
  const settled = new AbortController();
  let heardAt = systemClock.now();
  let end: (reason: unknown) => void = () => {};
  const ended = new Promise<never>((_, reject) => (end = reject));
  ended.catch(() => {});
  const stop = (reason: unknown): void => {
    end(reason);
    controller.abort(reason);
  };
  const onAbort = (): void => stop(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });

  async function watch(): Promise<void> {
    for (let left = ms; left > 0; left = heardAt + ms - systemClock.now()) {
      await systemClock.sleep(left, settled.signal);
    }
    stop(new DOMException(`No answer within ${ms} ms.`, "TimeoutError"));
  }
  watch().catch(() => {});

  return {
    signal: controller.signal,
    ended,
    heard() {
      heardAt = systemClock.now();
    },
    [Symbol.dispose]() {
      signal.removeEventListener("abort", onAbort);
      settled.abort();
      // An SDK may go on reading what nobody waits for.
      controller.abort(over);
    },
  };
}
