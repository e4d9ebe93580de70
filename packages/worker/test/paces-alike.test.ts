import { redisPace } from "@proviso/worker/bullmq";
import { Redis } from "ioredis";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, onTestFinished } from "vitest";
import { describePace } from "../../runtime/test/routing/pace-contract.ts";
import { noServer, startRedis, type RedisServer } from "./redis-server.ts";

/** A server's clock cannot be set. What it has stored is made older, which is the same to the pace. */
const makeOlder = `
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(name, 1, 3) == 'at:' then redis.call('HINCRBYFLOAT', KEYS[1], name, -tonumber(ARGV[1])) end
end
for _, id in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do redis.call('ZINCRBY', KEYS[2], -tonumber(ARGV[1]), id) end
return 1`;

describe.skipIf(noServer !== undefined)(`FLT-5 ${noServer ?? ""}`, { timeout: 300_000 }, () => {
  let server: RedisServer;
  let redis: Redis;
  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await server[Symbol.asyncDispose]();
  });

  describePace("in Redis", (options) => {
    const key = randomUUID();
    const pace = redisPace({ url: server.url, key, ...options });
    onTestFinished(() => pace[Symbol.asyncDispose]());
    const passed = async (ms: number): Promise<void> => {
      // One connection answers in order: after this the pace knows the outcomes that it was told.
      const entry = await pace.enter({ inputTokens: 0, outputTokens: 0 }, { expiresAt: 0 });
      if (entry.ok) entry.turn.giveBack();
      await redis.eval(makeOlder, 2, `proviso:{pace:${key}}:state`, `proviso:{pace:${key}}:flight`, ms);
    };
    return { pace, advance: passed, setBack: (ms) => passed(-ms) };
  });
});
