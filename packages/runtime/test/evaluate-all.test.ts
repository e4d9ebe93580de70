import { definePrompt, DefinitionError, isEvaluationFailure, trackBudget, type ModelProvider } from "@proviso/core";
import { evaluateAll, modelAdapter, type Evaluated } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import fc from "fast-check";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const row = definePrompt({ key: "row", params: z.object({ n: z.number() }), text: "Row {{n}}" });
const rows = (count: number) => Array.from({ length: count }, (_, n) => row.bind({ n }));

/** A model whose answer to row n takes `ms(n)` milliseconds; `fails` names rows that are refused. */
function slowModel(ms: (n: number) => number, fails: (n: number) => boolean = () => false) {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const seen = { running: 0, most: 0, asked: [] as number[] };
  const provider: ModelProvider = {
    name: "m",
    model: "m",
    capabilities: { tools: false, nativeOutput: false },
    async generate({ messages, signal }) {
      const n = Number(messages.at(-1)?.text.slice("Row ".length));
      seen.asked.push(n);
      seen.most = Math.max(seen.most, ++seen.running);
      try {
        await clock.sleep(ms(n), signal);
      } finally {
        seen.running--;
      }
      if (fails(n)) return { failure: "provider", reason: "bad_request", message: `no row ${n}` };
      const message = { role: "assistant", text: `answer ${n}`, toolCalls: [] } as const;
      return { message, finishReason: "stop", usage: { inputTokens: 10, outputTokens: 10 } };
    },
  };
  return { adapter: modelAdapter(provider, environment), clock, seen };
}

type Clock = ReturnType<typeof slowModel>["clock"];

/** Reads all results while time passes. */
async function read<T>(results: AsyncIterable<Evaluated<T>>, clock: Clock): Promise<Evaluated<T>[]> {
  const all: Evaluated<T>[] = [];
  let isDone = false;
  const reading = (async () => {
    for await (const result of results) all.push(result);
  })().finally(() => (isDone = true));
  reading.catch(() => {});
  for (let steps = 0; !isDone; steps++) {
    if (steps > 10_000) throw new Error("the batch does not end");
    await clock.advance(10);
  }
  await reading;
  return all;
}

const shown = (result: Evaluated<string>): string =>
  result.ok ? `${result.index} ${result.response.output}` : `${result.index} ${(result.error as Error).message}`;

