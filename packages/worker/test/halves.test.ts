// Deciding and cancelling are two writes: one to the journal, one to the queue. Each of these ends between the two.
import { allow, definePolicy, deny, suspend, toolOk } from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { bullmqQueue, serveRuns } from "@proviso/worker/bullmq";
import { Job, Queue } from "bullmq";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { noServer, startRedis, type RedisServer } from "./redis-server.ts";
import { counting, gate, until } from "./support.ts";

type Decision = Parameters<Journal["resolve"]>[1];

describe.skipIf(noServer !== undefined)(`half of two writes ${noServer ?? ""}`, { timeout: 300_000 }, () => {
  let server: RedisServer;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server[Symbol.asyncDispose]());

  const policies = [definePolicy({ name: "chief", check: () => suspend("May it?") })];
  const params = { name: "ada", upTo: 1 };

  /** A run that was put aside, to wait for a decision. */
  async function putAside(
    journal: Journal = memoryJournal(),
    onSuspended?: (token: string) => Promise<unknown>,
    upTo = 1,
  ) {
    const done: number[] = [];
    const kind = counting(
      (number) => done.push(number),
      () => ({ policies }),
    );
    const options = { url: server.url, queue: `q-${randomUUID()}`, journal };
    const queue = bullmqQueue(options);
    onTestFinished(() => queue[Symbol.asyncDispose]());
    const tokens: string[] = [];
    const worker = await serveRuns([kind], {
      ...options,
      async onSuspended({ pending }) {
        tokens.push(pending.token);
        await onSuspended?.(pending.token);
      },
    });
    onTestFinished(() => worker[Symbol.asyncDispose]());
    await queue.add(kind, { ...params, upTo }, { id: "r" });
    const raw = new Queue(options.queue, { connection: { url: server.url } });
    onTestFinished(() => raw.close());
    const [job] = await vi.waitUntil(async () => ((jobs) => jobs.length > 0 && jobs)(await raw.getJobs("delayed")), {
      timeout: 300_000,
    });
    return { queue, worker, kind, done, raw, job, tokens, token: tokens[0] ?? "" };
  }

  const used = { code: "journal", reason: "token" };

  test("FLT-4 a decision that is kept while its run was not made due makes it due when it is given again", async () => {
    const journal = memoryJournal();
    const { queue, kind, done, token } = await putAside(journal);
    await journal.resolve(token, allow());
    await queue.resolve(token, allow());
    expect((await queue.result(kind, "r")).text).toBe("1 for ada");
    expect(done).toEqual([1]);
    await until(async () => (await queue.counts()).running === 0);
    expect(await queue.counts()).toMatchObject({ suspended: 0, waiting: 0, executed: 1 });
    // However late: nothing is done again.
    await queue.resolve(token, allow());
    expect(await queue.counts()).toMatchObject({ suspended: 0, waiting: 0, running: 0, executed: 1 });
  });

  test.each<readonly [what: string, first: Decision, again: Decision]>([
    ["denied", allow(), deny("No.")],
    ["with another input", allow({ number: 2, name: "ada" }), allow()],
    ["with another reason", deny("No."), deny("Never.")],
    ["with another result", { result: toolOk("one") }, { result: toolOk("two") }],
  ])(
    "FLT-4 a decision that was kept is refused when it is given again %s, and the run goes on all the same",
    async (_, first, again) => {
      const journal = memoryJournal();
      const { queue, kind, token } = await putAside(journal);
      await journal.resolve(token, first);
      await expect(queue.resolve(token, again)).rejects.toMatchObject(used);
      await queue.resolve(token, first);
      expect((await queue.result(kind, "r")).turns).toBe(2);
    },
  );

  test("FLT-4 a decision that is given again does not wake a run that waits for another one", async () => {
    const journal = memoryJournal();
    const { queue, kind, raw, tokens, token } = await putAside(journal, undefined, 2);
    await queue.resolve(token, allow());
    await until(() => tokens.length === 2);
    await until(async () => (await raw.getDelayedCount()) === 1);
    await queue.resolve(token, allow());
    expect(await raw.getDelayedCount()).toBe(1);
    expect((await journal.describe("r"))?.state).toBe("suspended");
    await queue.resolve(tokens[1] ?? "", allow());
    expect((await queue.result(kind, "r")).text).toBe("2 for ada");
    expect(tokens).toHaveLength(2);
  });

  test("FLT-4 a decision that is given again says that the queue has lost its run", async () => {
    const journal = memoryJournal();
    const { queue, raw, token } = await putAside(journal);
    await raw.obliterate({ force: true });
    for (let n = 0; n < 2; n++) {
      await expect(queue.resolve(token, allow())).rejects.toMatchObject({ reason: "unknown", run: "r" });
    }
  });

  test("FLT-1 FLT-4 a run that was decided and not made due goes on when it is added again, one that waits does not", async () => {
    const journal = memoryJournal();
    const { queue, kind, raw, token } = await putAside(journal);
    expect(await queue.add(kind, params, { id: "r" })).toBe("known");
    expect(await raw.getDelayedCount()).toBe(1);
    await expect(queue.resolve(`${token}x`, allow())).rejects.toMatchObject(used);
    expect(await raw.getDelayedCount()).toBe(1);
    await journal.resolve(token, allow());
    expect(await queue.add(kind, params, { id: "r" })).toBe("known");
    expect((await queue.result(kind, "r")).text).toBe("1 for ada");
  });

  test("FLT-1 a run that waited and is gone from its journal begins anew when it is added again", async () => {
    const journal = memoryJournal();
    const { queue, kind, token } = await putAside(journal);
    await journal.remove("r");
    await queue.add(kind, params, { id: "r" });
    const asked = async () => (await journal.describe("r"))?.pending;
    await until(async () => (await asked()) !== undefined);
    await expect(queue.resolve(token, allow())).rejects.toMatchObject(used);
  });

  test("FLT-3 a run that is cancelled in the journal alone is ended in the queue when it is cancelled again, or added", async () => {
    for (const again of ["cancel", "add"]) {
      const journal = memoryJournal();
      const { queue, kind } = await putAside(journal);
      await journal.cancel("r", "no");
      if (again === "add") expect(await queue.add(kind, params, { id: "r" })).toBe("known");
      else expect(await queue.cancel("r", "no")).toBe(true);
      await expect(queue.result(kind, "r")).rejects.toMatchObject({ code: "aborted" });
      await until(async () => (await queue.counts()).running === 0);
      expect(await queue.counts()).toMatchObject({ suspended: 0, waiting: 0, cancelled: 1 });
      expect(await queue.cancel("r")).toBe(false);
    }
  });

  test("FLT-4 resolve says that a run could not be made due, and the next one makes it due", async () => {
    const { queue, kind, token } = await putAside();
    const failing = vi.spyOn(Job.prototype, "promote").mockRejectedValueOnce(new Error("OOM command not allowed"));
    onTestFinished(() => failing.mockRestore());
    await expect(queue.resolve(token, allow())).rejects.toThrow("OOM");
    await queue.resolve(token, allow());
    expect((await queue.result(kind, "r")).text).toBe("1 for ada");
  });

  test("FLT-4 a token that could not be sent is sent again in a minute, though nothing decides the run before", async () => {
    let refusals = 1;
    const { queue, kind, done, job, tokens } = await putAside(memoryJournal(), async () => {
      refusals -= 1;
      if (refusals === 0) throw new Error("The mail server is away.");
    });
    const delay = job?.delay ?? Infinity;
    expect(delay).toBeLessThanOrEqual(60_000);
    expect(delay).toBeGreaterThan(30_000);
    await job?.promote();
    await until(() => tokens.length === 2);
    await queue.resolve(tokens[1] ?? "", allow());
    expect((await queue.result(kind, "r")).text).toBe("1 for ada");
    expect(done).toEqual([1]);
  });

  test("FLT-4 a worker that cannot see whether the decision came while it put the run aside asks again in a minute", async () => {
    const journal = memoryJournal();
    let isBroken = false;
    const shaky: Journal = {
      ...journal,
      describe: (id) => (isBroken ? Promise.reject(new Error("The database is away.")) : journal.describe(id)),
    };
    const { raw, job } = await putAside(shaky, async (token) => {
      isBroken = true;
      await journal.resolve(token, allow());
    });
    const waits = async () => (await raw.getJob(job?.id ?? ""))?.delay ?? 0;
    await vi.waitUntil(async () => (await waits()) <= 60_000, { timeout: 120_000 });
    expect(await waits()).toBe(60_000);
  });

  /** A journal whose first description after a question was sent comes when it is let come. */
  function lookingLong() {
    const journal = memoryJournal();
    const [began, mayCome] = [gate(), gate()];
    let isNext = false;
    const slow: Journal = {
      ...journal,
      async describe(id) {
        const isHeld = isNext;
        isNext = false;
        const known = await journal.describe(id);
        if (isHeld) {
          began.open();
          await mayCome.opened;
        }
        return known;
      },
    };
    const sent = () => void (isNext = true);
    return { journal, slow, sent, began, mayCome };
  }

  test("FLT-4 a decision that comes while a worker still looks whether it came is not asked for again", async () => {
    const { slow, sent, began, mayCome } = lookingLong();
    const { queue, kind, done, tokens, token } = await putAside(slow, async () => sent());
    await began.opened;
    await queue.resolve(token, allow());
    await until(() => tokens.length > 1 || done.length > 0);
    expect(tokens).toEqual([token]);
    expect((await queue.result(kind, "r")).text).toBe("1 for ada");
    mayCome.open();
    await until(async () => (await queue.counts()).running === 0);
    expect(done).toEqual([1]);
    expect(await queue.counts()).toMatchObject({ suspended: 0, waiting: 0, executed: 1 });
  });

  test("FLT-4 a worker that is disposed while it looks whether the decision came still makes the run due", async () => {
    const { journal, slow, sent, began, mayCome } = lookingLong();
    const { raw, worker } = await putAside(slow, async (token) => {
      await journal.resolve(token, allow());
      sent();
    });
    await began.opened;
    expect(await raw.getDelayedCount()).toBe(1);
    const disposed = worker[Symbol.asyncDispose]();
    mayCome.open();
    await disposed;
    expect(await raw.getDelayedCount()).toBe(0);
  });
});
