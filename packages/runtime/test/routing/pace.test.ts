import type { Pace, PaceEntry, PaceOutcome, PaceTurn } from "@proviso/core";
import { sharedPace, type PaceOptions } from "@proviso/runtime/routing";
import { fakeClock, fakeEnvironment } from "@proviso/runtime/testing";
import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import { simulate } from "./simulated-service.ts";

const small = { inputTokens: 10, outputTokens: 10 };

function turnOf(entry: PaceEntry): PaceTurn {
  if (!entry.ok) throw new Error(`no turn: ${entry.reason}`);
  return entry.turn;
}

/** Enters so many requests and records, in milliseconds from now, when each got its turn. */
function enterAll(pace: Pace, clock: ReturnType<typeof fakeClock>, count: number, request = small) {
  const startedAt = clock.now();
  const times: number[] = [];
  const turns: PaceTurn[] = [];
  for (let i = 0; i < count; i++) {
    void pace.enter(request).then((entry) => {
      times.push(clock.now() - startedAt);
      turns.push(turnOf(entry));
    });
  }
  return { times, turns };
}

/** A pace that has had its first answer. */
async function answered(options: PaceOptions, outcome: PaceOutcome = {}) {
  const clock = fakeClock();
  const pace = sharedPace({ ...options, clock });
  turnOf(await pace.enter(small)).end(outcome);
  return { clock, pace };
}

describe("PAC-4 a service that reports nonsense, and a clock that is set", () => {
  test.each([Number.MAX_SAFE_INTEGER, 1e308])(
    "PAC-4 %d reported tokens hold others up for a minute at most",
    async (tokens) => {
      const { clock, pace } = await answered({ tokensPerMinute: 60_000 });
      turnOf(await pace.enter(small)).end({ usage: { inputTokens: tokens, outputTokens: tokens } });
      const { times } = enterAll(pace, clock, 2);
      await clock.advance(61_000);
      expect(times.length).toBeGreaterThanOrEqual(1);
      await clock.advance(61_000);
      expect(times).toHaveLength(2);
    },
  );

  test("PAC-2 PAC-4 a machine that sleeps while requests wait finds no rate without end", async () => {
    const { clock, pace } = await answered({}, { refused: { tooOften: true } });
    const { turns } = enterAll(pace, clock, 5);
    await clock.advance(3_600_000);
    for (const turn of turns) turn.end();
    const found = pace.state().requestsPerMinute ?? 0;
    expect(found).toBeLessThan(1e7);
    for (let time = 0; time < 10; time++) {
      const entering = pace.enter(small);
      await clock.advance(1_100);
      turnOf(await entering).end({ refused: { tooOften: true } });
    }
    expect(pace.state().requestsPerMinute).toBeLessThan(found / 2);
  });

  test("PAC-4 an answer without a bound counts as earlier ones did", async () => {
    const { clock, pace } = await answered({ tokensPerMinute: 60_000 });
    const unbounded = { inputTokens: 10, outputTokens: 0 };
    turnOf(await pace.enter(unbounded)).end({ usage: { inputTokens: 10, outputTokens: 9_990 } });
    await clock.advance(60_000);
    const { times } = enterAll(pace, clock, 4, unbounded);
    await clock.advance(60_000);
    // 10,000 tokens each, 60,000 a minute, a second to make up for.
    expect(times.map((time) => Math.round(time / 1_000))).toEqual([0, 9, 19, 29]);
  });

  test("PAC-4 a request that is estimated at more than a minute holds others up for a minute", async () => {
    const { clock, pace } = await answered({ tokensPerMinute: 1_000 });
    const { times } = enterAll(pace, clock, 2, { inputTokens: 1e9, outputTokens: 0 });
    await clock.advance(61_000);
    expect(times).toHaveLength(2);
  });

  test("PAC-3 PAC-5 a clock that is set back by an hour makes no request wait for that hour", async () => {
    let offset = 0;
    const real = fakeClock();
    const clock = { now: () => real.now() - offset, sleep: real.sleep };
    const pace = sharedPace({ clock, requestsPerMinute: 60 });
    turnOf(await pace.enter(small)).end({ refused: { retryAfterMs: 5_000 } });
    offset = 3_600_000;
    const { times } = enterAll(pace, real, 1);
    await real.advance(10_000);
    expect(times).toHaveLength(1);
  });
});

