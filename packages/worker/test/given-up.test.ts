// A run that was given up while its journal has it as open: its deadline passed between two attempts.
import { deadlineIn } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { QueueError } from "@proviso/worker";
import { bullmqQueue, serveRuns } from "@proviso/worker/bullmq";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { noServer, startRedis, type RedisServer } from "./redis-server.ts";
import { counting, gate } from "./support.ts";

describe.skipIf(noServer !== undefined)(`a run that was given up ${noServer ?? ""}`, { timeout: 60_000 }, () => {
  let server: RedisServer;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server[Symbol.asyncDispose]());

  test("FLT-4 the result says why, and is waited for when the run is added again", async () => {
    const journal = memoryJournal();
    const options = { url: server.url, queue: `q-${randomUUID()}`, journal };
    const queue = bullmqQueue(options);
    onTestFinished(() => queue[Symbol.asyncDispose]());
    const [begun, goesOn] = [gate(), gate()];
    let isDeployed = false;
    const kind = counting(async (_number, { signal }) => {
      begun.open();
      if (isDeployed) return goesOn.opened;
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    });
    const params = { name: "ada", upTo: 2 };
    const deadline = deadlineIn(1_500);
    await queue.add(kind, params, { id: "r", deadline });
    const first = await serveRuns([kind], options);
    await begun.opened;
    await first[Symbol.asyncDispose]();
    await new Promise((resolve) => setTimeout(resolve, deadline.expiresAt.getTime() - Date.now() + 20));
    isDeployed = true;
    await using _second = await serveRuns([kind], options);
    const given = await queue.result(kind, "r").catch((error: unknown) => error);
    expect(given).toBeInstanceOf(QueueError);
    expect(given).toMatchObject({ reason: "failed", run: "r" });
    expect((given as Error).message).toMatch(/given up.*: .*deadline.* has passed\.$/u);
    expect((await journal.describe("r"))?.state).toBe("failed");
    expect(await queue.counts()).toMatchObject({ failed: 1 });

    // The job of the attempt that failed is gone a moment after its result is known.
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await queue.add(kind, params, { id: "r", deadline: deadlineIn(30_000) })).toBe("known");
    const result = queue.result(kind, "r");
    let isSettled = false;
    void result.then(
      () => (isSettled = true),
      () => (isSettled = true),
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(isSettled).toBe(false);
    expect(await queue.counts()).toMatchObject({ running: 1, failed: 0 });
    goesOn.open();
    expect((await result).text).toBe("2 for ada");
    expect(await queue.counts()).toMatchObject({ executed: 1, failed: 0 });
  });

  test("FLT-4 of a run whose deadline passed before it began the result says so, in one sentence", async () => {
    const options = { url: server.url, queue: `q-${randomUUID()}`, journal: memoryJournal() };
    const queue = bullmqQueue(options);
    onTestFinished(() => queue[Symbol.asyncDispose]());
    const kind = counting(() => {});
    await queue.add(kind, { name: "ada", upTo: 1 }, { id: "late", deadline: deadlineIn(0) });
    await using _worker = await serveRuns([kind], options);
    await expect(queue.result(kind, "late")).rejects.toThrow(/failed before it began: .*has passed\.$/u);
  });
});
