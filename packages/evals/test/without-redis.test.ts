// Runs that hand attempts out, and workers that make them, while Redis is away or hangs.
import { defineEval, runEval, type AttemptJob } from "@proviso/evals";
import { redisWorkers, serveAttempts } from "@proviso/evals/bullmq";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { noServer, startRedis, type RedisServer } from "../../worker/test/redis-server.ts";
import { mails, triage, wordList, type Mail } from "./support.ts";

const spam = defineEval({
  name: "spam",
  data: mails(4),
  prompt: ({ text }: Mail) => triage.bind({ text }),
  adapter: wordList(["Win"]),
  scorers: { right: ({ row, output }) => output.label === row.label },
});

describe.skipIf(noServer !== undefined)(`attempts without Redis ${noServer ?? ""}`, { timeout: 120_000 }, () => {
  async function ownRedis(): Promise<RedisServer> {
    const server = await startRedis();
    onTestFinished(() => server[Symbol.asyncDispose]());
    return server;
  }

  test.each(["is away", "hangs"])(
    "EVL-53 a run and a worker that end while Redis %s keep no process alive",
    async (how) => {
      const server = await ownRedis();
      const program = [...fromSources, join(import.meta.dirname, "processes", "without-redis.ts"), server.url, "q"];
      const child = spawn(process.execPath, program, { stdio: ["pipe", "pipe", "inherit"] });
      onTestFinished(() => void child.kill("SIGKILL"));
      let lines = "";
      child.stdout.on("data", (data: Buffer) => (lines += data.toString()));
      const ended = once(child, "close");
      await expect.poll(() => lines, { timeout: 60_000 }).toBe("ready\n");
      if (how === "hangs") server.signal("SIGSTOP");
      else await server.kill();
      // Its connections wait to connect again.
      await new Promise((resolve) => setTimeout(resolve, 300));
      child.stdin.write("now\n");
      await expect.poll(() => lines, { timeout: 60_000 }).toBe("ready\nended\n");
      expect(await ended).toEqual([0, null]);
      if (how === "hangs") server.signal("SIGCONT");
    },
  );

  test("EVL-53 an abort ends a run and a worker that begin while Redis hangs, and without one they say so", async () => {
    const server = await ownRedis();
    server.signal("SIGSTOP");
    const [options, ending] = [{ url: server.url, queue: "q" }, new AbortController()];
    const both = (signal?: AbortSignal) => [
      serveAttempts([spam], { ...options, signal }).catch((error: Error) => error.message),
      runEval(spam, { workers: redisWorkers(options), signal }).then(({ ended }) => ended),
    ];
    const aborted = both(ending.signal);
    const waiting = both();
    ending.abort();
    expect(await Promise.all(aborted)).toMatchObject([undefined, { why: "aborted" }]);
    const message = expect.stringContaining(`No Redis answers at ${new URL(server.url).host}`);
    expect(await Promise.all(waiting)).toMatchObject([message, { why: "systemic", message }]);
    server.signal("SIGCONT");
  });

  test("EVL-53 what could not be opened while Redis was away is opened with the next attempt", async () => {
    const server = await ownRedis();
    await server.kill();
    const options = { url: server.url, queue: "q" };
    const workers = redisWorkers(options);
    onTestFinished(() => workers.close());
    const jobs: AttemptJob[] = [];
    const first = {
      run: async (job: AttemptJob, signal: AbortSignal) => {
        jobs.push(job);
        return workers.run(job, signal);
      },
      close: async () => {},
    };
    const message = expect.stringContaining("No Redis answers at");
    expect((await runEval(spam, { workers: first, concurrency: 1 })).ended).toEqual({ why: "systemic", message });
    await server.start();
    const ending = new AbortController();
    const serving = serveAttempts([spam], { ...options, signal: ending.signal });
    expect(await workers.run(jobs[0] as AttemptJob, ending.signal)).toMatchObject({ status: "answered" });
    ending.abort();
    await serving;
  });
});