describe("PAC-1", () => {
  test("PAC-1 two requests are sent before the first answer; after it nothing waits", async () => {
    const clock = fakeClock();
    const pace = sharedPace({ clock });
    const { times, turns } = enterAll(pace, clock, 50);
    await clock.advance(5_000);
    expect(times).toEqual([0, 0]);
    turns[0]?.end({});
    await clock.advance(0);
    expect(times).toHaveLength(50);
    expect(times.slice(2)).toEqual(Array.from({ length: 48 }, () => 5_000));
    expect(pace.state()).toMatchObject({ queued: 0, inFlight: 49, requestsPerMinute: undefined });
  });

  test("PAC-1 a request that was aborted before its answer is no first answer, and makes room for another", async () => {
    const clock = fakeClock();
    const pace = sharedPace({ clock });
    const { times, turns } = enterAll(pace, clock, 4);
    await clock.advance(10);
    turns[0]?.end();
    await clock.advance(10);
    expect(times).toEqual([0, 0, 10]);
  });

  test("PAC-1 limits that are given hold from the start, and nothing waits for the first answer", async () => {
    const clock = fakeClock();
    const { times } = enterAll(sharedPace({ requestsPerMinute: 600, clock }), clock, 5);
    await clock.advance(1_000);
    expect(times).toEqual([0, 1, 101, 202, 302].map((ms) => expect.closeTo(ms, -0.5)));
  });
});

describe("PAC-2", () => {
  test("PAC-2 what a service states becomes the pace: requests", async () => {
    const { clock, pace } = await answered({}, { rateLimit: { requests: 60 } });
    const { times } = enterAll(pace, clock, 4);
    await clock.advance(10_000);
    // One was sent before the limit was known: it is not counted.
    expect(times[0]).toBe(0);
    expect((times.at(-1) ?? 0) - (times[1] ?? 0)).toBeCloseTo(2 * (1_000 / 0.995), -1);
    expect(pace.state()).toMatchObject({ requestsPerMinute: 60, share: 0.995 });
  });

  test.each([
    ["tokens", { tokens: 6_000 }, 20],
    ["input tokens", { inputTokens: 6_000 }, 10],
    ["output tokens", { outputTokens: 6_000 }, 10],
  ])("PAC-2 what a service states becomes the pace: %s", async (_, rateLimit, cost) => {
    const { clock, pace } = await answered({}, { rateLimit });
    const { times } = enterAll(pace, clock, 200);
    await clock.advance(120_000);
    const eachMs = (60_000 * cost) / (6_000 * 0.995);
    expect((times[199] ?? 0) - (times[99] ?? 0)).toBeCloseTo(100 * eachMs, -2);
  });

  test("PAC-2 a refusal lowers the share once a second, and only for a request that was sent after the last cut", async () => {
    const { clock, pace } = await answered({ requestsPerMinute: 60_000 });
    const { turns } = enterAll(pace, clock, 10);
    await clock.advance(100);
    for (const turn of turns) turn.end({ refused: {} });
    expect(pace.state().share).toBeCloseTo(0.995 * 0.85);
    const later = turnOf(await pace.enter(small));
    await clock.advance(500);
    later.end({ refused: {} });
    expect(pace.state().share).toBeCloseTo(0.995 * 0.85 * 1.02 ** 0.5);
    const last = turnOf(await pace.enter(small));
    await clock.advance(1_000);
    last.end({ refused: {} });
    expect(pace.state().share).toBeCloseTo(0.995 * 0.85 * 1.02 ** 1.5 * 0.85);
    await clock.advance(60_000);
    expect(pace.state().share).toBe(0.995);
  });

  test("PAC-2 without a limit the rate is found, from 2 a second after the first refusal", async () => {
    const { clock, pace } = await answered({});
    turnOf(await pace.enter(small)).end({ refused: {} });
    expect(pace.state().requestsPerMinute).toBe(120);
    const { times } = enterAll(pace, clock, 1_000);
    await clock.advance(3_000);
    const found = pace.state().requestsPerMinute ?? 0;
    expect(found).toBeCloseTo(120 * 1.5 ** 3, 0);
    // The integral of 2 · 1.5^t over three seconds is 11.7.
    expect(times).toHaveLength(12);
  });

  test("PAC-2 a rate that is not needed does not grow", async () => {
    const { clock, pace } = await answered({});
    turnOf(await pace.enter(small)).end({ refused: {} });
    await clock.advance(600_000);
    expect(pace.state().requestsPerMinute).toBe(120);
  });

  test("PAC-2 a limit that a service states replaces the rate that was found", async () => {
    const { clock, pace } = await answered({});
    turnOf(await pace.enter(small)).end({ refused: {} });
    await clock.advance(1_000);
    turnOf(await pace.enter(small)).end({ rateLimit: { requests: 6_000 } });
    await clock.advance(1_000);
    expect(pace.state()).toMatchObject({ requestsPerMinute: 6_000 });
  });

  test.each([0, -1, NaN, Infinity])("PAC-2 a stated limit of %s is passed over", async (requests) => {
    const { pace } = await answered({}, { rateLimit: { requests } });
    expect(pace.state().requestsPerMinute).toBeUndefined();
  });
});

