import { sqliteJournal } from "@proviso/journal/node";
import { bullmqQueue } from "@proviso/worker/bullmq";
import { Redis } from "ioredis";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { noServer, startRedis } from "./redis-server.ts";
import { counting, until } from "./support.ts";

const program = [...fromSources, join(import.meta.dirname, "processes", "worker.ts")];

describe.skipIf(noServer !== undefined)(`workers that are lost ${noServer ?? ""}`, { timeout: 900_000 }, () => {
  async function place({ leaseMs = 1_000 } = {}) {
    const server = await startRedis();
    const folder = await mkdtemp(join(tmpdir(), "proviso-fleet-"));
    const [file, lines] = [join(folder, "runs.sqlite"), join(folder, "lines")];
    await writeFile(lines, "");
    const journal = sqliteJournal(file);
    const queue = bullmqQueue({ url: server.url, queue: "fleet", journal });
    const children = new Set<ChildProcess>();
    const start = async (): Promise<ChildProcess> => {
      const child = spawn(process.execPath, [...program, server.url, "fleet", file, lines, `${leaseMs}`], {
        stdio: ["pipe", "pipe", "inherit"],
      });
      children.add(child);
      const ended = once(child, "close").then(([code]) => Promise.reject(new Error(`The worker ended: ${code}`)));
      await Promise.race([once(child.stdout, "data"), ended]);
      ended.catch(() => {});
      return child;
    };
    onTestFinished(async () => {
      for (const child of children) child.kill("SIGKILL");
      await queue[Symbol.asyncDispose]();
      await journal.close();
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    });
    return { server, queue, journal, start, lines: () => readFileSync(lines, "utf8").trim().split("\n") };
  }

  test("FLT-2 killed workers' runs are gone on with after their last step, and each has one answer", async () => {
    const runs = inject("exhaustive") ? 60 : 8;
    const kills = inject("exhaustive") ? 30 : 3;
    const { queue, journal, start, lines } = await place();
    const kind = counting(() => {});
    const ids = Array.from({ length: runs }, (_, n) => `run ${n}`);
    for (const id of ids) await queue.add(kind, { name: id, upTo: 6 }, { id });
    let workers = await Promise.all([start(), start()]);
    for (let kill = 0; kill < kills; kill++) {
      const before = lines().length;
      await until(() => lines().length > before + 8 || lines().length >= runs * 12);
      const [first, ...others] = workers;
      first?.kill("SIGKILL");
      workers = [...others, await start()];
    }
    const answers = await Promise.all(ids.map((id) => queue.result(kind, id)));
    expect(answers.map(({ text }) => text)).toEqual(ids.map((id) => `6 for ${id}`));
    const ended = lines().filter((line) => line.includes(" ends "));
    const again = ended.length - runs * 6;
    // The handler is idempotent: a call whose end was not kept is run again, and none else.
    expect(again).toBeLessThanOrEqual(kills * 4);
    for (const id of ids) {
      const described = await journal.describe(id);
      expect([described?.state, described?.steps]).toEqual(["executed", 13]);
      const calls = new Set(ended.filter((line) => line.includes(`${id} `)).map((line) => line.split(" ").at(-1)));
      expect(calls.size).toBe(6);
    }
  });

  test("FLT-2 a worker that was stopped past its lease and wakes up goes no further with its run", async () => {
    // The other worker keeps its own, also on a busy machine.
    const { queue, start, lines } = await place({ leaseMs: 3_000 });
    const kind = counting(() => {});
    await queue.add(kind, { name: "ada", upTo: 12 }, { id: "ada" });
    const sleeper = await start();
    await until(() => lines().length >= 4);
    sleeper.kill("SIGSTOP");
    const other = await start();
    await until(() => lines().some((line) => line.startsWith(`${other.pid} begins`)));
    sleeper.kill("SIGCONT");
    const { text, run } = await queue.result(kind, "ada");
    expect(text).toBe("12 for ada");
    // One more each time that a worker got no processor for so long that it lost its lease, and the run came back.
    const lost = (run?.attempt ?? 0) - 2;
    expect(lost).toBeGreaterThanOrEqual(0);
    const taken = lines().findIndex((line) => line.startsWith(`${other.pid} `));
    const later = lines()
      .slice(taken)
      .filter((line) => line.startsWith(`${sleeper.pid} begins`));
    // It may have been stopped between the record that a call begins and the call.
    expect(later.length).toBeLessThanOrEqual(1 + lost * 12);
  });

  test("FLT-1 FLT-2 a run that Redis lost, and whose worker is killed afterwards, is gone on with", async () => {
    const { server, queue, journal, start, lines } = await place();
    const kind = counting(() => {});
    await queue.add(kind, { name: "ada", upTo: 40 }, { id: "ada" });
    const first = await start();
    await until(() => lines().length >= 4);
    const redis = new Redis(server.url);
    await redis.flushall();
    redis.disconnect();
    // Its worker puts it back.
    await until(async () => (await queue.counts()).waiting === 1);
    first.kill("SIGKILL");
    await start();
    const { text, run } = await queue.result(kind, "ada");
    expect([text, run?.attempt]).toEqual(["40 for ada", 2]);
    const ended = lines().filter((line) => line.includes(" ends "));
    expect(ended.length).toBeLessThanOrEqual(41);
    expect((await journal.describe("ada"))?.steps).toBe(81);
  });
});
