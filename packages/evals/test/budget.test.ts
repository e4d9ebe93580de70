import { definePrompt, type ProviderAdapter } from "@proviso/core";
import { defineEval, judge, memoryEvalStore, runEval, type EvalStore } from "@proviso/evals";
import { modelAdapter } from "@proviso/runtime";
import { describe, expect, it } from "vitest";
import { z } from "zod";

interface Question {
  readonly id: string;
}
const prompt = definePrompt({ key: "answer", params: z.object({ id: z.string() }), text: "Answer {{id}}." });
/** A model whose answers cost 210 tokens each, and come a little later. */
function saying(text: string): ProviderAdapter {
  return modelAdapter({
    name: "words",
    model: "words-1",
    capabilities: { tools: true, nativeOutput: true },
    async generate() {
      await new Promise((resolve) => setTimeout(resolve, 1));
      const usage = { inputTokens: 200, outputTokens: 10 };
      return { message: { role: "assistant", text, toolCalls: [] }, finishReason: "stop", usage };
    },
  });
}
const answerer = saying("An answer.");
const referee = saying(JSON.stringify({ reason: "It reads well.", passes: true }));
const perAttempt = 630;
/** Tokens for seven attempts and a part of one. */
const budget = { maxTotalTokens: 7 * perAttempt + 150 };
const judgeOf = (rubric: string) => judge<Question, string>({ adapter: referee, rubric });

/** An eval whose attempts have an answer and two verdicts each. */
function judged(rows: number, variants: readonly string[] = ["default"], rubric = "Answers.") {
  return defineEval({
    name: "judged",
    data: Array.from({ length: rows }, (_, at): Question => ({ id: `question-${at}` })),
    prompt: ({ id }: Question) => prompt.bind({ id }),
    adapter: answerer,
    variants: Object.fromEntries(variants.map((name) => [name, {}])),
    scorers: { good: judgeOf(rubric), kind: judgeOf(rubric) },
  });
}

describe("a budget for a part of the attempts", () => {
  it.each([1, 2, 16])("EVL-22 makes as many as it pays for, %d at once", async (concurrency) => {
    const report = await runEval(judged(30), { concurrency, budget });
    expect(report.ended).toMatchObject({ why: "budget" });
    expect(report.variants["default"]?.counts).toMatchObject({ answered: 7, notRun: 23 });
    expect(report.spent.totalTokens).toBe(7 * perAttempt);
  });

  it("EVL-22 EVL-23 later runs over the store make the rest, and spend nothing twice", async () => {
    const store = memoryEvalStore();
    const spent: number[] = [];
    for (let runs = 0; runs < 4; runs++) {
      const { spent: of } = await runEval(judged(20), { store, budget });
      spent.push(of.totalTokens / perAttempt);
    }
    expect(spent).toEqual([7, 7, 6, 0]);
  });

  it("EVL-22 with several variants none begins beside the first attempt of one", async () => {
    const report = await runEval(judged(30, ["one", "other"]), { budget });
    const answered = Object.values(report.variants).map(({ counts }) => counts.answered);
    expect(answered.reduce((sum, count) => sum + count, 0)).toBe(7);
    expect(report.spent.totalTokens).toBe(7 * perAttempt);
  });

  it("EVL-22 EVL-25 what is kept is scored again as far as the budget pays", async () => {
    const store = memoryEvalStore();
    await runEval(judged(30), { store });
    const report = await runEval(judged(30, ["default"], "Answers well."), {
      store,
      budget: { maxTotalTokens: 7 * 420 + 150 },
    });
    expect(report.ended).toMatchObject({ why: "budget" });
    expect(report.reused).toBe(7);
    expect(report.spent.totalTokens).toBe(7 * 420);
  });

  it("EVL-22 EVL-23 what the budget could not pay for is not begun again with the same one, and is with a larger one", async () => {
    const store = memoryEvalStore();
    const spent = async (maxTotalTokens: number, rubric?: string) => {
      const report = await runEval(judged(3, ["default"], rubric), { store, budget: { maxTotalTokens } });
      return [report.spent.totalTokens, report.variants["default"]?.counts.answered, report.ended?.why];
    };
    const [first, ...others] = await spent(500);
    expect(first).toBeGreaterThan(200);
    expect(others).toEqual([0, "budget"]);
    expect(await spent(500)).toEqual([0, 0, "budget"]);
    // Other scorers may need less.
    expect((await spent(500, "Answers well."))[0]).toBe(first);
    expect(await spent(2_500)).toEqual([3 * perAttempt, 3, undefined]);
  });

  it("EVL-22 a store that fails while others wait for room ends the run", async () => {
    const kept = memoryEvalStore();
    const store: EvalStore = {
      ...kept,
      begin: () => new Promise((_, reject) => setTimeout(() => reject(new Error("The disk is full.")), 5)),
    };
    await expect(runEval(judged(30), { store, budget })).rejects.toThrow("The disk is full.");
  });

  it("EVL-22 EVL-28 an abort ends those that wait for room", async () => {
    const stop = new AbortController();
    const of = defineEval({
      name: "stuck",
      data: [{ id: "a" }, { id: "b" }, { id: "c" }],
      adapter: answerer,
      task: (_row: Question, { signal }) => {
        setTimeout(() => stop.abort(), 5);
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
      scorers: { any: () => 1 },
    });
    const report = await runEval(of, { signal: stop.signal, budget });
    expect(report.ended).toMatchObject({ why: "aborted" });
    expect(report.attempts).toEqual([]);
  });
});
