// The deadline of a budget goes through the queue with it.
import { DeadlineExceededError, deadlineIn } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { bullmqQueue, serveRuns } from "@proviso/worker/bullmq";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { noServer, startRedis, type RedisServer } from "./redis-server.ts";
import { counting } from "./support.ts";

describe.skipIf(noServer !== undefined)(`budgets in a queue ${noServer ?? ""}`, { timeout: 60_000 }, () => {
  let server: RedisServer;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server[Symbol.asyncDispose]());

  async function served() {
    const options = { url: server.url, queue: `q-${randomUUID()}`, journal: memoryJournal() };
    const queue = bullmqQueue(options);
    onTestFinished(() => queue[Symbol.asyncDispose]());
    const kind = counting((_, { signal }) => {
      return new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, 20);
        signal.addEventListener("abort", () => {
          clearTimeout(timer);
          reject(signal.reason as Error);
        });
      });
    });
    const worker = await serveRuns([kind], options);
    onTestFinished(() => worker[Symbol.asyncDispose]());
    return { queue, kind };
  }

  test.each([
    ["beside a limit", { maxTotalTokens: 10_000 }],
    ["alone", {}],
  ])("FLT-1 LIM-1 a run keeps to the deadline of its budget, %s", async (_, limits) => {
    const { queue, kind } = await served();
    const budget = (ms: number) => ({ ...limits, deadline: deadlineIn(ms) });
    await queue.add(kind, { name: "ada", upTo: 2 }, { id: "in time", budget: budget(30_000) });
    expect((await queue.result(kind, "in time")).text).toBe("2 for ada");
    const late = budget(1_000);
    await queue.add(kind, { name: "bob", upTo: 1_000 }, { id: "late", budget: late });
    const error: unknown = await queue.result(kind, "late").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DeadlineExceededError);
    expect((error as DeadlineExceededError).expiresAt).toEqual(late.deadline.expiresAt);
  });

  test("FLT-1 LIM-1 the deadline of the job holds beside that of its budget: the earlier one ends the run", async () => {
    const { queue, kind } = await served();
    for (const id of ["job's", "budget's"]) {
      const [soon, later] = [deadlineIn(1_000), deadlineIn(30_000)];
      const [deadline, ofBudget] = id === "job's" ? [soon, later] : [later, soon];
      await queue.add(kind, { name: id, upTo: 1_000 }, { id, deadline, budget: { deadline: ofBudget } });
      await expect(queue.result(kind, id)).rejects.toMatchObject({ code: "deadline", expiresAt: soon.expiresAt });
    }
  });
});
