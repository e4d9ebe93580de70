import { definePrompt, overrideOf, type Budget } from "@proviso/core";
import {
  runEval,
  defineEval,
  memoryEvalStore,
  type AttemptRecord,
  type AttemptWorkers,
  type EvalReport,
  type EvalStore,
} from "@proviso/evals";
import { redisWorkers, serveAttempts } from "@proviso/evals/bullmq";
import { sqliteEvalStore } from "@proviso/evals/node";
import { memoryOverrides, modelAdapter } from "@proviso/runtime";
import { Redis } from "ioredis";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { fromSources } from "../../../scripts/from-sources.ts";
import { noServer, startRedis, type RedisServer } from "../../worker/test/redis-server.ts";
import { attemptServer } from "../src/run/workers.ts";
import { answering, mails, triage, wordList, type Mail } from "./support.ts";

const spam = (adapter = wordList(["Win"]), count = 24) =>
  defineEval({
    name: "spam",
    data: mails(count),
    prompt: ({ text }: Mail) => triage.bind({ text }),
    adapter,
    scorers: { right: ({ row, output }) => output.label === row.label },
  });

const spamParts = {
  name: "spam",
  prompt: ({ text }: Mail) => triage.bind({ text }),
  scorers: {
    right: ({ row, output }: { readonly row: Mail; readonly output: { readonly label: string } }) =>
      output.label === row.label,
  },
};

/** The parts of a report that do not depend on who made the attempts. */
const scored = ({ attempts, variants }: EvalReport): unknown => ({
  scores: Object.values(variants).map(({ scores, counts }) => [scores, counts]),
  attempts: attempts.map(({ durationMs: _, ...rest }) => rest),
});

test("EVL-53 where nothing is left of the budget, no attempt is handed out", async () => {
  const of = defineEval({
    ...spamParts,
    data: mails(4),
    variants: { free: { adapter: wordList(["Win"]) }, paid: { adapter: wordList(["Win"]) } },
  });
  const serving = attemptServer([of], {});
  const left: (number | undefined)[] = [];
  const workers: AttemptWorkers = {
    async run(job, signal) {
      left.push(job.budget?.maxTotalTokens);
      const record = await serving({ ...job, budget: undefined }, signal);
      return job.key.variant === "free"
        ? { ...record, usage: { ...record.usage, inputTokens: 0, outputTokens: 0, totalTokens: 0 } }
        : record;
    },
    async close() {},
  };
  const report = await runEval(of, { workers, concurrency: 1, budget: { maxTotalTokens: 13 } });
  expect(report.ended?.why).toBe("budget");
  expect(report.spent.totalTokens).toBe(13);
  expect(left).toEqual([13, 13]);
});

test("EVL-53 a worker whose data could not be read reads them again with the next job", async () => {
  let readings = 0;
  const data: AsyncIterable<Mail> = {
    async *[Symbol.asyncIterator]() {
      readings += 1;
      if (readings === 1) throw new Error("The share is away.");
      yield* mails(4);
    },
  };
  const workers = {
    run: attemptServer([defineEval({ ...spamParts, data, adapter: wordList(["Win"]) })], {}),
    close: async () => {},
  };
  const run = (): Promise<EvalReport> => runEval(spam(undefined, 4), { workers, concurrency: 1 });
  expect((await run()).ended).toEqual({ why: "systemic", message: "The share is away." });
  const report = await run();
  expect([report.ended, report.attempts.length, readings]).toEqual([undefined, 4, 2]);
});

test("EVL-53 a worker makes attempts of a stored override that changed since it began, and asks nothing for another prompt", async () => {
  const prompt = definePrompt({
    key: "ask",
    params: z.object({ text: z.string() }),
    sections: [{ key: "task", text: "One: {{text}}" }],
  });
  const [store, elsewhere] = [memoryOverrides(), memoryOverrides()];
  const asked: string[] = [];
  const adapter = answering(() => "yes", asked);
  const of = (overrides: typeof store) =>
    defineEval({
      name: "ask",
      data: mails(3),
      prompt: ({ text }: Mail) => prompt.bind({ text }),
      variants: { stored: { adapter, overrides: { store: overrides, tag: "latest" } } },
      scorers: { any: () => 1 },
    });
  const workers = { run: attemptServer([of(store)], {}), close: async () => {} };
  expect((await runEval(of(store), { workers })).ended).toBeUndefined();
  const texts = overrideOf(prompt, "latest");
  const task = { ...texts.sections["task"], text: "Two: {{text}}" } as NonNullable<(typeof texts.sections)[string]>;
  await store.upsert(prompt.descriptor, { ...texts, sections: { task } });
  const report = await runEval(of(store), { workers });
  expect(report.ended).toBeUndefined();
  expect(asked.slice(3).map((text) => text.slice(0, 4))).toEqual(["Two:", "Two:", "Two:"]);
  const other = await runEval(of(elsewhere), { workers });
  expect(other.ended?.message).toContain('another prompt for the row "m');
  expect(asked).toHaveLength(6);
});