describe("BAT-1", () => {
  test("BAT-1 no more than `concurrency` run at once, and all do", async () => {
    const { adapter, clock, seen } = slowModel((n) => 10 + (n % 3) * 10);
    const results = await read(evaluateAll(rows(50), { adapter, concurrency: 7 }), clock);
    expect(results).toHaveLength(50);
    expect(seen.most).toBe(7);
  });

  test("BAT-1 results that are not read hold the batch up", async () => {
    const { adapter, clock, seen } = slowModel(() => 10);
    const iterator = evaluateAll(rows(1_000), { adapter, concurrency: 2 })[Symbol.asyncIterator]();
    const first = iterator.next();
    await clock.advance(10_000);
    await first;
    await clock.advance(10_000);
    expect(seen.asked.length).toBeLessThanOrEqual(2 * 4 + 2 + 1);
    await iterator.return?.();
  });

  test("BAT-1 four results for each that may run wait behind one that is slow; then nothing more is begun", async () => {
    const { adapter, clock, seen } = slowModel((n) => (n === 0 ? 100_000 : 10));
    const iterator = evaluateAll(rows(1_000), { adapter, concurrency: 2 })[Symbol.asyncIterator]();
    const first = iterator.next();
    await clock.advance(50_000);
    expect(seen.asked).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    await clock.advance(50_000);
    expect(await first).toMatchObject({ value: { index: 0 } });
    await iterator.return?.();
  });

  test("BAT-1 while the reader works with a result, prompts are begun until four results for each that may run wait", async () => {
    const { adapter, clock, seen } = slowModel(() => 10);
    const results = evaluateAll(rows(1_000), { adapter, concurrency: 8 });
    const iterator = results[Symbol.asyncIterator]();
    const first = iterator.next();
    await clock.advance(15);
    await first;
    await clock.advance(10_000);
    expect([results.progress(), seen.most]).toEqual([{ begun: 33, succeeded: 33, failed: 0 }, 8]);
    const second = iterator.next();
    await clock.advance(10_000);
    expect(await second).toMatchObject({ value: { index: 1 } });
    expect(results.progress().succeeded).toBe(34);
    await iterator.return?.();
  });

  test("BAT-1 a source that waits for its next prompt holds no result back", async () => {
    const { adapter, clock } = slowModel(() => 10);
    async function* slowly() {
      yield row.bind({ n: 0 });
      await clock.sleep(100_000);
      yield row.bind({ n: 1 });
    }
    const iterator = evaluateAll(slowly(), { adapter })[Symbol.asyncIterator]();
    const first = iterator.next();
    await clock.advance(20);
    expect(await Promise.race([first, Promise.resolve("waits")])).toMatchObject({ value: { ok: true, index: 0 } });
    const second = iterator.next();
    await clock.advance(200_000);
    expect(await second).toMatchObject({ value: { ok: true, index: 1 } });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test("BAT-1 prompts that have ended and were read leave nothing while one takes long", async () => {
    const { adapter, clock } = slowModel((n) => (n === 0 ? 1_000_000 : 1));
    const results = evaluateAll(rows(4_000), { adapter, order: "settled", concurrency: 2 })[Symbol.asyncIterator]();
    const bytesAfter = async (count: number): Promise<number> => {
      for (let n = 0; n < count; n++) await Promise.all([results.next(), clock.advance(1)]);
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = await bytesAfter(999);
    expect((await bytesAfter(3_000)) - before).toBeLessThan(3_000 * 100);
    const [last] = await Promise.all([results.next(), clock.advance(1_000_000)]);
    expect(last.value).toMatchObject({ ok: true, index: 0 });
  });
});

describe("BAT-2", () => {
  test("BAT-2 results come in the order of the prompts, a failure as one of them", async () => {
    const { adapter, clock } = slowModel(
      (n) => 100 - n * 10,
      (n) => n === 2,
    );
    const all = evaluateAll(rows(5), { adapter, concurrency: 5 });
    expect((await read(all, clock)).map(shown)).toEqual([
      "0 answer 0",
      "1 answer 1",
      "2 no row 2",
      "3 answer 3",
      "4 answer 4",
    ]);
    expect(all.progress()).toEqual({ begun: 5, succeeded: 4, failed: 1 });
  });

  test('BAT-2 with order "settled" they come as they settle', async () => {
    const { adapter, clock } = slowModel((n) => 100 - n * 20);
    const results = await read(evaluateAll(rows(4), { adapter, concurrency: 4, order: "settled" }), clock);
    expect(results.map(({ index }) => index)).toEqual([3, 2, 1, 0]);
  });

  test("BAT-2 whatever the times, failures and concurrency, each prompt has one result, in order", async () => {
    const cases = fc.record({
      times: fc.array(fc.record({ ms: fc.integer({ min: 0, max: 50 }), fails: fc.boolean() }), { maxLength: 20 }),
      concurrency: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ times, concurrency }) => {
        const { adapter, clock } = slowModel(
          (n) => times[n]?.ms ?? 0,
          (n) => times[n]?.fails ?? false,
        );
        const results = await read(evaluateAll(rows(times.length), { adapter, concurrency }), clock);
        expect(results.map(({ index, ok }) => [index, ok])).toEqual(times.map(({ fails }, n) => [n, !fails]));
      }),
      { numRuns: 30 },
    );
  });
});

test("BAT-3 a budget holds for all of them together", async () => {
  const { adapter, clock } = slowModel(() => 1);
  const results = await read(
    evaluateAll(rows(20), { adapter, budget: { maxTotalTokens: 100 }, concurrency: 3 }),
    clock,
  );
  const codes = results.map((result) => (result.ok ? "ok" : isEvaluationFailure(result.error) && result.error.code));
  expect(codes.filter((code) => code === "ok").length).toBeLessThanOrEqual(5);
  expect(codes.filter((code) => code === "budget").length).toBeGreaterThanOrEqual(15);
});

test("BAT-3 a tracker is shared with others", async () => {
  const { adapter, clock } = slowModel(() => 1);
  const budget = trackBudget({ maxTotalTokens: 10_000 });
  await read(evaluateAll(rows(3), { adapter, budget }), clock);
  expect(budget.consumed.totalTokens).toBe(60);
});

describe("BAT-4", () => {
  test("BAT-4 an abort begins nothing more, and what runs ends as a result", async () => {
    const { adapter, clock, seen } = slowModel((n) => (n < 2 ? 10 : 1_000));
    const controller = new AbortController();
    const results = evaluateAll(rows(100), { adapter, concurrency: 4, signal: controller.signal });
    const reading = read(results, clock);
    await clock.advance(100);
    controller.abort();
    const all = await reading;
    expect(all.map((result) => (result.ok ? "ok" : (result.error as { code: string }).code))).toEqual([
      "ok",
      "ok",
      ...Array.from({ length: all.length - 2 }, () => "aborted"),
    ]);
    expect(all.length).toBe(seen.asked.length);
    expect(results.progress().begun).toBe(all.length);
  });

  test("BAT-4 leaving the loop aborts what runs, waits for it and closes the source", async () => {
    const { adapter, clock, seen } = slowModel((n) => (n === 0 ? 1 : 1_000));
    let isClosed = false;
    function* source() {
      try {
        yield* rows(100);
      } finally {
        isClosed = true;
      }
    }
    const reading = (async () => {
      for await (const _ of evaluateAll(source(), { adapter, concurrency: 4 })) break;
    })();
    await clock.advance(10);
    await reading;
    expect({ isClosed, running: seen.running }).toEqual({ isClosed: true, running: 0 });
    expect(clock.pending).toBe(0);
  });

  test("BAT-4 leaving while the source never answers does not hang", async () => {
    const { adapter, clock } = slowModel(() => 1);
    async function* never() {
      yield row.bind({ n: 0 });
      await new Promise(() => {});
    }
    const reading = (async () => {
      for await (const _ of evaluateAll(never(), { adapter })) break;
    })();
    await clock.advance(10);
    await reading;
  });

  test("BAT-4 an abort ends an iteration whose source waits for its next prompt, and closes the source", async () => {
    const adapter = modelAdapter(scriptedModel([{ text: "answer 0" }]));
    const stop = new AbortController();
    let isClosed = false;
    const queue = {
      asked: 0,
      [Symbol.asyncIterator]: () => queue,
      next: () => (queue.asked++ === 0 ? Promise.resolve({ value: row.bind({ n: 0 }) }) : new Promise<never>(() => {})),
      return: async () => ((isClosed = true), { done: true as const, value: undefined }),
    };
    const results: number[] = [];
    const iterating = (async () => {
      for await (const { index } of evaluateAll(queue, { adapter, signal: stop.signal })) results.push(index);
    })();
    while (results.length === 0) await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    await iterating;
    expect([results, isClosed]).toEqual([[0], true]);
  });

  test("BAT-4 a source that throws ends the iteration after the results of what was begun", async () => {
    const { adapter, clock } = slowModel(() => 50);
    function* broken() {
      yield* rows(2);
      throw new Error("the file ended early");
    }
    const indexes: number[] = [];
    const reading = (async () => {
      for await (const { index } of evaluateAll(broken(), { adapter })) indexes.push(index);
    })();
    reading.catch(() => {});
    await clock.advance(200);
    await expect(reading).rejects.toThrow("the file ended early");
    expect(indexes).toEqual([0, 1]);
  });

  test("BAT-4 an iteration of nothing ends at once", async () => {
    const { adapter, clock } = slowModel(() => 1);
    expect(await read(evaluateAll([], { adapter }), clock)).toEqual([]);
  });
});

test.each([
  [{}, "evaluateAll needs an adapter"],
  [{ concurrency: 0 }, "concurrency must be a positive whole number"],
  [{ concurrency: 1.5 }, "concurrency must be a positive whole number"],
  [{ order: "any" }, 'order must be "given" or "settled"'],
  [{ limit: 3 }, "evaluateAll has no option limit. It takes adapter, concurrency, order, "],
  [{ maxConcurrency: 3 }, "evaluateAll has no option maxConcurrency. Did you mean concurrency?"],
  [{ budget: 5 }, "The option budget must be limits, { maxTotalTokens: 10_000 } for example"],
  [{ budget: null }, "The option budget must be limits"],
  [{ budget: {} }, "A budget needs at least one limit"],
  [{ signal: {} }, "The option signal must be an AbortSignal"],
  [{ deadline: 1_000 }, "The option deadline must be a deadline"],
  [{ maxTurns: 0 }, "The option maxTurns must be a positive whole number"],
  [{ settings: { temperature: 3 } }, "The option settings.temperature must be a number from 0 to 2"],
  [{ messages: [{ role: "x" }] }, "messages[0].text must be a string"],
  [{ continueFrom: [{ role: "x" }] }, "[0].text must be a string"],
  [{ session: {} }, "session"],
])("BAT-1 BAT-3 ERR-4 options that cannot be are refused at once: %o", (options, message) => {
  const adapter = Object.keys(options).length === 0 ? {} : { adapter: slowModel(() => 1).adapter };
  const asked = (): unknown => evaluateAll(rows(1), { ...adapter, ...options } as never);
  expect(asked).toThrow(DefinitionError);
  expect(asked).toThrow(message);
});

test("BAT-2 the results are iterated once", () => {
  const results = evaluateAll(rows(1), { adapter: slowModel(() => 1).adapter });
  results[Symbol.asyncIterator]();
  expect(() => results[Symbol.asyncIterator]()).toThrow("iterated once");
});

test.each([null, undefined, 5, {}, "text"])("BAT-1 %o is no prompts: it is refused at once", (prompts) => {
  expect(() => evaluateAll(prompts as never, { adapter: slowModel(() => 0).adapter })).toThrow(
    "evaluateAll needs prompts that can be iterated",
  );
});

test("SEC-3 a source that cannot be closed ends no process when the loop is left while it is asked", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const waiting = Promise.withResolvers<void>();
  async function* prompts() {
    yield row.bind({ n: 1 });
    await waiting.promise;
  }
  const source = prompts();
  source.return = () => Promise.reject(new Error("the cursor could not be closed"));
  const all = evaluateAll(source, { adapter: modelAdapter(scriptedModel([{ text: "a" }])), concurrency: 2 });
  for await (const { ok } of all) {
    expect(ok).toBe(true);
    break;
  }
  waiting.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});

test("BAT-2 an adapter of other making that throws at once fails its prompt alone", async () => {
  const { adapter: model, clock } = slowModel(() => 1);
  let asked = 0;
  const adapter: typeof model = {
    ...model,
    evaluate(...given: Parameters<typeof model.evaluate>) {
      if (++asked === 2) throw new TypeError("thrown at once");
      return model.evaluate(...given);
    },
  } as typeof model;
  const results = await read(evaluateAll(rows(3), { adapter, concurrency: 1 }), clock);
  expect(results.map(({ ok }) => ok)).toEqual([true, false, true]);
});
