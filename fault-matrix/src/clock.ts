import { systemClock, type Clock } from "@proviso/core";

/** Time that goes so many times faster, and knows who sleeps. */
export function fastClock(times: number): Clock & { readonly sleeping: number } {
  const startedAt = systemClock.now();
  let sleeping = 0;
  return {
    get sleeping() {
      return sleeping;
    },
    now: () => startedAt + (systemClock.now() - startedAt) * times,
    async sleep(ms, signal) {
      sleeping += 1;
      try {
        await systemClock.sleep(ms / times, signal);
      } finally {
        sleeping -= 1;
      }
    },
  };
}
