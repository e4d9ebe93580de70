import { memoryJournal } from "@proviso/journal";
import { bullmqQueue, serveRuns } from "@proviso/worker/bullmq";
import { Redis } from "ioredis";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { noServer, startRedis, type RedisServer } from "./redis-server.ts";
import { counting } from "./support.ts";

describe.skipIf(noServer !== undefined)(`leases that are lost ${noServer ?? ""}`, { timeout: 300_000 }, () => {
  let server: RedisServer;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server[Symbol.asyncDispose]());

  /** Works on one run, whose lease is taken away in each handler for which `isLost` says so. */
  async function worked(isLost: (number: number, times: number) => boolean) {
    const options = { url: server.url, queue: `q-${randomUUID()}`, journal: memoryJournal() };
    const redis = new Redis(server.url);
    onTestFinished(() => redis.disconnect());
    const done: number[] = [];
    const kind = counting(async (number, { signal }) => {
      done.push(number);
      if (!isLost(number, done.filter((each) => each === number).length)) return;
      const over = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      await redis.del(...(await redis.keys(`*${options.queue}*:lock`)));
      await over;
    });
    const queue = bullmqQueue(options);
    onTestFinished(() => queue[Symbol.asyncDispose]());
    const worker = await serveRuns([kind], { ...options, leaseMs: 1_500, maxAttempts: 1 });
    onTestFinished(() => worker[Symbol.asyncDispose]());
    await queue.add(kind, { name: "ada", upTo: 3 }, { id: "a" });
    return { answer: queue.result(kind, "a"), done };
  }

  test("FLT-4 a run that gains a step between two lost workers goes on, however many are lost", async () => {
    const { answer, done } = await worked((_, times) => times === 1);
    expect((await answer).text).toBe("3 for ada");
    expect(done).toEqual([1, 1, 2, 2, 3, 3]);
  });

  test("FLT-4 a run that loses its workers at the same step is given up when it was taken up again maxAttempts times", async () => {
    const { answer, done } = await worked((number) => number === 2);
    await expect(answer).rejects.toMatchObject({ message: expect.stringContaining("2 times") });
    // The first of them was lost after a step.
    expect(done).toEqual([1, 2, 2, 2]);
  });
});
