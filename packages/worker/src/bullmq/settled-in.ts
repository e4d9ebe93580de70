import { systemClock } from "@proviso/core";
import { setAlarm } from "@proviso/core/internal";

/** Whether `promise` has settled after so many milliseconds; without one it waits for them. @throws the signal's reason. */
export function settledIn(ms: number, promise?: Promise<unknown>, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let stopTimer: (() => void) | undefined;
    const end = (then: () => void): void => {
      stopTimer?.();
      signal?.removeEventListener("abort", abort);
      then();
    };
    const abort = (): void => end(() => reject(signal?.reason));
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted === true) return abort();
    if (ms < Infinity) stopTimer = setAlarm(systemClock, ms, () => end(() => resolve(false)));
    const settled = (): void => end(() => resolve(true));
    void promise?.then(settled, settled);
  });
}