describe("PAC-3", () => {
  test("PAC-3 requests leave in the order in which they came, whatever they cost", async () => {
    const { clock, pace } = await answered({ tokensPerMinute: 6_000 });
    const order: number[] = [];
    for (const [at, inputTokens] of [500, 1, 400, 1].entries()) {
      void pace.enter({ inputTokens, outputTokens: 0 }).then(() => order.push(at));
    }
    await clock.advance(60_000);
    expect(order).toEqual([0, 1, 2, 3]);
  });

  test("PAC-3 an abort leaves the queue at once, and its place goes to the next", async () => {
    const { clock, pace } = await answered({ requestsPerMinute: 60 });
    const leaving = new AbortController();
    const ends: string[] = [];
    void pace.enter(small).then(() => ends.push("first"));
    pace.enter(small, { signal: leaving.signal }).catch((reason: unknown) => ends.push(String(reason)));
    void pace.enter(small).then(() => ends.push("third"));
    await clock.advance(100);
    leaving.abort("enough");
    await clock.advance(0);
    expect(ends).toEqual(["enough"]);
    expect(pace.state().queued).toBe(2);
    await clock.advance(2_100);
    expect(ends).toEqual(["enough", "first", "third"]);
    expect(clock.pending).toBe(0);
  });

  test("PAC-3 a signal that was aborted before gets no place", async () => {
    const { pace } = await answered({});
    await expect(pace.enter(small, { signal: AbortSignal.abort("gone") })).rejects.toBe("gone");
    expect(pace.state()).toMatchObject({ queued: 0, inFlight: 0 });
  });

  test("PAC-3 a wait that would pass the deadline is refused at once, with the wait", async () => {
    const { clock, pace } = await answered({ requestsPerMinute: 60 });
    enterAll(pace, clock, 10);
    await clock.advance(0);
    const entry = await pace.enter(small, { expiresAt: clock.now() + 5_000 });
    expect(entry).toEqual({ ok: false, reason: "deadline", retryAfterMs: expect.closeTo(11_000, -3) });
    expect(await Promise.race([pace.enter(small, { expiresAt: clock.now() + 12_000 }), Promise.resolve("waits")])).toBe(
      "waits",
    );
  });

  test("PAC-3 a wait for the first answer, of unknown length, is not refused", async () => {
    const clock = fakeClock();
    const pace = sharedPace({ clock });
    enterAll(pace, clock, 2);
    expect(await Promise.race([pace.enter(small, { expiresAt: clock.now() + 1 }), Promise.resolve("waits")])).toBe(
      "waits",
    );
  });

  test("PAC-3 one more than maxQueued is refused at once, with the wait", async () => {
    const { clock, pace } = await answered({ requestsPerMinute: 60, maxQueued: 2 });
    enterAll(pace, clock, 2);
    expect(await pace.enter(small)).toMatchObject({ ok: false, reason: "full" });
    expect(pace.state().queued).toBe(2);
  });

  test("PAC-3 what a late timer lost is made up for", async () => {
    const { clock, pace } = await answered({ requestsPerMinute: 6_000 });
    const late = { now: () => clock.now(), sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms + 40, signal) };
    const slow = sharedPace({ requestsPerMinute: 6_000, clock: late });
    const { times } = enterAll(slow, clock, 1_000);
    await clock.advance(10_000);
    expect(times.length).toBeGreaterThan(980);
    expect(pace.state().queued).toBe(0);
  });

  test("PAC-3 each request has its own timer: where a host ends timers with what set them, no other waits for them", async () => {
    const clock = fakeClock();
    const handled = new AsyncLocalStorage<{ isOver: boolean }>();
    const pace = sharedPace({
      requestsPerMinute: 60,
      clock: {
        now: () => clock.now(),
        sleep(ms, signal) {
          const by = handled.getStore();
          return clock.sleep(ms, signal).then(() => (by?.isOver === true ? new Promise<never>(() => {}) : undefined));
        },
      },
    });
    const served: number[] = [];
    const serve = async (place: number): Promise<void> => {
      const by = { isOver: false };
      await handled.run(by, async () => {
        turnOf(await pace.enter(small)).end({ usage: { inputTokens: 10, outputTokens: 10 } });
        served.push(place);
      });
      by.isOver = true;
    };
    const leaving = new AbortController();
    for (const place of [0, 1, 2, 3, 4]) void serve(place);
    const gone = handled.run({ isOver: false }, () => pace.enter(small, { signal: leaving.signal }));
    for (const place of [5, 6]) void serve(place);
    await clock.advance(4_500);
    leaving.abort("gone");
    await expect(gone).rejects.toBe("gone");
    await clock.advance(10_000);
    expect(served).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(pace.state()).toMatchObject({ queued: 0, inFlight: 0 });
  });

  test("PAC-3 a request whose timer cannot be set leaves the queue, and the next has its turn", async () => {
    const clock = fakeClock();
    let isBroken = false;
    const sleep: typeof clock.sleep = (ms, signal) => {
      if (isBroken) throw new Error("no timer");
      return clock.sleep(ms, signal);
    };
    const pace = sharedPace({ requestsPerMinute: 60, clock: { now: () => clock.now(), sleep } });
    turnOf(await pace.enter(small)).end();
    isBroken = true;
    await expect(pace.enter(small)).rejects.toThrow("no timer");
    expect(pace.state()).toMatchObject({ queued: 0, inFlight: 0 });
    isBroken = false;
    const { times } = enterAll(pace, clock, 2);
    await clock.advance(3_000);
    expect(times).toHaveLength(2);
  });

  test("PAC-3 maxInFlight bounds what is sent and not over", async () => {
    const { clock, pace } = await answered({ maxInFlight: 3 });
    const { times, turns } = enterAll(pace, clock, 5);
    await clock.advance(0);
    expect(times).toHaveLength(3);
    turns[0]?.end({});
    turns[0]?.end({});
    await clock.advance(0);
    expect(times).toHaveLength(4);
    expect(pace.state()).toMatchObject({ inFlight: 3, queued: 1 });
  });
});

