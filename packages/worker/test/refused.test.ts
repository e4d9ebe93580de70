// Redis refuses writes for a moment, for want of memory say: what a worker had to note then is noted later, and no run is lost.
import { allow, definePolicy, suspend, type ModelProvider } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { defineRun, type RunKind, type WorkerOptions } from "@proviso/worker";
import { bullmqQueue, serveRuns } from "@proviso/worker/bullmq";
import { Job, Queue } from "bullmq";
import { Redis } from "ioredis";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { noServer, startRedis, type RedisServer } from "./redis-server.ts";
import { counting, gate, until } from "./support.ts";

const params = { name: "ada", upTo: 1 };

describe.skipIf(noServer !== undefined)(`a Redis that refuses writes ${noServer ?? ""}`, { timeout: 60_000 }, () => {
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

  const fill = () => redis.config("SET", "maxmemory", "1");
  const free = () => redis.config("SET", "maxmemory", "0");

  async function served(kind: RunKind<never, unknown>, more: WorkerOptions = {}) {
    onTestFinished(async () => void (await free()));
    const options = { url: server.url, queue: `q-${randomUUID()}`, journal: memoryJournal() };
    const queue = bullmqQueue(options);
    onTestFinished(() => queue[Symbol.asyncDispose]());
    const worker = await serveRuns([kind], { ...options, leaseMs: 2_000, ...more });
    onTestFinished(() => worker[Symbol.asyncDispose]());
    return { queue, worker, options };
  }

  /** Answers by the script, and calls `onRequest` before each answer. */
  function asking(steps: readonly ScriptedStep[], onRequest: () => unknown): ModelProvider {
    const model = scriptedModel(steps);
    return {
      name: model.name,
      model: model.model,
      capabilities: model.capabilities,
      async generate(request) {
        await onRequest();
        return model.generate(request);
      },
    };
  }

  test("FLT-4 a run that is to be tried again while Redis refuses writes is tried again", async () => {
    const refused = { failure: "throttle", kind: "network", message: "The line is cut." } as const;
    let requests = 0;
    const model = asking([refused, { text: "Hello." }], () => (requests++ === 0 ? fill() : undefined));
    const { prompt } = counting(() => {});
    const kind = defineRun({ prompt, adapter: modelAdapter(model, { throttle: { maxAttempts: 1 } }) });
    const { queue } = await served(kind);
    await queue.add(kind, params, { id: "r" });
    const result = queue.result(kind, "r");
    await until(() => requests === 1);
    // Its worker notes what it came to while all writes are refused.
    await new Promise((resolve) => setTimeout(resolve, 300));
    await free();
    expect((await result).text).toBe("Hello.");
    await until(async () => (await queue.counts()).running === 0);
    expect(await queue.counts()).toMatchObject({ executed: 1, failed: 0, waiting: 0 });
  });

  test("FLT-4 a run that has ended while Redis refuses writes is counted", async () => {
    const kind = counting(() => fill());
    const { queue, options } = await served(kind);
    await queue.add(kind, params, { id: "r" });
    const result = queue.result(kind, "r");
    await until(async () => (await options.journal.describe("r"))?.state === "executed");
    await new Promise((resolve) => setTimeout(resolve, 300));
    await free();
    expect((await result).text).toBe("1 for ada");
    await until(async () => (await queue.counts()).running === 0);
    expect(await queue.counts()).toMatchObject({ executed: 1, failed: 0, waiting: 0 });
  });

  test("FLT-4 a run that waits for a decision while Redis refuses writes is put aside, and decided", async () => {
    const asked = gate();
    const tokens: string[] = [];
    const policies = [definePolicy({ name: "chief", check: () => suspend("May it?") })];
    const kind = counting(
      () => {},
      () => ({ policies }),
    );
    const { queue } = await served(kind, {
      async onSuspended({ pending }) {
        tokens.push(pending.token);
        await fill();
        asked.open();
      },
    });
    await queue.add(kind, params, { id: "r" });
    const result = queue.result(kind, "r");
    await asked.opened;
    await new Promise((resolve) => setTimeout(resolve, 300));
    await free();
    await until(async () => (await queue.counts()).suspended === 1);
    await queue.resolve(tokens[0] ?? "", allow());
    expect((await result).text).toBe("1 for ada");
    expect(tokens).toHaveLength(1);
  });

  test("FLT-4 a run is not lost where Redis refuses to note, as it is taken up, that its worker was lost", async () => {
    const done: number[] = [];
    const kind = counting(async (number, { signal }) => {
      done.push(number);
      if (done.length > 2 || number !== 2) return;
      await redis.del(...(await redis.keys(`*${options.queue}*:lock`)));
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    const failing = vi.spyOn(Job.prototype, "updateData").mockRejectedValueOnce(new Error("OOM command not allowed"));
    onTestFinished(() => failing.mockRestore());
    const { queue, options } = await served(kind, { leaseMs: 300 });
    await queue.add(kind, { name: "ada", upTo: 2 }, { id: "r" });
    expect((await queue.result(kind, "r")).text).toBe("2 for ada");
    expect(done).toEqual([1, 2, 2]);
    expect(failing.mock.calls.length).toBeGreaterThan(1);
  });

  test("FLT-1 the add after one that Redis refused is the first", async () => {
    const kind = counting(() => {});
    const { queue } = await served(kind);
    await queue.counts();
    const failing = vi.spyOn(Queue.prototype, "add").mockRejectedValueOnce(new Error("OOM command not allowed"));
    onTestFinished(() => failing.mockRestore());
    await expect(queue.add(kind, params, { id: "r" })).rejects.toThrow("OOM");
    expect([await queue.add(kind, params, { id: "r" }), await queue.add(kind, params, { id: "r" })]).toEqual([
      "added",
      "known",
    ]);
  });
});
