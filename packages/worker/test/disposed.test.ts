// Workers and queues that are disposed while Redis is away, or hangs.
import { memoryJournal } from "@proviso/journal";
import { bullmqQueue, serveRuns } from "@proviso/worker/bullmq";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { noServer, startRedis } from "./redis-server.ts";
import { counting, gate, until } from "./support.ts";

const params = { name: "ada", upTo: 1 };
/** FLT-6 says 7 seconds: what hangs is late by more than a busy machine makes it. */
const boundMs = 25_000;

describe.skipIf(noServer !== undefined)(`disposing without Redis ${noServer ?? ""}`, { timeout: 120_000 }, () => {
  async function place() {
    const server = await startRedis();
    onTestFinished(() => server[Symbol.asyncDispose]());
    return { server, options: { url: server.url, queue: `q-${randomUUID()}`, journal: memoryJournal() } };
  }

  /** A worker that has a run in hand, if it is busy, and the queue that it came from. */
  async function working(isBusy: boolean) {
    const { server, options } = await place();
    const begun = gate();
    const kind = counting((_, { signal, attempt }) => {
      begun.open();
      if (attempt > 1) return undefined;
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    });
    const queue = bullmqQueue(options);
    const worker = await serveRuns([kind], { ...options, leaseMs: 2_000 });
    if (isBusy) {
      await queue.add(kind, params, { id: "r" });
      await begun.opened;
    } else {
      await queue.counts();
    }
    return { server, options, kind, queue, worker };
  }

  async function millisecondsOf(work: readonly PromiseLike<unknown>[]): Promise<number> {
    const begun = performance.now();
    await Promise.all(work);
    return performance.now() - begun;
  }

  test.each([
    ["an idle worker", false],
    ["a busy worker", true],
  ])("FLT-6 %s and its queue are disposed at once while Redis is away", async (_, isBusy) => {
    const { server, queue, worker } = await working(isBusy);
    await server.kill();
    // Its connections wait to connect again.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const took = await millisecondsOf([worker[Symbol.asyncDispose](), queue[Symbol.asyncDispose]()]);
    expect(took).toBeLessThan(boundMs);
  });

  test("FLT-6 a worker and its queue are disposed while Redis hangs, and another one goes on with the run", async () => {
    const { server, options, kind, queue, worker } = await working(true);
    server.signal("SIGSTOP");
    const took = await millisecondsOf([worker[Symbol.asyncDispose](), queue[Symbol.asyncDispose]()]);
    expect(took).toBeLessThan(boundMs);
    server.signal("SIGCONT");
    await using again = bullmqQueue(options);
    await using _other = await serveRuns([kind], { ...options, leaseMs: 2_000 });
    expect((await again.result(kind, "r")).text).toBe("1 for ada");
    await until(async () => (await again.counts()).running === 0);
    expect(await again.counts()).toMatchObject({ executed: 1, failed: 0, waiting: 0 });
  });

  test("FLT-6 a worker is disposed whose journal hangs", async () => {
    const { options } = await place();
    const asked = gate();
    const journal = {
      ...options.journal,
      describe: () => {
        asked.open();
        return new Promise<never>(() => {});
      },
    };
    const kind = counting(() => {});
    const queue = bullmqQueue(options);
    await queue.add(kind, params, { id: "r" });
    const worker = await serveRuns([kind], { ...options, journal });
    await asked.opened;
    expect(await millisecondsOf([worker[Symbol.asyncDispose](), queue[Symbol.asyncDispose]()])).toBeLessThan(boundMs);
  });

  test.each(["is away", "hangs"])(
    "FLT-6 nothing keeps a process alive that was disposed while Redis %s",
    async (how) => {
      const { server, options } = await place();
      const program = [
        ...fromSources,
        join(import.meta.dirname, "processes", "disposes.ts"),
        options.url,
        options.queue,
      ];
      const child = spawn(process.execPath, program, { stdio: ["pipe", "pipe", "inherit"] });
      onTestFinished(() => void child.kill("SIGKILL"));
      let lines = "";
      child.stdout.on("data", (data: Buffer) => (lines += data.toString()));
      const closed = once(child, "close");
      await until(() => lines.includes("ready"));
      if (how === "hangs") server.signal("SIGSTOP");
      else await server.kill();
      await new Promise((resolve) => setTimeout(resolve, 300));
      child.stdin.write("now\n");
      await until(() => lines.includes("disposed"));
      const disposed = performance.now();
      expect(await closed).toEqual([0, null]);
      expect(performance.now() - disposed).toBeLessThan(boundMs);
      if (how === "hangs") server.signal("SIGCONT");
    },
  );

  test("FLT-1 what a disposed queue was asked while Redis was away is refused", async () => {
    const { server, kind, queue, worker } = await working(false);
    await server.kill();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const added = queue.add(kind, params, { id: "r" }).then(
      () => "added",
      () => "refused",
    );
    await Promise.all([worker[Symbol.asyncDispose](), queue[Symbol.asyncDispose]()]);
    expect(await added).toBe("refused");
  });
});
