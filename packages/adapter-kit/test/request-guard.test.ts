import { getEventListeners } from "node:events";
import { guardRequest } from "@proviso/adapter-kit";
import { fakeClock } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

test("OAI-8 AIS-16 a request ends when it takes longer than it may", async () => {
  const clock = fakeClock();
  using guard = guardRequest(new AbortController().signal, clock, 1_000);
  await clock.advance(999);
  expect(guard.signal.aborted).toBe(false);
  await clock.advance(1);
  await expect(guard.ended).rejects.toMatchObject({ name: "TimeoutError", message: "No answer within 1000 ms." });
  expect(guard.signal.reason).toMatchObject({ name: "TimeoutError" });
});

test("OAI-10 AIS-16 a stream may go on for as long as parts of it arrive", async () => {
  const clock = fakeClock();
  using guard = guardRequest(new AbortController().signal, clock, 100_000);
  await clock.advance(5_000);
  guard.expect(1_000);
  for (let i = 0; i < 5; i++) {
    await clock.advance(900);
    guard.received();
  }
  expect(guard.signal.aborted).toBe(false);
  await clock.advance(1_000);
  await expect(guard.ended).rejects.toMatchObject({ message: "The stream stood still for 1000 ms." });
});

test("LIM-3 the caller's reason is the reason, and its signal is left as it was", async () => {
  const caller = new AbortController();
  const reason = new Error("enough");
  {
    using guard = guardRequest(caller.signal, fakeClock(), 1_000);
    caller.abort(reason);
    await expect(guard.ended).rejects.toBe(reason);
    expect(guard.signal.reason).toBe(reason);
  }
  expect(getEventListeners(caller.signal, "abort")).toHaveLength(0);
  using late = guardRequest(caller.signal, fakeClock(), 1_000);
  expect(late.signal.reason).toBe(reason);
});

test("AIS-17 what was not read to its end is given up, and what was is not", () => {
  const { signal } = new AbortController();
  const left = guardRequest(signal, fakeClock(), 1_000);
  left[Symbol.dispose]();
  expect(left.signal.aborted).toBe(true);
  const read = guardRequest(signal, fakeClock(), 1_000);
  read.done();
  read[Symbol.dispose]();
  expect(read.signal.aborted).toBe(false);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});
