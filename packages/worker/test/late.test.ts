// A worker that is late: it has taken a job up that another one goes on with, or has ended meanwhile.
import { deadlineIn } from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { bullmqQueue, serveRuns } from "@proviso/worker/bullmq";
import { Queue } from "bullmq";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { noServer, startRedis, type RedisServer } from "./redis-server.ts";
import { counting, gate } from "./support.ts";

describe.skipIf(noServer !== undefined)(`a worker that is late ${noServer ?? ""}`, { timeout: 300_000 }, () => {
  let server: RedisServer;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server[Symbol.asyncDispose]());

  function place(journal: Journal) {
    const options = { url: server.url, queue: `q-${randomUUID()}`, journal };
    const queue = bullmqQueue(options);
    onTestFinished(() => queue[Symbol.asyncDispose]());
    return { queue, options };
  }

  test("FLT-2 a run that another worker began between the look at its record and the attempt goes on", async () => {
    const journal = memoryJournal();
    const kind = counting(() => {});
    // The other worker is gone after the first call.
    const short = counting(() => new Promise((resolve) => setTimeout(resolve, 300)));
    const begun = short.adapter.evaluate(short.prompt.bind({ name: "ada", upTo: 2 }), {
      run: journal.run("r"),
      deadline: deadlineIn(100),
    });
    await expect(begun).rejects.toMatchObject({ code: "deadline" });
    let looks = 0;
    const late: Journal = { ...journal, describe: async (id) => (looks++ === 0 ? undefined : journal.describe(id)) };
    const { queue, options } = place(journal);
    await queue.add(kind, { name: "ada", upTo: 2 }, { id: "r" });
    await using _worker = await serveRuns([kind], { ...options, journal: late });
    expect((await queue.result(kind, "r")).text).toBe("2 for ada");
    expect(await queue.counts()).toMatchObject({ executed: 1, failed: 0 });
    expect(looks).toBeGreaterThan(1);
  });

  test("FLT-2 a worker that took a job up before another one ended its run does not make the run an open one", async () => {
    const journal = memoryJournal();
    const kind = counting(() => {});
    const { queue, options } = place(journal);
    await queue.add(kind, { name: "ada", upTo: 1 }, { id: "r" });
    await using _worker = await serveRuns([kind], options);
    await queue.result(kind, "r");
    await _worker[Symbol.asyncDispose]();
    const took = gate();
    const hangs: Journal = {
      ...journal,
      // As one that is stopped here, and killed before it goes on.
      describe: () => {
        took.open();
        return new Promise(() => {});
      },
    };
    const raw = new Queue(options.queue, { connection: { url: server.url } });
    onTestFinished(() => raw.close());
    const sleeper = await serveRuns([kind], { ...options, journal: hangs });
    void sleeper;
    const data = { id: "r", params: { name: "ada", upTo: 1 }, nonce: "late", failures: 0 };
    await raw.add(kind.prompt.name, data, { jobId: "run-late" });
    await took.opened;
    expect(await queue.counts()).toMatchObject({ executed: 1 });
  });
});