describe("PAC-4", () => {
  test("PAC-4 an estimate is corrected by the usage, and later ones follow what is learnt", async () => {
    const { clock, pace } = await answered({ tokensPerMinute: 60_000 });
    // Each guess is four times too small.
    for (let i = 0; i < 60; i++) {
      const turn = turnOf(await pace.enter({ inputTokens: 100, outputTokens: 0 }));
      turn.end({ usage: { inputTokens: 400, outputTokens: 0 } });
      await clock.advance(10_000);
    }
    const { times } = enterAll(pace, clock, 20, { inputTokens: 100, outputTokens: 0 });
    await clock.advance(60_000);
    expect((times[19] ?? 0) - (times[9] ?? 0)).toBeCloseTo((10 * 400 * 60_000) / (60_000 * 0.995), -2);
  });

  test("PAC-4 a usage that is no number changes nothing", async () => {
    const { clock, pace } = await answered({ tokensPerMinute: 60_000 });
    turnOf(await pace.enter(small)).end({ usage: { inputTokens: NaN, outputTokens: Infinity } });
    const { times } = enterAll(pace, clock, 10);
    await clock.advance(1_000);
    expect(times).toHaveLength(10);
  });

  test("PAC-4 a turn that is given back costs nothing", async () => {
    const { clock, pace } = await answered({ requestsPerMinute: 60 });
    const turn = turnOf(await soon(pace, clock));
    turn.giveBack();
    const { times } = enterAll(pace, clock, 1);
    await clock.advance(0);
    expect(times).toEqual([0]);
  });

  test("PAC-4 a turn says how long it waited", async () => {
    const { clock, pace } = await answered({ requestsPerMinute: 60 });
    const { turns } = enterAll(pace, clock, 3);
    await clock.advance(3_500);
    expect(turns.map(({ queuedMs }) => Math.round(queuedMs / 100))).toEqual([9, 19, 29]);
  });
});

/** The next turn, as soon as the pace gives it. */
async function soon(pace: Pace, clock: ReturnType<typeof fakeClock>): Promise<PaceEntry> {
  const entering = pace.enter(small);
  await clock.advance(2_000);
  return await entering;
}

