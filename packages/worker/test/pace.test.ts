import { redisPace, type RedisPaceOptions } from "@proviso/worker/bullmq";
import { Redis } from "ioredis";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Pace, PaceTurn, RateLimit } from "@proviso/core";
import { noServer, startRedis, type RedisServer } from "./redis-server.ts";
import { until } from "./support.ts";

const small = { inputTokens: 10, outputTokens: 5 };

describe.skipIf(noServer !== undefined)(`a pace in Redis ${noServer ?? ""}`, { timeout: 300_000 }, () => {
  let server: RedisServer;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server[Symbol.asyncDispose]());

  /** Two processes' paces of one key. */
  function pair(options: Omit<RedisPaceOptions, "url" | "key"> = {}) {
    const key = randomUUID();
    const made = (): Pace => {
      const pace = redisPace({ url: server.url, key, ...options });
      onTestFinished(() => pace[Symbol.asyncDispose]());
      return pace;
    };
    return [made(), made()] as const;
  }
  async function turn(pace: Pace, request = small): Promise<PaceTurn> {
    const entry = await pace.enter(request);
    if (!entry.ok) throw new Error(entry.reason);
    return entry.turn;
  }

  test("FLT-5 requests of all processes together keep one limit", async () => {
    const [a, b] = pair({ requestsPerMinute: 1_200 });
    const begun = performance.now();
    await Promise.all(Array.from({ length: 24 }, async (_, n) => (await turn(n % 2 === 0 ? a : b)).end()));
    // 20 a second, of which 995 in 1,000 are used, and the first three at once.
    expect(performance.now() - begun).toBeGreaterThan(950);
    expect(a.state()).toMatchObject({ queued: 0, inFlight: 0, requestsPerMinute: 1_200, share: 0.995 });
  });

  test("FLT-5 tokens count as estimated, and are put right by what was spent", async () => {
    const [a, b] = pair({ tokensPerMinute: 60_000 });
    const first = await turn(a, { inputTokens: 2_000, outputTokens: 2_000 });
    expect(await b.enter(small, { expiresAt: Date.now() + 500 })).toMatchObject({ ok: false, reason: "deadline" });
    first.end({ usage: { inputTokens: 100, outputTokens: 100 } });
    await until(async () => (await b.enter(small, { expiresAt: Date.now() })).ok);
  });

  test("FLT-5 PAC-4 where little is left of a limit, the longest answers count for all", async () => {
    const [a, b] = pair({ tokensPerMinute: 60_000 });
    const usage = { inputTokens: 0, outputTokens: 1 };
    const isHeldUp = async (rateLimit: RateLimit): Promise<boolean> => {
      for (let count = 0; count < 5; count++) {
        (await turn(a, { inputTokens: 0, outputTokens: 20 })).end({ usage, rateLimit });
      }
      (await turn(a, { inputTokens: 0, outputTokens: 3_000 })).end({ usage, rateLimit });
      await until(() => a.state().inFlight === 0);
      await new Promise((resolve) => setTimeout(resolve, 300));
      const entry = await b.enter(small, { expiresAt: Date.now() + 1_000 });
      if (entry.ok) entry.turn.giveBack();
      return !entry.ok;
    };
    expect(await isHeldUp({})).toBe(false);
    expect(await isHeldUp({ tokensLeft: { left: 0, size: 60_000 } })).toBe(true);
  });

  test("FLT-5 the place of a request whose process is gone is free after ten minutes", async () => {
    const key = randomUUID();
    await using pace = redisPace({ url: server.url, key, maxInFlight: 1 });
    const gone = await turn(pace);
    const redis = new Redis(server.url);
    onTestFinished(() => redis.disconnect());
    const [places = ""] = await redis.keys(`*${key}*`).then(async (keys) => {
      const kinds = await Promise.all(keys.map((each) => redis.type(each)));
      return keys.filter((_, n) => kinds[n] === "zset");
    });
    const [seconds = "0"] = await redis.time();
    const [id = "", until = "0"] = await redis.zrange(places, "0", "-1", "WITHSCORES");
    expect(Math.abs(Number(until) - Number(seconds) * 1_000 - 600_000)).toBeLessThan(10_000);
    expect((await pace.enter(small, { expiresAt: Date.now() })).ok).toBe(false);
    // As if ten minutes had passed.
    await redis.zadd(places, Number(seconds) * 1_000 - 1, id);
    expect((await pace.enter(small, { expiresAt: Date.now() + 10_000 })).ok).toBe(true);
    gone.end();
  });

  test("FLT-5 no more requests are in flight than may be, and one given back counts for nothing", async () => {
    const [a, b] = pair({ maxInFlight: 2 });
    const turns = [await turn(a), await turn(b)];
    let isIn = false;
    const third = turn(a).then((given) => {
      isIn = true;
      return given;
    });
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(isIn).toBe(false);
    turns[0]?.giveBack();
    (await third).end();
    turns[1]?.end();
  });

  test("FLT-5 a refusal stops all, for as long as the service asks", async () => {
    const [a, b] = pair({ requestsPerMinute: 60_000 });
    (await turn(a)).end({ refused: { retryAfterMs: 3_000 } });
    await until(async () => !(await b.enter(small, { expiresAt: Date.now() + 50 })).ok);
    const begun = performance.now();
    const { queuedMs } = await turn(b);
    expect(performance.now() - begun).toBeGreaterThan(300);
    expect(queuedMs).toBeGreaterThan(300);
    expect(b.state().share).toBeLessThan(0.9);
  });

  test("FLT-5 limits that the service states hold for all", async () => {
    const [a, b] = pair();
    expect(b.state()).toEqual({
      queued: 0,
      inFlight: 0,
      requestsPerMinute: undefined,
      tokensPerMinute: undefined,
      share: 0.995,
    });
    (await turn(a)).end({ rateLimit: { requests: 300, tokens: 90_000 } });
    await until(async () => {
      const entry = await b.enter(small);
      if (entry.ok) entry.turn.giveBack();
      return b.state().requestsPerMinute === 300;
    });
    expect(b.state().tokensPerMinute).toBe(90_000);
  });

  test("FLT-5 a request that leaves the line keeps none behind it", async () => {
    const [a] = pair({ maxInFlight: 1 });
    const first = await turn(a);
    const leaving = new AbortController();
    const left = a.enter(small, { signal: leaving.signal });
    const next = turn(a);
    leaving.abort(new Error("I left."));
    await expect(left).rejects.toThrow("I left.");
    first.end();
    (await next).end();
    await expect(a.enter(small, { signal: leaving.signal })).rejects.toThrow("I left.");
    expect(a.state()).toMatchObject({ queued: 0, inFlight: 0 });
  });

  test("FLT-5 without Redis a request waits until its deadline", async () => {
    const away = redisPace({ url: "redis://127.0.0.1:1", key: "k" });
    const entry = await away.enter(small, { expiresAt: Date.now() + 1_000 });
    expect(entry).toMatchObject({ ok: false, reason: "deadline" });
    await away[Symbol.asyncDispose]();
    expect(() => redisPace({ url: server.url, key: "" })).toThrow("key");
    expect(() => redisPace({ url: server.url, key: "k", maxInFlight: 0 })).toThrow("maxInFlight");
  });

  test("FLT-5 while Redis hangs a request waits until its deadline or its signal, and takes no place afterwards", async () => {
    const own = await startRedis();
    onTestFinished(() => own[Symbol.asyncDispose]());
    await using pace = redisPace({ url: own.url, key: "k", maxInFlight: 1 });
    (await turn(pace)).giveBack();
    await until(() => pace.state().inFlight === 0);
    own.signal("SIGSTOP");
    const leaving = new AbortController();
    const leaves = pace.enter(small, { signal: leaving.signal });
    setTimeout(() => leaving.abort(new Error("I left.")), 100);
    await expect(leaves).rejects.toThrow("I left.");
    expect(await pace.enter(small, { expiresAt: Date.now() + 100 })).toMatchObject({ ok: false, reason: "deadline" });
    expect(pace.state()).toMatchObject({ queued: 0, inFlight: 0 });
    own.signal("SIGCONT");
    expect((await pace.enter(small, { expiresAt: Date.now() + 10_000 })).ok).toBe(true);
  });

  test("FLT-5 a request that waits for Redis is refused when its pace is disposed", async () => {
    const own = await startRedis();
    onTestFinished(() => own[Symbol.asyncDispose]());
    const pace = redisPace({ url: own.url, key: "k" });
    (await turn(pace)).end();
    await own.kill();
    const waits = pace.enter(small);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await pace[Symbol.asyncDispose]();
    await expect(waits).rejects.toMatchObject({ code: "queue", reason: "unreachable" });
  });
});
