// Data and workers are the program's own, so they may never settle.
import { deadlineIn, definePrompt, trackBudget } from "@proviso/core";
import { defineEval, runEval, type AttemptWorkers, type RunOptions } from "@proviso/evals";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { mails, triage, wordList, type Mail } from "./support.ts";

const never = (): Promise<never> => new Promise(() => {});

const evalOf = (more: object = {}) =>
  defineEval({
    name: "spam",
    data: mails(4),
    prompt: ({ text }: Mail) => triage.bind({ text }),
    adapter: wordList(["Win"]),
    scorers: { correct: ({ row, output }) => output.label === row.label },
    ...more,
  });

/** Rows of which the third never comes, and whether the one that reads them said that it reads no more. */
function stuckData(): { readonly data: AsyncIterable<Mail>; isEnded: boolean } {
  const rows = mails(2).values();
  const stuck = {
    isEnded: false,
    data: {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          const { done, value } = rows.next();
          return done === true ? never() : { done: false as const, value };
        },
        return: () => {
          stuck.isEnded = true;
          return never();
        },
      }),
    },
  };
  return stuck;
}

describe("data that never come", () => {
  it("EVL-65 a file of a prompt whose bytes never come ends the run before anything is spent", async () => {
    class Stuck extends File {
      override arrayBuffer = never;
    }
    const file = new Stuck(["a"], "a.png", { type: "image/png" });
    const template = definePrompt({
      key: "look",
      params: z.object({ picture: z.instanceof(File) }),
      sections: [{ key: "s", role: "user", text: "{{picture}}" }],
    });
    const prompt = () => template.bind({ picture: file });
    const of = defineEval({
      name: "look",
      data: mails(4),
      prompt,
      adapter: wordList(["Win"]),
      scorers: { any: () => true },
      timeoutMs: 30,
    });
    await expect(runEval(of)).rejects.toThrow(/A file of the prompt of the row "m\d": It did not settle within 30/);
  });

  it.each<readonly [what: string, options: () => RunOptions, timeoutMs: number, message: string]>([
    ["an abort", () => ({ signal: AbortSignal.timeout(30) }), 60_000, "The data of the eval: The run was aborted."],
    ["an abort before", () => ({ signal: AbortSignal.abort() }), 60_000, "The data of the eval: The run was aborted."],
    ["timeoutMs", () => ({}), 30, "The data of the eval: It did not settle within 30 milliseconds."],
    [
      "the deadline of the budget",
      () => ({ budget: trackBudget({ maxTotalTokens: 1_000, deadline: deadlineIn(30) }) }),
      60_000,
      "The data of the eval: It did not settle within",
    ],
  ])(
    "EVL-65 %s ends the run before anything is spent",
    async (_, options, timeoutMs, message) => {
      const stuck = stuckData();
      await expect(runEval(evalOf({ data: stuck.data, timeoutMs }), options())).rejects.toThrow(message);
      expect(stuck.isEnded).toBe(true);
    },
    300_000,
  );

  it("EVL-65 data that fail are the program's own error", async () => {
    const failing = (async function* () {
      yield* mails(1);
      throw new RangeError("The file is torn.");
    })();
    await expect(runEval(evalOf({ data: failing }))).rejects.toThrow(RangeError);
  });
});

describe("workers that never settle", () => {
  const workersOf = (more: Partial<AttemptWorkers>): AttemptWorkers => ({ run: never, close: async () => {}, ...more });

  it("EVL-28 an abort ends the run, with what there is, also where they do not close", async () => {
    const begun = performance.now();
    const workers = workersOf({ close: never });
    const report = await runEval(evalOf(), { workers, signal: AbortSignal.timeout(30) });
    expect(report.ended?.why).toBe("aborted");
    expect(report.variants["default"]?.counts).toMatchObject({ answered: 0, notRun: 4 });
    // A second for each of the two is the bound; a minute is none.
    expect(performance.now() - begun).toBeLessThan(30_000);
  }, 300_000);

  it("EVL-28 what a worker says soon after the abort that it spent is counted", async () => {
    const ending = new AbortController();
    const run: AttemptWorkers["run"] = async (job) => {
      ending.abort();
      await new Promise((done) => setTimeout(done, 20));
      const spent = { inputTokens: 10, outputTokens: 3, totalTokens: 13, cachedInputTokens: 0, cacheWriteTokens: 0 };
      const usage = { ...spent, reasoningTokens: 0, estimated: false };
      const rest = {
        judgeUsage: { ...usage, inputTokens: 0, outputTokens: 0, totalTokens: 0 },
        turns: 1,
        durationMs: 1,
      };
      const failure = { reason: "unknown_error" as const, message: "Cut." };
      const of = { ...job.key, rowHash: "", subjectHash: "", status: "failed" as const, failure, scores: {} };
      return { ...of, ...rest, usage, model: undefined };
    };
    const report = await runEval(evalOf(), { workers: workersOf({ run }), signal: ending.signal, concurrency: 1 });
    expect(report.ended?.why).toBe("aborted");
    expect(report.spent.totalTokens).toBe(13);
  });

  it("EVL-22 EVL-53 the deadline of the budget ends it", async () => {
    const budget = trackBudget({ maxTotalTokens: 1_000, deadline: deadlineIn(200) });
    const report = await runEval(evalOf(), { workers: workersOf({}), budget });
    expect(report.ended?.why).toBe("budget");
    expect(report.variants["default"]?.counts).toMatchObject({ answered: 0, notRun: 4 });
  }, 300_000);
});