describe("PAC-5", () => {
  test("PAC-5 a Retry-After stops all that share the pace, at most 15 s", async () => {
    const { clock, pace } = await answered({ requestsPerMinute: 60_000 });
    turnOf(await pace.enter(small)).end({ refused: { retryAfterMs: 4_000 } });
    const { times } = enterAll(pace, clock, 2);
    await clock.advance(3_999);
    expect(times).toEqual([]);
    await clock.advance(10);
    expect(times).toHaveLength(2);
    turnOf(await pace.enter(small)).end({ refused: { retryAfterMs: 3_600_000 } });
    const longer = enterAll(pace, clock, 1);
    await clock.advance(15_010);
    expect(longer.times).toHaveLength(1);
  });

  test("PAC-5 a busy service stops the pace and does not lower it", async () => {
    const { clock, pace } = await answered({ requestsPerMinute: 600 });
    turnOf(await soon(pace, clock)).end({ refused: { tooOften: false, retryAfterMs: 100 } });
    expect(pace.state()).toMatchObject({ share: 0.995, requestsPerMinute: 600 });
  });
});

test.each([{ requestsPerMinute: 0 }, { tokensPerMinute: -1 }, { maxInFlight: NaN }, { maxQueued: "2" }, { rate: 3 }])(
  "PAC-1 options that cannot be are refused: %o",
  (options) => {
    expect(() => sharedPace(options as never)).toThrow(/sharedPace/);
  },
);

function randomOf(seed: number): () => number {
  return fakeEnvironment(seed).random as () => number;
}

