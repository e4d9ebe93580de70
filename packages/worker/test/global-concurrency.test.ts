// What all workers keep to together is kept in Redis, which may lose it.
import { serveRuns } from "@proviso/worker/bullmq";
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { ownQueue } from "./own-queue.ts";
import { noServer } from "./redis-server.ts";
import { counting, until } from "./support.ts";

describe.skipIf(noServer !== undefined)(`a number that Redis loses ${noServer ?? ""}`, { timeout: 60_000 }, () => {
  async function served() {
    const { server, options, queue, raw } = await ownQueue();
    let [now, most] = [0, 0];
    const kind = counting(async () => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 50));
      now--;
    });
    const worker = await serveRuns([kind], { ...options, globalConcurrency: 1 });
    onTestFinished(() => worker[Symbol.asyncDispose]());
    const mostAtOnce = async (): Promise<number> => {
      const ids = Array.from({ length: 4 }, () => randomUUID());
      for (const id of ids) await queue.add(kind, { name: id, upTo: 1 }, { id });
      for (const id of ids) await queue.result(kind, id);
      return most;
    };
    return { server, raw, mostAtOnce };
  }

  test("FLT-5 globalConcurrency holds after Redis was restarted without its data", async () => {
    const { server, raw, mostAtOnce } = await served();
    expect(await mostAtOnce()).toBe(1);
    await server.kill();
    await server.start();
    await until(async () => (await raw.getGlobalConcurrency()) === 1);
    expect(await mostAtOnce()).toBe(1);
  });

  test("FLT-5 globalConcurrency holds again within seconds after FLUSHALL, and another number stays", async () => {
    const { raw, mostAtOnce } = await served();
    await raw.removeGlobalConcurrency();
    await until(async () => (await raw.getGlobalConcurrency()) === 1);
    expect(await mostAtOnce()).toBe(1);
    await raw.setGlobalConcurrency(2);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(await raw.getGlobalConcurrency()).toBe(2);
  });
});
