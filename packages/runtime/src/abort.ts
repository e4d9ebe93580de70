/** Why a timer is not needed any more: the default reason, an error with a stack, costs more than the timer. */
export const over = "over";

/** Calls once the signal has fired, at once if it has; returns what ends the listening. */
export function onAbort(signal: AbortSignal | undefined, listener: (reason: unknown) => void): () => void {
  if (signal === undefined) return () => {};
  const abort = (): void => listener(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return () => signal.removeEventListener("abort", abort);
}