/** An eval of one attempt that asks two times; the second answer does not come before an abort. */
function askingTwice() {
  const isAsked = Promise.withResolvers<void>();
  let requests = 0;
  const model = modelAdapter({
    name: "words",
    model: "words-1",
    capabilities: { tools: true, nativeOutput: true },
    async generate({ signal }) {
      requests += 1;
      if (requests > 1) {
        isAsked.resolve();
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      }
      const message = { role: "assistant" as const, text: JSON.stringify({ label: "ham" }), toolCalls: [] };
      return { message, finishReason: "stop", usage: { inputTokens: 10, outputTokens: 3 } };
    },
  });
  const of = defineEval({
    name: "twice",
    data: mails(1),
    adapter: model,
    task: async ({ text }: Mail, { evaluate }) => {
      await evaluate(triage.bind({ text }));
      return (await evaluate(triage.bind({ text }))).output;
    },
    scorers: { any: () => true },
  });
  return { of, secondIsAsked: isAsked.promise };
}

test("EVL-28 what an attempt had spent that an abort cut short at its worker is counted, and it is not run", async () => {
  const { of, secondIsAsked } = askingTwice();
  const ending = new AbortController();
  const running = runEval(of, {
    workers: { run: attemptServer([of], {}), close: async () => {} },
    signal: ending.signal,
  });
  await secondIsAsked;
  ending.abort();
  const report = await running;
  expect(report.ended?.why).toBe("aborted");
  expect(report.spent.totalTokens).toBe(13);
  expect(report.variants["default"]?.counts).toMatchObject({ answered: 0, notRun: 1 });
});

