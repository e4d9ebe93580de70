// Stores of attempts and of overrides are the program's own, so they may never settle.
import { memoryOverrides } from "@proviso/runtime";
import { defineEval, memoryEvalStore, runEval, type EvalStore } from "@proviso/evals";
import { describe, expect, it } from "vitest";
import { mails, triage, wordList, type Mail } from "./support.ts";

const never = (): Promise<never> => new Promise(() => {});
const correct = ({ row, output }: { readonly row: Mail; readonly output: { readonly label: string } }): boolean =>
  output.label === row.label;

const evalOf = (timeoutMs: number, more: object = {}) =>
  defineEval({
    name: "spam",
    data: mails(4),
    prompt: ({ text }: Mail) => triage.bind({ text }),
    adapter: wordList(["Win"]),
    scorers: { correct },
    timeoutMs,
    ...more,
  });

/** A store whose attempts are kept in memory, a step later as a file's are, but for the methods that are given. */
const storeOf = (more: Partial<EvalStore>): EvalStore => {
  const store = memoryEvalStore();
  return {
    open: (run) => store.open(run),
    begin: async (...of) => store.begin(...of),
    finish: async (...of) => store.finish(...of),
    close: () => store.close(),
    ...more,
  };
};

describe("a store of attempts that does not settle", () => {
  const pages = { open: async () => ({ finished: { [Symbol.asyncIterator]: () => ({ next: never }) }, lost: [] }) };
  const cases: readonly (readonly [string, Partial<EvalStore>, answered: number])[] = [
    ["when it is opened", { open: never }, 0],
    ["when it is read", pages, 0],
    ["when an attempt begins", { begin: never }, 0],
    ["when an attempt has ended", { finish: never }, 4],
  ];

  it.each(cases)("EVL-28 %s: an abort ends the run, with what there is", async (_, more, answered) => {
    const ending = new AbortController();
    const asked: string[] = [];
    const running = runEval(evalOf(60_000, { adapter: wordList(["Win"], asked) }), {
      store: storeOf(more),
      signal: ending.signal,
    });
    // What is asked is answered a moment later.
    await expect.poll(() => asked.length).toBe(answered);
    setTimeout(() => ending.abort(), 40);
    const report = await running;
    expect(report.ended?.why).toBe("aborted");
    expect(report.variants["default"]?.counts).toMatchObject({ answered: 0, notRun: 4 });
    expect(report.spent.totalTokens).toBe(answered * 13);
  });

  it.each(cases)("EVL-28 EVL-65 %s: its time ends, and the run with its error", async (_, more) => {
    const late = /^The store of attempts: It did not settle within 30 milliseconds\.$/u;
    await expect(runEval(evalOf(30), { store: storeOf(more) })).rejects.toThrow(late);
  });

  it("EVL-28 the report is there where keeping it does not settle", async () => {
    const report = await runEval(evalOf(30), { store: storeOf({ end: never }) });
    expect(report.ended).toBeUndefined();
    expect(report.attempts).toHaveLength(4);
  });

  it("EVL-23 EVL-28 what a store keeps soon after an abort is done", async () => {
    const ending = new AbortController();
    const store = memoryEvalStore();
    const slow = storeOf({
      async finish(record, runId) {
        ending.abort();
        await new Promise((done) => setTimeout(done, 20));
        await store.finish(record, runId);
      },
      open: (run) => store.open(run),
    });
    const report = await runEval(evalOf(5_000), { store: slow, signal: ending.signal, concurrency: 1 });
    expect(report.ended?.why).toBe("aborted");
    expect(report.attempts).toHaveLength(1);
    expect((await runEval(evalOf(5_000), { store })).reused).toBe(1);
  });
});

describe("a store of overrides that does not settle", () => {
  const overrides = { store: { ...memoryOverrides(), resolve: never } };
  const stuck = (timeoutMs: number) => evalOf(timeoutMs, { variants: { now: {}, stored: { overrides } } });

  it("EVL-28 an abort ends the run", async () => {
    const report = await runEval(stuck(5_000), { signal: AbortSignal.timeout(20) });
    expect(report.ended?.why).toBe("aborted");
    expect(report.attempts).toEqual([]);
  });

  it("EVL-28 EVL-65 its time ends, and the run with its error, before anything is spent", async () => {
    const asked: string[] = [];
    const of = evalOf(30, { adapter: wordList(["Win"], asked), variants: { now: {}, stored: { overrides } } });
    const late = 'The store of overrides of the variant "stored": It did not settle within 30 milliseconds.';
    await expect(runEval(of)).rejects.toThrow(late);
    expect(asked).toEqual([]);
  });
});
