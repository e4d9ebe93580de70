// Redis loses the queue: by FLUSHALL, or by a restart of a server that keeps nothing on disk.
import { allow, definePolicy, suspend } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { defineRun, type RunKind, type WorkerOptions } from "@proviso/worker";
import { serveRuns } from "@proviso/worker/bullmq";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ownQueue } from "./own-queue.ts";
import { noServer, type RedisServer } from "./redis-server.ts";
import { counting, gate, until } from "./support.ts";

const params = { name: "ada", upTo: 2 };

describe.skipIf(noServer !== undefined)(`a queue that Redis loses ${noServer ?? ""}`, { timeout: 60_000 }, () => {
  async function place() {
    const { server, options, queue, raw } = await ownQueue();
    const serve = async (kinds: readonly RunKind<never, unknown>[], more: WorkerOptions = {}) => {
      const worker = await serveRuns(kinds, { ...options, leaseMs: 1_000, ...more });
      onTestFinished(() => worker[Symbol.asyncDispose]());
      return worker;
    };
    const isPutBack = async (): Promise<boolean> => (await raw.getDelayedCount()) === 1;
    /** When the one job that is delayed is due, as Redis orders it. */
    const dueAt = async (): Promise<number> => {
      const redis = new Redis(server.url);
      const [, score] = await redis.zrange(raw.toKey("delayed"), "0", "0", "WITHSCORES");
      redis.disconnect();
      return Number(score ?? 0);
    };
    const isListening = async (channel: string): Promise<void> => {
      const redis = new Redis(server.url);
      await until(async () => (await redis.pubsub("CHANNELS", `*${options.queue}*${channel}`)).length === 1);
      redis.disconnect();
    };
    return { server, options, queue, raw, serve, isPutBack, dueAt, isListening };
  }

  async function flush(server: RedisServer): Promise<void> {
    const redis = new Redis(server.url);
    await redis.flushall();
    redis.disconnect();
  }

  /** Waits in its first call until it is let go on, and counts its calls and those that were aborted. */
  function waiting() {
    const [begun, goesOn] = [gate(), gate()];
    const done: number[] = [];
    let aborted = 0;
    const kind = counting(async (number, { signal }) => {
      done.push(number);
      begun.open();
      if (done.length > 1) return;
      const isAborted = new Promise<void>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
      await Promise.race([goesOn.opened, isAborted]).catch((error: unknown) => {
        aborted++;
        throw error;
      });
    });
    return { kind, begun, goesOn, done, aborted: () => aborted };
  }

  test.each<readonly [how: string, lose: (server: RedisServer) => Promise<void>]>([
    ["FLUSHALL", flush],
    ["a restart without its data", (server) => server.kill().then(() => server.start())],
  ])("FLT-1 a run that a worker has in hand goes on after %s, and has its answer", async (_, lose) => {
    const { server, queue, serve, isPutBack, dueAt, isListening } = await place();
    const { kind, begun, goesOn, done, aborted } = waiting();
    await serve([kind], { leaseMs: 3_000 });
    await queue.add(kind, params, { id: "r" });
    const result = queue.result(kind, "r");
    await Promise.all([begun.opened, isListening("ended")]);
    await lose(server);
    await until(isPutBack);
    // It is in the queue again, and cannot be added twice.
    expect(await queue.add(kind, params, { id: "r" })).toBe("known");
    expect(await queue.counts()).toMatchObject({ waiting: 1, running: 0 });
    // For as long as its worker lives it is not due.
    const before = await dueAt();
    await until(async () => (await dueAt()) > before);
    goesOn.open();
    const { text, run } = await result;
    expect([text, run?.attempt, done, aborted()]).toEqual(["2 for ada", 1, [1, 2], 0]);
    await until(async () => (await queue.counts()).waiting === 0);
    expect(await queue.counts()).toMatchObject({ executed: 1, failed: 0, waiting: 0, running: 0 });
  });

  test("FLT-1 FLT-6 a run that Redis lost is handed back by a worker that is disposed", async () => {
    const { server, queue, serve, isPutBack } = await place();
    const { kind, begun, done } = waiting();
    const worker = await serve([kind]);
    await queue.add(kind, params, { id: "r" });
    await begun.opened;
    await flush(server);
    await until(isPutBack);
    await worker[Symbol.asyncDispose]();
    expect(await queue.counts()).toMatchObject({ waiting: 1, running: 0 });
    expect(await isPutBack()).toBe(false);
    await serve([kind]);
    expect((await queue.result(kind, "r")).text).toBe("2 for ada");
    expect(done).toEqual([1, 1, 2]);
  });

  test("FLT-1 FLT-6 it is handed back also where its worker has not noticed the loss yet", async () => {
    const { server, queue, serve, raw } = await place();
    const { kind, begun } = waiting();
    const worker = await serve([kind], { leaseMs: 30_000 });
    await queue.add(kind, params, { id: "r" });
    await begun.opened;
    await flush(server);
    await worker[Symbol.asyncDispose]();
    expect(await raw.getJobCounts("prioritized", "delayed")).toEqual({ prioritized: 1, delayed: 0 });
  });

  test("FLT-1 FLT-4 a run that Redis lost is tried again after a failure that may pass", async () => {
    const { server, queue, serve, raw } = await place();
    const refused = { failure: "throttle", kind: "network", message: "The line is cut." } as const;
    const model = scriptedModel([refused, { text: "Hello." }]);
    const { prompt } = counting(() => {});
    const asked = gate();
    const kind = defineRun({
      prompt,
      adapter: modelAdapter(
        {
          name: model.name,
          model: model.model,
          capabilities: model.capabilities,
          async generate(request) {
            await flush(server);
            asked.open();
            return model.generate(request);
          },
        },
        { throttle: { maxAttempts: 1 } },
      ),
    });
    await serve([kind]);
    await queue.add(kind, params, { id: "r" });
    await asked.opened;
    await until(async () => (await raw.getDelayed())[0]?.data.failures === 1);
    expect((await queue.result(kind, "r")).text).toBe("Hello.");
  });

  test("FLT-1 FLT-4 a run that Redis lost is put aside for its decision", async () => {
    const { server, queue, serve, isPutBack } = await place();
    const policies = [definePolicy({ name: "chief", check: () => suspend("May it?") })];
    const kind = counting(
      () => {},
      () => ({ policies }),
    );
    const tokens: string[] = [];
    await serve([kind], {
      async onSuspended({ pending }) {
        tokens.push(pending.token);
        if (tokens.length === 1) await flush(server);
      },
    });
    await queue.add(kind, { name: "ada", upTo: 1 }, { id: "r" });
    await until(isPutBack);
    expect(await queue.counts()).toMatchObject({ suspended: 1, waiting: 0 });
    await queue.resolve(tokens[0] ?? "", allow());
    expect((await queue.result(kind, "r")).text).toBe("1 for ada");
    expect(tokens).toHaveLength(1);
  });

  test.each(["ends", "is disposed"])(
    "FLT-1 FLT-6 a run that is added again at once is gone on with, and its worker %s",
    async (then) => {
      const { server, queue, serve } = await place();
      const { kind, begun, goesOn, done, aborted } = waiting();
      const worker = await serve([kind], { leaseMs: 30_000 });
      await queue.add(kind, params, { id: "r" });
      await begun.opened;
      await flush(server);
      await queue.add(kind, params, { id: "r" });
      await until(async () => (await queue.counts()).running === 1);
      if (then === "is disposed") {
        await worker[Symbol.asyncDispose]();
        expect(aborted()).toBe(1);
        expect(await queue.counts()).toMatchObject({ waiting: 1, running: 0 });
        await serve([kind]);
      } else {
        goesOn.open();
      }
      const { text, run } = await queue.result(kind, "r");
      expect(text).toBe("2 for ada");
      expect([run?.attempt, done]).toEqual(then === "ends" ? [1, [1, 2]] : [2, [1, 1, 2]]);
      await until(async () => (await queue.counts()).running === 0);
      expect(await queue.counts()).toMatchObject({ executed: 1, failed: 0, waiting: 0 });
    },
  );

  test("FLT-1 the result of a run that Redis lost, and that no worker has, says that it is to be added again", async () => {
    const { server, queue, serve, options } = await place();
    const policies = [definePolicy({ name: "chief", check: () => suspend("May it?") })];
    const kind = counting(
      () => {},
      () => ({ policies }),
    );
    await serve([kind]);
    await queue.add(kind, params, { id: "r" });
    await until(async () => (await queue.counts()).suspended === 1);
    await flush(server);
    const result = queue.result(kind, "r");
    let isSettled = false;
    void result.catch(() => (isSettled = true));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(isSettled).toBe(false);
    const now = Date.now();
    vi.spyOn(Date, "now").mockImplementation(() => now + 60_000);
    onTestFinished(() => void vi.restoreAllMocks());
    await expect(result).rejects.toMatchObject({
      code: "queue",
      reason: "unknown",
      run: "r",
      message: /add it again/u,
    });
    expect((await options.journal.describe("r"))?.state).toBe("suspended");
  });

  test("FLT-1 the signals of result and progress end them while Redis hangs", async () => {
    const { server, queue, serve } = await place();
    const kind = counting(() => new Promise(() => {}));
    await serve([kind]);
    await queue.add(kind, params, { id: "r" });
    server.signal("SIGSTOP");
    onTestFinished(() => server.signal("SIGCONT"));
    const leaving = new AbortController();
    const result = queue.result(kind, "r", { signal: leaving.signal });
    const progress = queue.progress({ signal: leaving.signal })[Symbol.asyncIterator]().next();
    await new Promise((resolve) => setTimeout(resolve, 100));
    leaving.abort(new Error("I left."));
    await expect(result).rejects.toThrow("I left.");
    expect(await progress).toEqual({ done: true, value: undefined });
  });
});
