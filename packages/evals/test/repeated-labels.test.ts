import { definePrompt } from "@proviso/core";
import { defineEval, formatReport, judge, runEval, toLabel, type Label } from "@proviso/evals";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { answering } from "./support.ts";

interface Question {
  readonly id: string;
}
const answer = definePrompt({ key: "answer", params: z.object({ id: z.string() }), text: "Answer {{id}}." });
const numberIn = (text: string) => Number(/question-(\d+)/u.exec(text)?.[1]);
const repetitions = 5;

/** An evaluation of 150 questions whose judge passes everything; `answers` has one of "right" and "wrong" for each repetition. */
function evalOf(labels: readonly Label[], answers: (question: number) => readonly string[]) {
  const asked = new Map<number, number>();
  return defineEval({
    name: "repeated",
    data: Array.from({ length: 150 }, (_, at): Question => ({ id: `question-${at}` })),
    prompt: ({ id }: Question) => answer.bind({ id }),
    adapter: answering((text) => {
      const question = numberIn(text);
      const before = asked.get(question) ?? 0;
      asked.set(question, before + 1);
      return answers(question)[before] ?? "";
    }),
    repetitions,
    scorers: {
      good: judge<Question, string>({
        adapter: answering(() => JSON.stringify({ reason: "Fine.", passes: true })),
        rubric: "Answers.",
        labels,
      }),
    },
    gates: { good: { atLeast: 0.6 } },
  });
}

async function labelled(of: (labels: readonly Label[]) => ReturnType<typeof evalOf>, count: number, seed = 1) {
  return toLabel(await runEval(of([])), { count, seed }).map(({ row: _row, answer: text, ...label }) => {
    return { ...label, value: text === "right", by: "Ann" };
  });
}

describe("labels of repeated answers", () => {
  it.each([1, 2, 3, 4])("EVL-18 a label counts as much as attempts gave its answer (seed %i)", async (seed) => {
    // Four questions of five have four right answers and a wrong one: people see one of each.
    const of = (labels: readonly Label[]) =>
      evalOf(labels, (question) => {
        return Array.from({ length: repetitions }, (_, at) => (at > 0 || question % 5 === 0 ? "right" : "wrong"));
      });
    const report = await runEval(of(await labelled(of, 100, seed)));
    const score = report.variants["default"]?.scores["good"];
    expect(score).toMatchObject({ method: "prediction-powered", judged: { n: 100 } });
    expect(score?.low).toBeLessThan(0.84);
    expect(score?.high).toBeGreaterThan(0.84);
    // Counted alike, the labels of wrong answers bring it to 0.56 about.
    expect(Math.abs((score?.value ?? 0) - 0.84)).toBeLessThan(0.06);
  });

  it("EVL-18 a label of an answer that all repetitions gave is one label of the 30 that a correction needs", async () => {
    const of = (labels: readonly Label[]) => evalOf(labels, () => Array.from({ length: repetitions }, () => "right"));
    for (const [count, method] of [
      [6, "adjusted-t"],
      [29, "adjusted-t"],
      [30, "prediction-powered"],
    ] as const) {
      const report = await runEval(of(await labelled(of, count)));
      expect(report.variants["default"]?.scores["good"]).toMatchObject({ method, judged: { n: count } });
      if (count < 30) expect(formatReport(report)).toContain("not corrected, fewer than 30 drawn labels");
    }
  });
});
