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

/** Settings of a fake clock. */
export interface FakeClockOptions {
  /**
   * How many turns of the event loop a program gets before time moves on. One is enough for a program that waits for
   * promises alone. Default 5.
   */
  readonly turns?: number | undefined;
}

/** Returns a clock that starts at `startAt` in epoch milliseconds. Default 2026-01-01T00:00:00Z. */
export function fakeClock(startAt: number = Date.UTC(2026, 0, 1), { turns = 5 }: FakeClockOptions = {}): FakeClock {
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
      await settle(turns);
      for (let next = firstDue(sleepers, until); next !== undefined; next = firstDue(sleepers, until)) {
        now = Math.max(now, next.dueAt);
        next.wake();
        await settle(turns);
      }
      now = until;
    },
  };
}

/** Returns the sleeper that is due first; of several at the same moment, the one that has slept longest. */
function firstDue(sleepers: ReadonlySet<Sleeper>, until: number): Sleeper | undefined {
  let first: Sleeper | undefined;
  for (const sleeper of sleepers) {
    if (sleeper.dueAt <= until && (first === undefined || sleeper.dueAt < first.dueAt)) first = sleeper;
  }
  return first;
}

/** The one of the system: fake timers of a test runner replace the global, and theirs never fires by itself. */
const { setImmediate: nextTurn = inNextTurn } = globalThis as { setImmediate?: (go: () => void) => unknown };

/** The next turn of the event loop in browsers, which have no `setImmediate`: what a timer waits for is longer. */
function inNextTurn(go: () => void): void {
  const { port1, port2 } = new MessageChannel();
  const arrived = (): void => {
    port1.close();
    go();
  };
  port1.addEventListener("message", arrived, { once: true });
  port1.start();
  port2.postMessage(undefined);
}

/** Lets everything run that waits for no time: promises, and what they began. */
async function settle(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise<void>((resolve) => nextTurn(resolve));
}

/**
 * Clock, randomness and ids from one seed, for modelAdapter and every adapter's options. The same seed gives the same ids
 * and numbers each time, so a test is repeatable: two that meet in one test, over one session or one journal for example,
 * need a seed each.
 */
export function fakeEnvironment(
  seed = 1,
  options?: FakeClockOptions,
): Required<Pick<Environment, "random" | "newId">> & { readonly clock: FakeClock } {
  const random = mulberry32(seed);
  let ids = 0;
  return { clock: fakeClock(undefined, options), random, newId: () => `id-${seed}-${++ids}` };
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