describe.skipIf(noServer !== undefined)(`attempts over Redis ${noServer ?? ""}`, { timeout: 300_000 }, () => {
  let server: RedisServer;
  let queues = 0;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server[Symbol.asyncDispose]());
  /** Where no worker is lost, none loses its lease: also on a machine on which it gets no processor for seconds. */
  const place = (leaseMs = 60_000) => ({ url: server.url, queue: `evals-${queues++}`, leaseMs });

  /** Serves until the test ends, or the returned function is called. */
  function serve(...[evals, options]: Parameters<typeof serveAttempts>): () => Promise<void> {
    const ending = new AbortController();
    const serving = serveAttempts(evals, { ...options, signal: ending.signal });
    serving.catch(() => {});
    const stop = async (): Promise<void> => {
      ending.abort();
      await serving;
    };
    onTestFinished(stop);
    return stop;
  }

  test("EVL-53 the report is the one of a run in one process", async () => {
    const redis = place();
    const asked: string[] = [];
    serve([spam(wordList(["Win"], asked))], { ...redis, concurrency: 4 });
    serve([spam(wordList(["Win"], asked))], { ...redis, concurrency: 4 });
    const own: string[] = [];
    const report = await runEval(spam(wordList(["Win"], own)), { workers: redisWorkers(redis), repetitions: 2 });
    expect(asked).toHaveLength(48);
    expect(own).toEqual([]);
    expect(scored(report)).toEqual(scored(await runEval(spam(), { repetitions: 2 })));
    expect(report.spent).toMatchObject({ inputTokens: 480, outputTokens: 144 });
  });

  test("EVL-53 a run beats on after Redis refused one of its beats", async () => {
    const redis = place();
    const workers = redisWorkers(redis);
    const client = new Redis(server.url);
    onTestFinished(() => client.disconnect());
    const beating = async (): Promise<number> => {
      const [key = ""] = await client.keys(`*${redis.queue}*alive*`);
      return key === "" ? 0 : client.pttl(key);
    };
    const ended = new AbortController();
    const running = runEval(spam(), { workers, concurrency: 2, signal: ended.signal });
    // All that the run writes besides its beats: a job that is refused ends the run.
    await expect.poll(() => client.llen(`bull:${redis.queue}:wait`), { timeout: 60_000 }).toBe(2);
    await client.config("SET", "maxmemory", "1");
    // A beat comes every 3 seconds, and is believed for 15.
    await expect.poll(beating, { timeout: 60_000 }).toBeLessThan(11_500);
    await client.config("SET", "maxmemory", "0");
    await expect.poll(beating, { timeout: 60_000 }).toBeGreaterThan(12_000);
    ended.abort();
    await running;
  });

  test("EVL-53 a run that was taken for dead and lives hands its attempts out again", async () => {
    const redis = place();
    const client = new Redis(server.url);
    onTestFinished(() => client.disconnect());
    const asked: string[] = [];
    const model = modelAdapter({
      name: "words",
      model: "words-1",
      capabilities: { tools: true, nativeOutput: true },
      generate: ({ signal, messages }) =>
        new Promise((resolve, reject) => {
          asked.push(messages.map(({ text }) => text).join());
          if (asked.length === 1) return signal.addEventListener("abort", () => reject(signal.reason as Error));
          const text = JSON.stringify({ label: "ham" });
          resolve({ message: { role: "assistant", text, toolCalls: [] }, finishReason: "stop" });
        }),
    });
    serve([spam(model, 2)], redis);
    const running = runEval(spam(model, 2), { workers: redisWorkers(redis), concurrency: 1 });
    // Its process stands still: none of its beats is left.
    const standingStill = async (): Promise<number> => {
      const keys = await client.keys(`*${redis.queue}*alive*`);
      if (asked.length < 2) await client.del("none", ...keys);
      return asked.length;
    };
    await expect.poll(standingStill, { timeout: 60_000, interval: 20 }).toBeGreaterThan(1);
    const report = await running;
    expect([report.ended, report.attempts.length, asked.length]).toEqual([undefined, 2, 3]);
    expect(asked[1]).toBe(asked[0]);
  });

  test("EVL-53 workers that a run has closed say so to the next one", async () => {
    const redis = place();
    serve([spam()], redis);
    const workers = redisWorkers(redis);
    expect((await runEval(spam(), { workers })).ended).toBeUndefined();
    const message = "These redisWorkers were closed by an earlier run: make new ones.";
    expect((await runEval(spam(), { workers })).ended).toEqual({ why: "systemic", message });
  });

  test("EVL-53 what is kept is not asked again, and a part of an eval can be handed out", async () => {
    const redis = place();
    const asked: string[] = [];
    serve([spam(wordList(["Win"], asked))], redis);
    const store = memoryEvalStore();
    await runEval(spam(), { store, workers: redisWorkers(redis), sampleSize: 8 });
    expect(asked).toHaveLength(8);
    const report = await runEval(spam(), { store, workers: redisWorkers(redis) });
    expect([asked.length, report.reused]).toEqual([24, 8]);
  });

  test("EVL-53 the run's budget bounds what workers spend", async () => {
    const redis = place();
    const asked: string[] = [];
    serve([spam(wordList(["Win"], asked), 200)], { ...redis, concurrency: 4 });
    const report = await runEval(spam(undefined, 200), {
      workers: redisWorkers(redis),
      concurrency: 4,
      budget: { maxTotalTokens: 260 },
    });
    expect(report.ended?.why).toBe("budget");
    expect(asked.length).toBeGreaterThan(10);
    expect(report.spent.totalTokens).toBeLessThanOrEqual(260 + 4 * 13);
    expect(report.spent.totalTokens).toBe(asked.length * 13);
  });

  test("EVL-53 a worker with another definition refuses, and the run ends with a message that names both", async () => {
    const redis = place();
    const stop = serve([spam(answering(() => "{}", [], "other"))], redis);
    const report = await runEval(spam(), { workers: redisWorkers(redis), concurrency: 2 });
    expect(report.ended).toMatchObject({ why: "systemic", message: /another variant "default" of the eval "spam"/ });
    expect(report.ended?.message).toMatch(/[0-9a-f]{8}.* and [0-9a-f]{8}/);
    expect(report.attempts).toEqual([]);
    await stop();
    const data = mails(24).map((mail) => ({ ...mail, text: `${mail.text}!` }));
    serve([defineEval({ ...spamParts, data, adapter: wordList(["Win"]) })], redis);
    const other = await runEval(spam(), { workers: redisWorkers(redis), concurrency: 1 });
    expect(other.ended).toMatchObject({ why: "systemic", message: /another row "m\d+"/ });
  });
  test("EVL-53 an aborted run begins nothing more, and its workers stop", async () => {
    const redis = place();
    let begun = 0;
    const hanging = answering(async () => {
      begun += 1;
      await new Promise(() => {});
      return "";
    });
    const next = defineEval({ ...spamParts, name: "next", data: mails(24), adapter: wordList(["Win"]) });
    serve([spam(hanging), next], { ...redis, concurrency: 3, pacing: "off" });
    const ending = new AbortController();
    const running = runEval(spam(hanging), { workers: redisWorkers(redis), signal: ending.signal });
    while (begun < 3) await new Promise((resolve) => setTimeout(resolve, 10));
    ending.abort();
    const report = await running;
    expect(report.ended?.why).toBe("aborted");
    // The worker is free again for the next run, and begins nothing more of this one.
    expect((await runEval(next, { workers: redisWorkers(redis) })).attempts).toHaveLength(24);
    expect(begun).toBeLessThanOrEqual(6);
  });

  test("EVL-28 an attempt that an abort cuts short comes back from its worker with what it spent", async () => {
    const redis = place();
    const { of, secondIsAsked } = askingTwice();
    serve([of], redis);
    const ending = new AbortController();
    const own = redisWorkers(redis);
    const answers: Promise<AttemptRecord>[] = [];
    // The run waits a second for the answer: on a busy machine it may come later.
    const workers: AttemptWorkers = {
      run(job, signal) {
        const answer = own.run(job, signal);
        answers.push(answer);
        return answer;
      },
      async close() {
        await answers[0];
        await own.close();
      },
    };
    const running = runEval(of, { workers, signal: ending.signal });
    await secondIsAsked;
    ending.abort();
    expect(await answers[0]).toMatchObject({ status: "failed", usage: { totalTokens: 13 } });
    const report = await running;
    expect([report.ended?.why, report.attempts]).toEqual(["aborted", []]);
  });

  test("EVL-53 a worker that ends hands its attempts to another", async () => {
    const redis = place();
    let isSlow = true;
    let begun = 0;
    const slow = answering(async (text) => {
      begun += 1;
      if (isSlow) await new Promise(() => {});
      return JSON.stringify({ label: text.includes("Win") ? "spam" : "ham" });
    });
    const stop = serve([spam(slow)], { ...redis, concurrency: 5, pacing: "off" });
    const running = runEval(spam(slow), { workers: redisWorkers(redis) });
    while (begun < 5) await new Promise((resolve) => setTimeout(resolve, 10));
    await stop();
    isSlow = false;
    serve([spam(slow)], redis);
    const report = await running;
    expect([report.attempts.length, report.ended]).toEqual([24, undefined]);
    expect(begun).toBe(29);
  });

  test("EVL-53 two of three workers are killed: their attempts are made by the third, and each is recorded once", async () => {
    const redis = place(1_000);
    const folder = await mkdtemp(join(tmpdir(), "proviso-evals-"));
    const program = [...fromSources, join(import.meta.dirname, "processes", "attempts.ts")];
    const children = new Set<ChildProcess>();
    const start = async (): Promise<ChildProcess> => {
      const child = spawn(process.execPath, [...program, redis.url, redis.queue], {
        stdio: ["pipe", "pipe", "inherit"],
      });
      children.add(child);
      await once(child.stdout, "data");
      return child;
    };
    using store = sqliteEvalStore(join(folder, "evals.sqlite"));
    onTestFinished(async () => {
      for (const child of children) child.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    });
    const count = inject("exhaustive") ? 3_000 : 200;
    let workers: readonly ChildProcess[] = await Promise.all([start(), start(), start()]);
    let done = 0;
    let kills = 0;
    const { slowMails } = await import("./processes/slow-mails.ts");
    const report = await runEval(slowMails, {
      store,
      workers: redisWorkers(redis),
      concurrency: 40,
      sampleSize: count,
      onProgress(progress) {
        done = progress.done;
        if (done < (count / 4) * (kills + 1) || kills === 2) return;
        kills += 1;
        workers[0]?.kill("SIGKILL");
        workers = workers.slice(1);
      },
    });
    expect([report.attempts.length, report.ended, kills]).toEqual([count, undefined, 2]);
    expect(new Set(report.attempts.map(({ rowId }) => rowId)).size).toBe(count);
    expect(report.variants["default"]?.scores["right"]?.value).toBe(1);
  });

  test("EVL-53 what cannot be is refused, and where no Redis answers the run says so", async () => {
    expect(() => redisWorkers({ url: "http://x" })).toThrow("redis://");
    expect(() => redisWorkers({ ...place(), leaseMs: 0 })).toThrow("leaseMs");
    await expect(serveAttempts([], place())).rejects.toThrow("at least one eval");
    await expect(serveAttempts([spam(), spam()], place())).rejects.toThrow('Two evals have the name "spam"');
    await expect(serveAttempts([spam()], { url: "redis://a:secret@127.0.0.1:1" })).rejects.toThrow(
      /^No Redis answers at 127.0.0.1:1: /,
    );
    const report = await runEval(spam(), { workers: redisWorkers({ url: "redis://127.0.0.1:1" }) });
    expect(report.ended).toMatchObject({ why: "systemic", message: /No Redis answers at 127.0.0.1:1/ });
  });
});

