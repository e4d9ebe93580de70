import type { Binding, Clock } from "@proviso/core";
import { setAlarm } from "@proviso/core/internal";

/** Milliseconds that closing may take: a scope as a whole, or one resource that goes with its call. */
const closeMs = 5_000;

/** How long closing is waited for; afterwards it goes on behind, and what is left is begun without a wait. */
export interface Patience {
  /** Closes, and waits for it. @throws what closing throws, and a TimeoutError when there is no time left. */
  close(binding: Binding, instance: unknown): Promise<void>;
  /** Waits for other work that comes first; settles whatever becomes of it. */
  wait(work: Promise<unknown>): Promise<void>;
  /** Leaves no timer behind. */
  end(): void;
}

export function startPatience(clock: Clock): Patience {
  const { promise: expired, resolve: expire } = Promise.withResolvers<"expired">();
  const stop = setAlarm(clock, closeMs, () => expire("expired"));
  return {
    async close({ key, close }, instance) {
      const closing = (async () => close?.(instance as never))();
      // The close may reject later, when it is not awaited any more.
      closing.catch(() => {});
      if ((await Promise.race([closing, expired])) !== "expired") return;
      throw new DOMException(
        `Closing "${key.name}" takes longer than ${closeMs} ms: it goes on behind.`,
        "TimeoutError",
      );
    },
    async wait(work) {
      await Promise.race([work.catch(() => {}), expired]);
    },
    end: stop,
  };
}
