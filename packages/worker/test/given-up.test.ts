// A run that was given up while its journal has it as open: its deadline passed between two attempts.
import { deadlineIn, definePrompt } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { defineRun, QueueError } from "@proviso/worker";
import { bullmqQueue, serveRuns } from "@proviso/worker/bullmq";
import { Queue } from "bullmq";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { noServer, startRedis, type RedisServer } from "./redis-server.ts";
import { counting, gate, until } from "./support.ts";
import { z } from "zod";

describe.skipIf(noServer !== undefined)(`a run that was given up ${noServer ?? ""}`, { timeout: 300_000 }, () => {
  let server: RedisServer;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server[Symbol.asyncDispose]());

  test("FLT-4 the result says why, and is waited for when the run is added again", async () => {
    const journal = memoryJournal();
    const options = { url: server.url, queue: `q-${randomUUID()}`, journal };
    const queue = bullmqQueue(options);
    onTestFinished(() => queue[Symbol.asyncDispose]());
    const [begun, goesOn] = [gate(), gate()];
    let isDeployed = false;
    const kind = counting(async (_number, { signal }) => {
      begun.open();
      if (isDeployed) return goesOn.opened;
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    });
    const params = { name: "ada", upTo: 2 };
    // Where a busy machine begins the run after its deadline, another one has a later one.
    let [id, deadline] = ["", deadlineIn(0)];
    let tried = 0;
    for (let isBegun = false; !isBegun; tried++) {
      [id, deadline] = [`r${tried}`, deadlineIn(1_500 * 4 ** tried)];
      await queue.add(kind, params, { id, deadline });
      const first = await serveRuns([kind], options);
      const isOver = queue.result(kind, id).catch(() => {});
      isBegun = await Promise.race([begun.opened.then(() => true), isOver.then(() => false)]);
      await first[Symbol.asyncDispose]();
    }
    await new Promise((resolve) => setTimeout(resolve, deadline.expiresAt.getTime() - Date.now() + 20));
    isDeployed = true;
    await using _second = await serveRuns([kind], options);
    const given = await queue.result(kind, id).catch((error: unknown) => error);
    expect(given).toBeInstanceOf(QueueError);
    expect(given).toMatchObject({ reason: "failed", run: id });
    expect((given as Error).message).toMatch(/given up.*: .*deadline.* has passed\.$/u);
    expect((await journal.describe(id))?.state).toBe("open");
    expect(await queue.counts()).toMatchObject({ failed: tried });

    // The job of the attempt that failed is gone a moment after its result is known.
    const raw = new Queue(options.queue, { connection: { url: server.url } });
    onTestFinished(() => raw.close());
    await until(async () => (await raw.getJobs()).length === 0);
    expect(await queue.add(kind, params, { id, deadline: deadlineIn(300_000) })).toBe("known");
    const result = queue.result(kind, id);
    let isSettled = false;
    void result.then(
      () => (isSettled = true),
      () => (isSettled = true),
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(isSettled).toBe(false);
    expect(await queue.counts()).toMatchObject({ running: 1, failed: tried - 1 });
    goesOn.open();
    expect((await result).text).toBe("2 for ada");
    expect(await queue.counts()).toMatchObject({ executed: 1, failed: tried - 1 });
  });

  test("FLT-4 of a run whose deadline passed before it began the result says so, in one sentence", async () => {
    const options = { url: server.url, queue: `q-${randomUUID()}`, journal: memoryJournal() };
    const queue = bullmqQueue(options);
    onTestFinished(() => queue[Symbol.asyncDispose]());
    const kind = counting(() => {});
    await queue.add(kind, { name: "ada", upTo: 1 }, { id: "late", deadline: deadlineIn(0) });
    await using _worker = await serveRuns([kind], options);
    await expect(queue.result(kind, "late")).rejects.toThrow(/failed before it began: .*has passed\.$/u);
  });

  test("FLT-1 the answer of a run is read after its prompt has changed, by several at once", async () => {
    const options = { url: server.url, queue: `q-${randomUUID()}`, journal: memoryJournal() };
    const queue = bullmqQueue(options);
    onTestFinished(() => queue[Symbol.asyncDispose]());
    const kind = counting(() => {});
    await queue.add(kind, { name: "ada", upTo: 1 }, { id: "r" });
    await using _worker = await serveRuns([kind], options);
    expect((await queue.result(kind, "r")).text).toBe("1 for ada");
    const prompt = definePrompt({ key: "count", params: z.object({}).loose(), text: "Count in another way." });
    const changed = defineRun({ prompt, adapter: kind.adapter });
    const answers = await Promise.all([1, 2].map(() => queue.result(changed, "r")));
    expect(answers.map(({ text }) => text)).toEqual(["1 for ada", "1 for ada"]);
  });

  test("FLT-1 the answer of a run is read whose schema changes or refuses its recorded params, or now asks for more", async () => {
    const options = { url: server.url, queue: `q-${randomUUID()}`, journal: memoryJournal() };
    const queue = bullmqQueue(options);
    onTestFinished(() => queue[Symbol.asyncDispose]());
    const answering = modelAdapter(
      scriptedModel(
        Array.from({ length: 5 }, () => ({ messages }) => ({ text: `heard ${messages.at(-1)?.text}` })),
      ),
    );
    const failing = modelAdapter(
      scriptedModel([{ failure: "provider", reason: "content_filter", message: "Withheld." }]),
    );
    const text = (key: string, params: z.ZodObject, words: string, adapter = answering) =>
      defineRun({ prompt: definePrompt({ key, params, text: words as never }), adapter });
    const marked = z.string().transform((word) => `<${word}>`);
    const counted = text(
      "counted",
      z.object({ tags: z.string().transform((tags) => tags.split(",").length) }),
      "{{tags}}",
    );
    const changed = text("changed", z.object({ word: marked }), "{{word}}");
    const failed = text("failed", z.object({ word: marked }), "{{word}}", failing);
    const before = text("more", z.object({ word: z.string() }), "{{word}}");
    await using _worker = await serveRuns([counted, changed, failed, before], options);
    await queue.add(counted, { tags: "a,b,c" }, { id: "counted" });
    await queue.add(changed, { word: "x" }, { id: "changed" });
    await queue.add(failed, { word: "x" }, { id: "failed" });
    await queue.add(before, { word: "x" }, { id: "more" });
    expect((await queue.result(counted, "counted")).output).toBe("heard 3");
    expect((await queue.result(changed, "changed")).output).toBe("heard <x>");
    await expect(queue.result(failed, "failed")).rejects.toMatchObject({
      code: "provider",
      message: expect.stringContaining("Withheld"),
    });
    expect((await queue.result(before, "more")).output).toBe("heard x");
    const asksForMore = text("more", z.object({ word: z.string(), language: z.string() }), "{{word}} in {{language}}");
    expect((await queue.result(asksForMore, "more")).output).toBe("heard x");
  });

  test("FLT-5 who follows progress is done when the queue is disposed", async () => {
    const queue = bullmqQueue({ url: server.url, queue: `q-${randomUUID()}`, journal: memoryJournal() });
    const following = (async () => {
      for await (const _ of queue.progress());
      return "done";
    })();
    await queue.counts();
    await queue[Symbol.asyncDispose]();
    expect(await following).toBe("done");
  });
});
