import type { Clock } from "@proviso/core";

/** Milliseconds since a moment; none where the clock was set back meanwhile. */
export function elapsedMs(clock: Clock, since: number): number {
  return Math.max(0, clock.now() - since);
}
