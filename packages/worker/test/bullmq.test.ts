import { allow, definePolicy, definePrompt, deny, suspend, ThrottleError } from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { defineRun, type RunKind, type SuspendedRun, type WorkerOptions } from "@proviso/worker";
import { bullmqQueue, serveRuns } from "@proviso/worker/bullmq";
import { Redis } from "ioredis";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { noServer, startRedis, type RedisServer } from "./redis-server.ts";
import { counting, gate, until } from "./support.ts";

describe.skipIf(noServer !== undefined)(`runs over BullMQ ${noServer ?? ""}`, { timeout: 300_000 }, () => {
  let server: RedisServer;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server[Symbol.asyncDispose]());

  /** A queue of its own for a test. */
  function place(journal: Journal = memoryJournal()) {
    const options = { url: server.url, queue: `q-${randomUUID()}`, journal };
    const queue = bullmqQueue(options);
    onTestFinished(() => queue[Symbol.asyncDispose]());
    const serve = async (kinds: readonly RunKind<never, unknown>[], more: WorkerOptions = {}) => {
      const worker = await serveRuns(kinds, { ...options, leaseMs: 10_000, ...more });
      onTestFinished(() => worker[Symbol.asyncDispose]());
      return worker;
    };
    return { queue, serve, journal, options };
  }

  test("FLT-1 a run that is handed in by many is one run, and its answer is had by all", async () => {
    const done: string[] = [];
    const kind = counting((number, _, name) => done.push(`${name} ${number}`));
    const { queue, serve } = place();
    const params = { name: "ada", upTo: 3 };
    const added = await Promise.all(Array.from({ length: 8 }, () => queue.add(kind, params, { id: "a:1" })));
    expect(added.toSorted()).toEqual(["added", ...Array.from({ length: 7 }, () => "known")]);
    await serve([kind]);
    const answers = await Promise.all(Array.from({ length: 3 }, () => queue.result(kind, "a:1")));
    expect(answers.map(({ text }) => text)).toEqual(["3 for ada", "3 for ada", "3 for ada"]);
    expect(done).toEqual(["ada 1", "ada 2", "ada 3"]);
    expect(await queue.add(kind, params, { id: "a:1" })).toBe("known");
    await until(async () => (await queue.counts()).running === 0);
    expect(await queue.counts()).toEqual({
      waiting: 0,
      running: 0,
      suspended: 0,
      executed: 1,
      failed: 0,
      cancelled: 0,
    });
  });

  test("FLT-1 one add is the first, also where a worker ends the run between two of them", async () => {
    const kind = counting(() => {});
    const { queue, serve, journal } = place();
    await serve([kind]);
    const add = (id: string) => queue.add(kind, { name: "ada", upTo: 1 }, { id });
    for (const id of Array.from({ length: 40 }, (_, at) => `run ${at}`)) {
      expect([await add(id), await add(id), await add(id)]).toEqual(["added", "known", "known"]);
    }
    await Promise.all(Array.from({ length: 40 }, (_, at) => queue.result(kind, `run ${at}`)));
    await until(async () => (await queue.counts()).running === 0);
    expect(await queue.counts()).toMatchObject({ waiting: 0, executed: 40 });
    // What its journal has lost is a new run, which again one of several adds.
    await journal.remove("run 0");
    await expect(queue.result(kind, "run 0")).rejects.toThrow("the journal does not have it any more");
    const again = await Promise.all([add("run 0"), add("run 0"), add("run 0")]);
    expect(again.toSorted()).toEqual(["added", "known", "known"]);
  });

  test("FLT-1 what the queue has lost is handed in again, and goes on from the journal", async () => {
    const done: number[] = [];
    const stop = gate();
    const kind = counting(async (number, { signal }) => {
      done.push(number);
      if (number !== 3 || done.length > 3) return;
      stop.open();
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    const { queue, serve, options } = place();
    await queue.add(kind, { name: "ada", upTo: 4 }, { id: "lost" });
    const first = await serve([kind]);
    await stop.opened;
    await first[Symbol.asyncDispose]();
    const redis = new Redis(server.url);
    for (const key of await redis.keys(`*${options.queue}*`)) await redis.del(key);
    redis.disconnect();
    expect(await queue.counts()).toMatchObject({ waiting: 0, running: 0 });
    expect(await queue.add(kind, { name: "ada", upTo: 4 }, { id: "lost" })).toBe("known");
    await serve([kind]);
    expect((await queue.result(kind, "lost")).text).toBe("4 for ada");
    expect(done).toEqual([1, 2, 3, 3, 4]);
  });

  test("FLT-1 ids and params are whatever texts they are", async () => {
    const kind = counting(() => {});
    const { queue, serve } = place();
    await serve([kind]);
    const ids = ["7", "a:b:c", "a/b", "ä 🙂", "__proto__", "constructor", "\ufffd", "x".repeat(200)];
    for (const id of ids) await queue.add(kind, { name: `${id}"`, upTo: 1 }, { id });
    for (const id of ids) expect((await queue.result(kind, id)).run?.id).toBe(id);
    expect(await queue.counts()).toMatchObject({ executed: ids.length });
  });

  test("FLT-3 the result of a run that is cancelled in its journal has the reason", async () => {
    const [begun, goesOn] = [gate(), gate()];
    const kind = counting(() => (begun.open(), goesOn.opened));
    const { queue, serve, journal } = place();
    await serve([kind]);
    await queue.add(kind, { name: "ada", upTo: 2 }, { id: "by hand" });
    await begun.opened;
    expect(await journal.cancel("by hand", "no longer needed")).toBe(true);
    goesOn.open();
    await expect(queue.result(kind, "by hand")).rejects.toThrow(/was cancelled: no longer needed$/u);
  });

  test("FLT-3 a run that waits is cancelled before it begins, one that runs within a second", async () => {
    const begun = gate();
    let signalled = 0;
    const kind = counting(async (_, { signal }) => {
      begun.open();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      signalled = performance.now();
    });
    const { queue, serve, journal } = place();
    await queue.add(kind, { name: "ada", upTo: 2 }, { id: "waits" });
    expect(await queue.cancel("waits", "not needed")).toBe(true);
    await expect(queue.result(kind, "waits")).rejects.toMatchObject({ code: "aborted", message: /not needed/ });
    expect(await queue.cancel("waits")).toBe(false);
    expect(await queue.cancel("never added")).toBe(false);
    await serve([kind]);
    await queue.add(kind, { name: "ada", upTo: 2 }, { id: "runs" });
    await begun.opened;
    const cancelled = performance.now();
    expect(await queue.cancel("runs", "too late")).toBe(true);
    await expect(queue.result(kind, "runs")).rejects.toMatchObject({ code: "aborted", message: /too late/ });
    // A second, on a quiet machine.
    expect(signalled - cancelled).toBeLessThan(5_000);
    expect((await journal.describe("runs"))?.state).toBe("cancelled");
    await until(async () => (await queue.counts()).running === 0);
    expect(await queue.counts()).toMatchObject({ cancelled: 2, executed: 0 });
    expect(await queue.add(kind, { name: "ada", upTo: 2 }, { id: "runs" })).toBe("known");
  });

  test("FLT-4 a run that waits for a decision holds no slot, and goes on when it is decided", async () => {
    const done: string[] = [];
    const policies = [
      definePolicy({
        name: "chief",
        check: ({ input }) =>
          (input as { name: string }).name === "ada" ? suspend("May it?", { details: { a: 1 } }) : allow(),
      }),
    ];
    const kind = counting(
      (number, _, name) => done.push(`${name} ${number}`),
      () => ({ policies }),
    );
    const { queue, serve } = place();
    const asked: SuspendedRun[] = [];
    await serve([kind], { concurrency: 1, onSuspended: (suspended) => void asked.push(suspended) });
    await queue.add(kind, { name: "ada", upTo: 1 }, { id: "one" });
    await until(async () => (await queue.counts()).suspended === 1);
    await queue.add(kind, { name: "bob", upTo: 1 }, { id: "two" });
    expect((await queue.result(kind, "two")).text).toBe("1 for bob");
    expect(await queue.counts()).toMatchObject({ suspended: 1, waiting: 0, executed: 1 });
    expect(asked.map(({ id, pending: { question, details } }) => [id, question, details])).toEqual([
      ["one", "May it?", { a: 1 }],
    ]);
    await queue.resolve(asked[0]?.pending.token ?? "", allow());
    expect((await queue.result(kind, "one")).text).toBe("1 for ada");
    expect(done).toEqual(["bob 1", "ada 1"]);
    const token = asked[0]?.pending.token ?? "";
    await queue.resolve(token, allow());
    await expect(queue.resolve(token, deny("no"))).rejects.toMatchObject({ reason: "token" });
  });

  test("FLT-4 a decision that comes while the run is put aside is not lost", async () => {
    const policies = [definePolicy({ name: "chief", check: () => suspend("May it?") })];
    const kind = counting(
      () => {},
      () => ({ policies }),
    );
    const { queue, serve } = place();
    await serve([kind], { onSuspended: ({ pending }) => queue.resolve(pending.token, allow()) });
    const ids = Array.from({ length: 12 }, (_, n) => `at once ${n}`);
    for (const id of ids) await queue.add(kind, { name: id, upTo: 1 }, { id });
    for (const id of ids) expect((await queue.result(kind, id)).text).toBe(`1 for ${id}`);
  });

  test("FLT-4 a decision that does not come in time counts as denied", async () => {
    const policies = [definePolicy({ name: "chief", check: () => suspend("May it?", { expiresInMs: 200 }) })];
    const done: number[] = [];
    const kind = counting(
      (number) => done.push(number),
      () => ({ policies }),
    );
    const { queue, serve } = place();
    await serve([kind]);
    await queue.add(kind, { name: "ada", upTo: 1 }, { id: "expired" });
    expect((await queue.result(kind, "expired")).text).toBe("1 for ada");
    expect(done).toEqual([]);
  });

  test("FLT-4 a failure that may pass is tried again after its Retry-After, and is an outcome in the end", async () => {
    const prompt = definePrompt({ key: "ask", text: "Hello?" });
    const refused = { failure: "throttle", kind: "rate_limit", message: "Later.", retryAfterMs: 1_300 } as const;
    const kindOf = (...steps: Parameters<typeof scriptedModel>[0]) =>
      defineRun({ prompt, adapter: modelAdapter(scriptedModel(steps), { throttle: { maxAttempts: 1 } }) });
    const { queue, serve } = place();
    const passing = kindOf(refused, { text: "Hello." });
    const worker = await serve([passing], { maxAttempts: 1 });
    const begun = performance.now();
    await queue.add(passing, {}, { id: "passes" });
    expect((await queue.result(passing, "passes")).text).toBe("Hello.");
    expect(performance.now() - begun).toBeGreaterThan(1_250);
    await worker[Symbol.asyncDispose]();
    const lasting = kindOf(refused, refused, refused);
    await serve([lasting], { maxAttempts: 1 });
    await queue.add(lasting, {}, { id: "lasts" });
    await expect(queue.result(lasting, "lasts")).rejects.toBeInstanceOf(ThrottleError);
    expect(await queue.counts()).toMatchObject({ executed: 1, failed: 1 });
    expect(await queue.add(lasting, {}, { id: "lasts" })).toBe("known");
  });

  test("FLT-4 what fails before it begins is an outcome that says why", async () => {
    const kind = counting(
      () => {},
      () => {
        throw new Error("No desk is free.");
      },
    );
    const { queue, serve } = place();
    await serve([kind]);
    await queue.add(kind, { name: "ada", upTo: 1 }, { id: "never" });
    await expect(queue.result(kind, "never")).rejects.toMatchObject({ reason: "failed", message: /No desk is free/ });
    expect(await queue.add(kind, { name: "ada", upTo: 1 }, { id: "never" })).toBe("known");
  });

  test("FLT-5 all workers together run no more than globalConcurrency", async () => {
    let [now, most] = [0, 0];
    const kind = counting(async () => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 30));
      now--;
    });
    const { queue, serve } = place();
    const ids = Array.from({ length: 8 }, (_, n) => `r${n}`);
    for (const id of ids) await queue.add(kind, { name: id, upTo: 1 }, { id });
    await Promise.all([1, 2, 3].map(() => serve([kind], { globalConcurrency: 2 })));
    for (const id of ids) await queue.result(kind, id);
    expect(most).toBeLessThanOrEqual(2);
  });

  test("FLT-5 the urgent runs begin first, those alike in their order", async () => {
    const order: string[] = [];
    const kind = counting((_, __, name) => order.push(name));
    const { queue, serve } = place();
    const names = ["low 1", "low 2", "high", "low 3", "default", "top"];
    const priorities = { low: 2_000, high: 5, default: undefined, top: 0 } as const;
    for (const name of names) {
      const priority = priorities[name.split(" ")[0] as keyof typeof priorities];
      await queue.add(kind, { name, upTo: 1 }, { id: name, priority });
    }
    await serve([kind], { concurrency: 1 });
    for (const name of names) await queue.result(kind, name);
    expect(order).toEqual(["top", "high", "default", "low 1", "low 2", "low 3"]);
  });

  test("FLT-5 all workers together begin no more runs in a span than the rate allows", async () => {
    const begun: number[] = [];
    const kind = counting(() => begun.push(performance.now()));
    const { queue, serve } = place();
    const ids = Array.from({ length: 9 }, (_, n) => `r${n}`);
    for (const id of ids) await queue.add(kind, { name: id, upTo: 1 }, { id });
    // No span begins before that; the first run may begin long after its span did.
    const servedAt = performance.now();
    await Promise.all([1, 2].map(() => serve([kind], { rate: { runs: 3, perMs: 400 } })));
    for (const id of ids) await queue.result(kind, id);
    expect((begun.at(-1) ?? 0) - servedAt).toBeGreaterThan(700);
  });

  test("FLT-5 progress comes from events, and the last of each run always", async () => {
    const kind = counting(() => {});
    const { queue, serve, options } = place();
    const ending = new AbortController();
    const seen = new Map<string, unknown>();
    const watching = (async () => {
      for await (const { id, ...progress } of queue.progress({ signal: ending.signal })) {
        seen.set(id, progress);
        if ([...seen.values()].filter((each) => (each as { state: string }).state === "executed").length === 4) break;
      }
    })();
    const redis = new Redis(server.url);
    onTestFinished(() => redis.disconnect());
    // What is reported before it listens is lost.
    await until(async () => (await redis.pubsub("CHANNELS", `*${options.queue}*progress`)).length === 1);
    await serve([kind]);
    for (const id of ["a", "b", "c", "d"]) await queue.add(kind, { name: id, upTo: 2 }, { id });
    await watching;
    const last = { attempt: 1, turn: 3, steps: 5, tool: "note", state: "executed" };
    for (const id of ["a", "b", "c", "d"]) {
      expect(seen.get(id)).toMatchObject({ ...last, usage: { inputTokens: 30, outputTokens: 3 } });
    }
    ending.abort();
  });

  test("FLT-6 a worker that is disposed hands back what it has, and another one goes on with its steps", async () => {
    const done: string[] = [];
    const stop = gate();
    const slow = counting(async (number, { signal, attempt }, name) => {
      done.push(`${name} ${number} of attempt ${attempt}`);
      if (number !== 2 || attempt > 1) return;
      if (done.length === 6) stop.open();
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    const { queue, serve } = place();
    const ids = ["a", "b", "c"];
    for (const id of ids) await queue.add(slow, { name: id, upTo: 3 }, { id });
    const first = await serve([slow]);
    await stop.opened;
    await first[Symbol.asyncDispose]();
    expect(await queue.counts()).toMatchObject({ waiting: 3, running: 0, failed: 0 });
    await serve([slow]);
    for (const id of ids) {
      const { text, run } = await queue.result(slow, id);
      expect([text, run?.attempt]).toEqual([`3 for ${id}`, 2]);
      expect(done.filter((line) => line.startsWith(id))).toEqual([
        `${id} 1 of attempt 1`,
        `${id} 2 of attempt 1`,
        `${id} 2 of attempt 2`,
        `${id} 3 of attempt 2`,
      ]);
    }
  });

  test("FLT-1 what cannot be handed in is refused here, and a run that was never added", async () => {
    const kind = counting(() => {});
    const { queue, options } = place();
    const params = { name: "ada", upTo: 1 };
    await expect(queue.add(kind, { name: "ada", upTo: 1.5 }, { id: "x" })).rejects.toMatchObject({
      code: "definition",
    });
    await expect(queue.add(kind, params, { id: "" })).rejects.toMatchObject({ code: "definition" });
    await expect(queue.add(kind, params, { id: "x", priority: -1 })).rejects.toThrow("priority");
    await expect(queue.add(kind, params, { id: "x", delayMs: 0.5 })).rejects.toThrow("delayMs");
    await expect(queue.add(kind, params, { id: "x", deadline: "tomorrow" as never })).rejects.toThrow("deadline");
    await expect(queue.add(kind, params, { id: "x", budget: { maxTotalTokens: -1 } })).rejects.toThrow(
      "maxTotalTokens",
    );
    await expect(queue.add(kind, params, { id: "x", priorty: 1 } as never)).rejects.toThrow("priorty");
    await expect(queue.result(kind, "nobody's")).rejects.toMatchObject({ code: "queue", reason: "unknown" });
    await expect(serveRuns([], options)).rejects.toThrow("at least one kind");
    await expect(serveRuns([kind, kind], options)).rejects.toThrow('Two kinds have the prompt "app/count"');
    await expect(serveRuns([kind], { ...options, concurrency: 0 })).rejects.toThrow("concurrency");
    expect(() => bullmqQueue({ ...options, queue: "a:b" })).toThrow("queue must be");
    expect(() => bullmqQueue({ ...options, url: "http://127.0.0.1" })).toThrow("redis://");
    const nowhere = { ...options, url: "redis://user:secret@127.0.0.1:1" };
    const lost = await serveRuns([kind], nowhere).catch((error: Error) => error);
    expect(lost).toMatchObject({ code: "queue", reason: "unreachable", message: /127\.0\.0\.1:1/ });
    expect((lost as Error).message).not.toContain("secret");
    const away = bullmqQueue(nowhere);
    await expect(away.counts()).rejects.toMatchObject({ reason: "unreachable" });
    await away[Symbol.asyncDispose]();
    await queue.counts();
    await queue[Symbol.asyncDispose]();
    await expect(queue.add(kind, params, { id: "x" })).rejects.toMatchObject({ code: "queue" });
    await expect(queue.result(kind, "x")).rejects.toMatchObject({ code: "queue" });
  });
});
