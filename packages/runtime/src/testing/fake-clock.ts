// 1. Time moves only by `advance`, from one due sleeper to the next, so each wakes at its own moment.
// 2. A sleeper that is aborted leaves at once.
import type { Clock } from "@proviso/core";
import type { Environment } from "../environment.ts";

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /**
   * Moves time by so many milliseconds, wakes the sleepers that are due, and lets the work that they began run as far
   * as it can.
   */
  advance(ms: number): Promise<void>;
  /** How long each sleeper asked for, in order. */
  readonly sleeps: readonly number[];
  /** How many sleep now. */
  readonly pending: number;
}

interface Sleeper {
  readonly dueAt: number;
  wake(): void;
}

/** Makes a clock that starts at `startAt`, in epoch milliseconds. Default: 2026-01-01T00:00:00Z. */
export function fakeClock(startAt: number = Date.UTC(2026, 0, 1)): FakeClock {
  let now = startAt;
  const sleepers = new Set<Sleeper>();
  const sleeps: number[] = [];
  return {
    sleeps,
    get pending() {
      return sleepers.size;
    },
    now: () => now,
    sleep(ms, signal) {
      sleeps.push(ms);
      return new Promise<void>((resolve, reject) => {
        if (signal?.aborted === true) return reject(signal.reason);
        const leave = (): void => {
          sleepers.delete(sleeper);
          signal?.removeEventListener("abort", abort);
        };
        const abort = (): void => {
          leave();
          reject(signal?.reason);
        };
        const wake = (): void => {
          leave();
          resolve();
        };
        const sleeper: Sleeper = { dueAt: now + Math.max(0, ms), wake };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", abort, { once: true });
      });
    },
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (let next = firstDue(sleepers, until); next !== undefined; next = firstDue(sleepers, until)) {
        now = Math.max(now, next.dueAt);
        next.wake();
        await settle();
      }
      now = until;
    },
  };
}

function firstDue(sleepers: ReadonlySet<Sleeper>, until: number): Sleeper | undefined {
  return [...sleepers].filter(({ dueAt }) => dueAt <= until).toSorted((a, b) => a.dueAt - b.dueAt)[0];
}

/** Lets everything run that waits for no time: promises, and what they began. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Clock, randomness and ids from one seed, for modelAdapter and every adapter's options. */
export function fakeEnvironment(
  seed = 1,
): Required<Pick<Environment, "random" | "newId">> & { readonly clock: FakeClock } {
  const random = mulberry32(seed);
  let ids = 0;
  return { clock: fakeClock(), random, newId: () => `id-${seed}-${++ids}` };
}

/** Source: Tommy Ettinger's mulberry32, public domain. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
