// Redis hangs for longer than a lease, and goes on.
import { memoryJournal } from "@proviso/journal";
import { bullmqQueue, serveRuns } from "@proviso/worker/bullmq";
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { noServer, startRedis } from "./redis-server.ts";
import { counting, until } from "./support.ts";

describe.skipIf(noServer !== undefined)(`a Redis that hangs ${noServer ?? ""}`, { timeout: 60_000 }, () => {
  test("FLT-2 each run ends once, and goes on where it was", async () => {
    const server = await startRedis();
    onTestFinished(() => server[Symbol.asyncDispose]());
    const options = { url: server.url, queue: `q-${randomUUID()}`, journal: memoryJournal() };
    await using queue = bullmqQueue(options);
    const done: string[] = [];
    const kind = counting(async (number, _, name) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      done.push(`${name} ${number}`);
    });
    const leaseMs = 600;
    await using _first = await serveRuns([kind], { ...options, leaseMs, concurrency: 2 });
    await using _second = await serveRuns([kind], { ...options, leaseMs, concurrency: 2 });
    const names = ["ada", "bob", "cid", "dan", "eve", "fay"];
    for (const name of names) await queue.add(kind, { name, upTo: 12 }, { id: name });
    const results = names.map((name) => queue.result(kind, name));
    await until(() => done.length > 8);
    server.signal("SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, 3 * leaseMs));
    server.signal("SIGCONT");
    expect((await Promise.all(results)).map(({ text }) => text)).toEqual(names.map((name) => `12 for ${name}`));
    await until(async () => (await queue.counts()).running === 0);
    expect(await queue.counts()).toMatchObject({ executed: 6, failed: 0, cancelled: 0, waiting: 0 });
    // A call whose end was kept is not made again.
    for (const name of names) {
      const steps = (await options.journal.describe(name))?.steps;
      expect([steps, new Set(done.filter((line) => line.startsWith(name))).size]).toEqual([25, 12]);
    }
  });
});
