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

/** Leaves no timer, no listener and nothing that is still read behind once it is disposed of. */
export function guardRequest(signal: AbortSignal, clock: Clock, timeoutMs: number): RequestGuard {
  const controller = new AbortController();
  const alarms: (() => void)[] = [];
  let heardAt = 0;
  let isDone = false;
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

  /** One timer at a time, whatever is heard in between. */
  function watch(ms: number, since: () => number, message: string): void {
    let cancel = (): void => {};
    const wait = (left: number): void => {
      cancel = setAlarm(clock, left, () => {
        const more = since() + ms - clock.now();
        if (more > 0) wait(more);
        else stop(new DOMException(message, "TimeoutError"));
      });
    };
    alarms.push(() => cancel());
    wait(ms);
  }
  const startedAt = clock.now();
  watch(timeoutMs, () => startedAt, `No answer within ${timeoutMs} ms.`);

  return {
    signal: controller.signal,
    ended,
    expect(ms) {
      heardAt = clock.now();
      watch(ms, () => heardAt, `The stream stood still for ${ms} ms.`);
    },
    heard() {
      heardAt = clock.now();
    },
    done() {
      isDone = true;
    },
    [Symbol.dispose]() {
      signal.removeEventListener("abort", onAbort);
      for (const cancel of alarms) cancel();
      // An SDK may go on reading what nobody waits for.
      if (!isDone) controller.abort(over);
    },
  };
}
