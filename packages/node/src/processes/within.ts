import { systemClock } from "@proviso/core";

/**
 * What `begin` resolves with, or undefined after so many milliseconds; then its signal fires. The system's time: what
 * processes take cannot be turned by a test. Leaves no timer.
 */
export async function within<T>(ms: number, begin: (over: AbortSignal) => Promise<T>): Promise<T | undefined> {
  const settled = new AbortController();
  const late = systemClock.sleep(ms, settled.signal).then(() => undefined);
  const awaited = begin(settled.signal);
  for (const either of [late, awaited]) either.catch(() => {});
  try {
    return await Promise.race([awaited, late]);
  } finally {
    settled.abort();
  }
}
