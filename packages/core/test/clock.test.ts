import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "@proviso/core";

const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

describe("the system clock", () => {
  beforeEach(() => void vi.useFakeTimers({ now: 5_000 }));
  afterEach(() => void vi.useRealTimers());

  test("now is epoch milliseconds", () => {
    expect(systemClock.now()).toBe(5_000);
  });

  test("sleep resolves after its time and leaves no timer and no listener", async () => {
    const { signal } = new AbortController();
    let awake = false;
    const sleeping = systemClock.sleep(100, signal).then(() => (awake = true));
    await vi.advanceTimersByTimeAsync(99);
    expect([awake, listeners(signal), vi.getTimerCount()]).toEqual([false, 1, 1]);
    await vi.advanceTimersByTimeAsync(1);
    await sleeping;
    expect([awake, listeners(signal), vi.getTimerCount()]).toEqual([true, 0, 0]);
  });

  test("an abort wakes it at once with the signal's reason, and leaves no timer and no listener", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const sleeping = systemClock.sleep(100, controller.signal).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(10);
    controller.abort(reason);
    expect(await sleeping).toBe(reason);
    expect([listeners(controller.signal), vi.getTimerCount()]).toEqual([0, 0]);
  });

  test.each([0, -5, 100])("a signal that has fired rejects a sleep of %d ms without a timer", async (ms) => {
    const signal = AbortSignal.abort("early");
    await expect(systemClock.sleep(ms, signal)).rejects.toBe("early");
    expect([listeners(signal), vi.getTimerCount()]).toEqual([0, 0]);
  });

  test("no time, or less than none, is over at once", async () => {
    await systemClock.sleep(0);
    await systemClock.sleep(-1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a sleep longer than 2^31 - 1 ms takes its time", async () => {
    const { signal } = new AbortController();
    let awake = false;
    const sleeping = systemClock.sleep(2 ** 31 + 1_000, signal).then(() => (awake = true));
    await vi.advanceTimersByTimeAsync(2 ** 31 - 1);
    expect([awake, listeners(signal), vi.getTimerCount()]).toEqual([false, 1, 1]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(awake).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await sleeping;
    expect([awake, listeners(signal), vi.getTimerCount()]).toEqual([true, 0, 0]);
  });
});
