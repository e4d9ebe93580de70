import { definePrompt } from "@proviso/core";
import { defineEval, formatReport, judge, runEval, toLabel, type EvalReport, type Label } from "@proviso/evals";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { answering } from "./support.ts";

interface Question {
  readonly id: string;
}
const wording = (key: string) => definePrompt({ key, params: z.object({ id: z.string() }), text: `${key}: {{id}}.` });
const wordings = { old: wording("old"), now: wording("now") };
const numberIn = (text: string) => Number(/question-(\d+)/u.exec(text)?.[1]);

/** Of the first 100 questions every second one gets a good old answer; all others are bad, and the judge passes them. */
const isGood = (text: string): boolean => numberIn(text) < 100 && numberIn(text) % 2 === 0 && !text.includes("now");
const answerer = answering((text) => `${text.includes("now") ? "now" : "old"} answer to question-${numberIn(text)}`);
const referee = answering((text) => {
  return JSON.stringify({
    reason: "It reads well.",
    passes: isGood(text) || numberIn(text) >= 100 || text.includes("now answer"),
  });
});

function evalOf(labels: readonly Label[], rows: readonly number[], ...variants: readonly (keyof typeof wordings)[]) {
  return defineEval({
    name: "growing",
    data: rows.map((at): Question => ({ id: `question-${at}` })),
    prompt: ({ id }: Question) => wordings.old.bind({ id }),
    adapter: answerer,
    variants: Object.fromEntries(
      variants.map((name) => [name, { prompt: ({ id }: Question) => wordings[name].bind({ id }) }]),
    ),
    scorers: { good: judge<Question, string>({ adapter: referee, rubric: "Answers.", labels }) },
    gates: { good: { atLeast: 0.3, ...(variants.length > 1 ? { noWorseBy: 0.2 } : {}) } },
  });
}

const rowsOf = (count: number, from = 0): readonly number[] => Array.from({ length: count }, (_, at) => from + at);

function labelled(report: EvalReport, count: number): readonly (Label & Required<Pick<Label, "drawn">>)[] {
  return toLabel(report, { count }).map(({ row: _row, answer, ...label }) => {
    return { ...label, value: isGood(String(answer)), by: "Ann" };
  }) as readonly (Label & Required<Pick<Label, "drawn">>)[];
}

/** Labels as they were written before `toLabel` said how many rows there were. */
const older = (labels: readonly Label[]): readonly Label[] =>
  labels.map((label) => ({ ...label, drawn: label.drawn && { seed: label.drawn.seed, place: label.drawn.place } }));

describe("answers that came after labels were drawn", () => {
  it("EVL-18 of rows that were added the score is the judge's own and says so, and no gate passes on it", async () => {
    const labels = labelled(await runEval(evalOf([], rowsOf(100), "old")), 60);
    const before = await runEval(evalOf(labels, rowsOf(100), "old"));
    expect(before.variants["old"]?.scores["good"]).toMatchObject({ method: "prediction-powered" });
    const report = await runEval(evalOf(labels, rowsOf(400), "old"));
    const score = report.variants["old"]?.scores["good"];
    expect(score).toMatchObject({ method: "adjusted-t", value: 0.875, lateAnswers: 300 });
    expect(report.gates).toMatchObject([{ verdict: "unsettled", on: { value: 0.875 } }]);
    expect(formatReport(report)).toContain(
      "the judge alone  not corrected, 300 answers are newer than the labels: draw again;\n",
    );
    const again = await runEval(evalOf(labelled(report, 120), rowsOf(400), "old"));
    expect(again.variants["old"]?.scores["good"]).toMatchObject({ method: "prediction-powered" });
    expect(again.variants["old"]?.scores["good"]?.high).toBeLessThan(0.3);
  });

  it("EVL-18 one row is enough, and where labels do not say how many there were, an answer that would have been drawn", async () => {
    const labels = labelled(await runEval(evalOf([], rowsOf(100), "old")), 60);
    const score = async (given: readonly Label[], rows: readonly number[]) =>
      (await runEval(evalOf(given, rows, "old"))).variants["old"]?.scores["good"];
    expect(await score(labels, rowsOf(101))).toMatchObject({ method: "adjusted-t", lateAnswers: 1 });
    expect(await score(older(labels), rowsOf(100))).toMatchObject({ method: "prediction-powered" });
    const grown = await score(older(labels), rowsOf(400));
    expect(grown).toMatchObject({ method: "adjusted-t" });
    expect(grown?.lateAnswers).toBeGreaterThan(100);
    // As many rows were replaced as were taken away: the labels that are left do not have the new ones among them.
    const replaced = await score(labels, [...rowsOf(60), ...rowsOf(40, 100)]);
    expect(replaced).toMatchObject({ method: "adjusted-t" });
  });

  it("EVL-18 a part of the rows is none of them, and a label that was left out is not one", async () => {
    const labels = labelled(await runEval(evalOf([], rowsOf(200), "old")), 120);
    const score = async (given: readonly Label[], rows: readonly number[]) =>
      (await runEval(evalOf(given, rows, "old"))).variants["old"]?.scores["good"];
    for (const given of [labels, older(labels)]) {
      expect(await score(given, rowsOf(150))).toMatchObject({ method: "prediction-powered" });
      const some = given.filter((_, place) => place % 3 !== 0);
      expect(await score(some, rowsOf(200))).toMatchObject({ method: "prediction-powered" });
      const unfilled = given.map((label, place) => (place < 90 ? label : { ...label, value: undefined as never }));
      expect(await score(unfilled, rowsOf(200))).toMatchObject({ method: "prediction-powered" });
    }
  });

  it("EVL-18 a variant that was added is not corrected by labels of the others, and no gate on it passes", async () => {
    const labels = labelled(await runEval(evalOf([], rowsOf(100), "old")), 60);
    const report = await runEval(evalOf(labels, rowsOf(100), "old", "now"));
    expect(report.variants["old"]?.scores["good"]).toMatchObject({ method: "prediction-powered" });
    expect(report.variants["now"]?.scores["good"]).toMatchObject({ method: "adjusted-t" });
    expect(report.variants["now"]?.scores["good"]?.lateAnswers).toBeGreaterThan(30);
    const verdicts = report.gates.map(({ variant, gate, verdict }) => [variant, gate, verdict]);
    expect(verdicts).toEqual([
      ["old", "atLeast", "passed"],
      ["now", "atLeast", "unsettled"],
      ["now", "noWorseBy", "unsettled"],
    ]);
  });
});