test("EVL-53 workers of one's own: the run keeps order, budget and statistics, and closes them", async () => {
  let closed = 0;
  const jobs: unknown[] = [];
  const workers: AttemptWorkers = {
    async run({ key, eval: name, budget }) {
      jobs.push([name, key.repetition, budget?.maxTotalTokens]);
      throw new Error("No desk is free.");
    },
    async close() {
      closed += 1;
    },
  };
  const report = await runEval(spam(), { workers, concurrency: 1, budget: { maxTotalTokens: 500 } });
  expect(report.ended).toEqual({ why: "systemic", message: "No desk is free." });
  expect([closed, jobs]).toEqual([1, [["spam", 1, 500]]]);
});

describe("EVL-21 EVL-53 nothing is handed out once the budget is spent, also while the store keeps a beginning", () => {
  const total = (tokens: number) => ({ usage: { totalTokens: tokens } });
  const output = (tokens: number) => ({ usage: { outputTokens: tokens } });
  const short = { ...total(50), failure: { reason: "budget_error", message: "It did not fit." } };
  const spending = [
    ["exactly all tokens", 3, { maxTotalTokens: 100 }, [total(10), total(90)]],
    ["exactly all tokens of answers", 3, { maxOutputTokens: 100 }, [output(10), output(90)]],
    ["more than was expected", 2, { maxTotalTokens: 100 }, [total(50), total(45)]],
    ["too much for another attempt", 2, { maxTotalTokens: 100 }, [total(10), short]],
  ] as const;

  test.each(spending)("%s, %d side by side", async (_, concurrency, budget, made) => {
    const kept = new Map((await runEval(spam())).attempts.map((record) => [record.rowId, record]));
    const store = memoryEvalStore();
    // What an attempt costs is known, else the first one would run alone.
    await runEval(spam(undefined, 20), { store });
    const [begins, spent] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const budgets: (Budget | undefined)[] = [];
    let begun = 0;
    // The third beginning waits for a lock, until the second attempt has spent what was left.
    const slow: EvalStore = {
      ...store,
      async begin(...of) {
        if (++begun === 3) {
          begins.resolve();
          await spent.promise;
        }
        await store.begin(...of);
      },
    };
    const workers: AttemptWorkers = {
      async run({ key, budget: left }) {
        const at = budgets.push(left);
        if (at === 2) {
          await begins.promise;
          setTimeout(spent.resolve, 20);
        }
        const record = kept.get(key.rowId) as AttemptRecord;
        const { usage, ...rest } = made[at - 1] ?? total(0);
        return { ...record, ...(rest as object), usage: { ...record.usage, ...usage } };
      },
      close: async () => {},
    };
    const report = await runEval(spam(undefined, 23), { store: slow, workers, concurrency, budget });
    expect(report.ended?.why).toBe("budget");
    expect(budgets).toHaveLength(2);
    expect(budgets.every((left) => Object.values(left ?? {}).some((limit) => limit === 100))).toBe(true);
  });
});

test("EVL-53 a worker whose scorers, variant, row or prompt are others refuses, and the message names both", async () => {
  const data = mails(4);
  const here = { ...spamParts, data, adapter: wordList(["Win"]) };
  const servedBy = async (there: object): Promise<EvalReport["ended"]> => {
    const workers = { run: attemptServer([defineEval({ ...here, ...there })], {}), close: async () => {} };
    return (await runEval(defineEval(here), { workers, concurrency: 1 })).ended;
  };
  expect(await servedBy({})).toBeUndefined();
  const others: readonly (readonly [object, string])[] = [
    [{ scorers: { right: { score: () => true, version: "2" } } }, 'another scorer "right"'],
    [{ adapter: wordList(["Win"]), variants: { default: { version: "2" } } }, 'another variant "default"'],
    [{ data: data.map((row) => ({ ...row, label: "ham" as const })) }, 'another row "m'],
    [{ prompt: ({ text }: Mail) => triage.bind({ text: `${text}!` }) }, 'another prompt for the row "m'],
  ];
  for (const [there, says] of others) {
    expect(await servedBy(there), says).toEqual({ why: "systemic", message: expect.stringContaining(says) });
  }
});