describe("in simulated time, 50 workers, 600 requests a minute, 1 s each", () => {
  const workers = { workers: 50, latencyMs: 1_000, minutes: 4 };
  const retryPolicy =
    (random: () => number) => (attempt: number, retryAfterMs: number | undefined, waitedMs: number) => {
      const floor = retryAfterMs ?? 0;
      const isSpent = attempt >= 5 || waitedMs + floor > 30_000;
      return isSpent ? undefined : floor + random() * Math.min(8_000, 500 * 2 ** (attempt - 1));
    };

  test.each([1, 2, 3])("PAC-2 with stated limits nearly all are useful, almost none refused, seed %i", async (seed) => {
    const random = randomOf(seed);
    const limits = { requests: 600, burstSeconds: 1, states: true };
    const retry = retryPolicy(random);
    const outcome = await simulate({ pace: (clock) => sharedPace({ clock }), limits, ...workers, random, retry });
    expect(outcome.useful).toBeGreaterThanOrEqual(0.985);
    expect(outcome.refusedPer100).toBeLessThanOrEqual(0.5);
    expect(outcome.p99Ms).toBeLessThanOrEqual(7_000);
    expect(outcome.failed).toBe(0);
  });

  test.each([1, 2, 3])("PAC-2 without stated limits nearly all are useful after a minute, seed %i", async (seed) => {
    const random = randomOf(seed);
    const limits = { requests: 600, burstSeconds: 1, states: false };
    const of = { limits, ...workers, warmUpMinutes: 1, random, retry: retryPolicy(random) };
    const outcome = await simulate({ pace: (clock) => sharedPace({ clock }), ...of });
    expect(outcome.useful).toBeGreaterThanOrEqual(0.96);
    expect(outcome.refusedPer100).toBeLessThanOrEqual(2);
    expect(outcome.failed).toBe(0);
  });

  test.each([1, 2, 3])("PAC-2 beside others who use a third of the limits, seed %i", async (seed) => {
    const random = randomOf(seed);
    const limits = { requests: 600, burstSeconds: 1, states: true, others: 0.3 };
    const of = { limits, ...workers, warmUpMinutes: 1, random, retry: retryPolicy(random) };
    const outcome = await simulate({ pace: (clock) => sharedPace({ clock }), ...of });
    expect(outcome.useful).toBeGreaterThanOrEqual(0.95);
    expect(outcome.useful).toBeLessThanOrEqual(1.05);
    expect(outcome.refusedPer100).toBeLessThanOrEqual(3);
    expect(outcome.failed).toBe(0);
  });

  test.each([1, 2, 3])("PAC-4 limited by tokens whose number is guessed badly, seed %i", async (seed) => {
    const random = randomOf(seed);
    const limits = { requests: 6_000, tokens: 60_000, burstSeconds: 1, states: true };
    const tokens = { real: 100, guessed: () => 100 * (0.6 + 0.8 * random()) };
    const of = { limits, ...workers, random, tokens, retry: retryPolicy(random) };
    const outcome = await simulate({ pace: (clock) => sharedPace({ clock }), ...of });
    expect(outcome.useful).toBeGreaterThanOrEqual(0.97);
    expect(outcome.refusedPer100).toBeLessThanOrEqual(0.5);
    expect(outcome.failed).toBe(0);
  });

  const counting = { requests: 6_000, tokens: 60_000, states: true } as const;
  const bounded = (random: () => number, bound: number, usedOfBound: number) => ({
    real: 100,
    guessed: () => 100 * (0.6 + 0.8 * random()),
    bound,
    usedOfBound,
  });

  test.each([
    { burstSeconds: 60, bound: 500, usedOfBound: 0.1, refused: 0.1 },
    { burstSeconds: 60, bound: 500, usedOfBound: 0.5, refused: 0.1 },
    { burstSeconds: 60, bound: 10_000, usedOfBound: 0.02, refused: 5 },
    { burstSeconds: 10, bound: 500, usedOfBound: 0.1, refused: 0.5 },
  ])(
    "PAC-4 a service that counts the longest answers and reports what was answered: $bound tokens, $burstSeconds s",
    async ({ burstSeconds, bound, usedOfBound, refused }) => {
      const random = randomOf(1);
      const limits = { ...counting, burstSeconds, counts: "bound" } as const;
      const tokens = bounded(random, bound, usedOfBound);
      const of = { limits, ...workers, minutes: 10, random, tokens, retry: retryPolicy(random) };
      const outcome = await simulate({ pace: (clock) => sharedPace({ clock }), ...of });
      expect(outcome.useful).toBeGreaterThanOrEqual(0.99);
      expect(outcome.refusedPer100).toBeLessThanOrEqual(refused);
      expect(outcome.failed).toBe(0);
    },
  );

  test.each(["reported", "bound until it answers"] as const)(
    "PAC-4 a service that counts what is %s is sent no less",
    async (counts) => {
      const random = randomOf(1);
      const limits = { ...counting, burstSeconds: 60, counts } as const;
      const of = { limits, ...workers, minutes: 10, random, tokens: bounded(random, 500, 0.5) };
      const outcome = await simulate({
        pace: (clock) => sharedPace({ clock }),
        ...of,
        retry: retryPolicy(random),
      });
      expect(outcome.useful).toBeGreaterThanOrEqual(0.98);
      expect(outcome.refusedPer100).toBe(0);
    },
  );

  test("PAC-4 after others have used a limit up, a service that counts what it reports is soon sent as much again", async () => {
    const { clock, pace } = await answered({ tokensPerMinute: 60_000 });
    const large = { inputTokens: 0, outputTokens: 1_000 };
    const answer = async (left: number) => {
      const entering = pace.enter(large);
      await clock.advance(2_000);
      turnOf(await entering).end({
        usage: { inputTokens: 0, outputTokens: 100 },
        rateLimit: { tokensLeft: { left, size: 60_000 } },
      });
    };
    const waitOfThree = async () => {
      const { times } = enterAll(pace, clock, 3, large);
      await clock.advance(10_000);
      return times[2] ?? Infinity;
    };
    for (let count = 0; count < 60; count++) await answer(60_000);
    const before = await waitOfThree();
    for (let count = 0; count < 20; count++) await answer(0);
    const held = await waitOfThree();
    for (let count = 0; count < 60; count++) await answer(60_000);
    expect(held).toBeGreaterThan(before + 800);
    expect(await waitOfThree()).toBeLessThan(before + 100);
  });

  test.each([
    { left: NaN, size: 1 },
    { left: 1, size: 0 },
    { left: -1, size: 10 },
    { left: 20, size: 10 },
    { left: 0, size: Infinity },
    {},
    "all",
  ])("PAC-4 what is stated to be left and cannot be changes nothing: %o", async (tokensLeft) => {
    const { clock, pace } = await answered({ tokensPerMinute: 60_000 });
    for (let count = 0; count < 10; count++) {
      const entering = pace.enter(small);
      await clock.advance(1_000);
      turnOf(await entering).end({ usage: small, rateLimit: { tokensLeft } as never });
    }
    const { times } = enterAll(pace, clock, 2, small);
    await clock.advance(1_000);
    expect(times).toEqual([0, 0]);
  });
});
