import { definePrompt } from "@proviso/core";
import { defineEval, formatReport, judge, runEval, toLabel, type EvalReport, type Label } from "@proviso/evals";
import { describe, expect, inject, it } from "vitest";
import { z } from "zod";
import { answering } from "./support.ts";

interface Question {
  readonly id: string;
}
const params = z.object({ id: z.string() });
const wordings = {
  old: definePrompt({ key: "old", params, text: "Answer {{id}}." }),
  now: definePrompt({ key: "now", params, text: "Answer with style {{id}}." }),
};
type Wording = keyof typeof wordings;
const numberIn = (text: string) => Number(/question-(\d+)/u.exec(text)?.[1]);

/** A number from 0 to 1 for each question, the same in each run. */
function drawnBy(seed: number): (at: number) => number {
  return (at) => {
    let mixed = Math.imul(at + 1, 0x9e3779b1) ^ Math.imul(seed + 7, 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
    mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

/**
 * 60 % of the old answers are good. The new wording makes a half of them fancy, of which 30 % are good: 45 % in all. The
 * judge passes everything that is fancy, and is right about the rest.
 */
function world(seed: number, questions = 300) {
  const [change, quality] = [drawnBy(seed), drawnBy(seed + 1_000)];
  const isFancy = (wording: Wording, at: number): boolean => wording === "now" && change(at) < 0.5;
  const isGood = (wording: Wording, at: number): boolean => quality(at) < (isFancy(wording, at) ? 0.3 : 0.6);
  const answerer = answering((text) => {
    const at = numberIn(text);
    return `${isFancy(text.includes("with style") ? "now" : "old", at) ? "Fancy" : "Plain"} answer to question-${at}`;
  });
  const referee = answering((text) => {
    const passes = text.includes("Fancy answer") || isGood("old", numberIn(text));
    return JSON.stringify({ reason: "It reads well.", passes });
  });
  const of = (labels: readonly Label[], ...wanted: readonly Wording[]) =>
    defineEval({
      name: "helpful",
      data: Array.from({ length: questions }, (_, at): Question => ({ id: `question-${at}` })),
      prompt: ({ id }: Question) => wordings.old.bind({ id }),
      adapter: answerer,
      variants: Object.fromEntries(
        wanted.map((wording) => [wording, { prompt: ({ id }: Question) => wordings[wording].bind({ id }) }]),
      ),
      scorers: { good: judge<Question, string>({ adapter: referee, rubric: "Answers.", labels }) },
      gates: { good: { atLeast: 0.6, ...(wanted.length > 1 ? { noWorseBy: 0.05 } : {}) } },
    });
  const labelled = (report: EvalReport, count = 120): readonly Label[] =>
    toLabel(report, { count }).map(({ row: _row, answer, ...label }) => {
      const wording = String(answer).startsWith("Fancy") ? "now" : "old";
      return { ...label, value: isGood(wording, numberIn(label.rowId)), by: "Ann" };
    });
  return { of, labelled };
}

describe("labels of answers that are gone", () => {
  it("EVL-18 of a changed wording the score is the judge's own and says so, and no gate passes on it", async () => {
    const { of, labelled } = world(1);
    const labels = labelled(await runEval(of([], "old")));
    const report = await runEval(of(labels, "now"));
    const score = report.variants["now"]?.scores["good"];
    const gone = 120 - (score?.judged?.n ?? 0);
    expect(gone).toBeGreaterThan(40);
    expect(score).toMatchObject({ method: "adjusted-t", goneLabels: gone });
    expect(score?.value).toBe(score?.judged?.uncorrected.value);
    expect(report.gates).toMatchObject([{ verdict: "unsettled", on: { value: score?.value } }]);
    expect(report.gates[0]?.on?.low).toBeGreaterThan(0.6);
    expect(formatReport(report)).toContain(
      `the judge alone  not corrected, ${gone} labels are of answers that are gone: draw again;\n`,
    );
  });

  it("EVL-18 in seeded runs no gate passes wrongly, and labels that are drawn again hold the truth", async () => {
    const runs = inject("exhaustive") ? 20 : 4;
    let passed = 0;
    let held = 0;
    for (let seed = 0; seed < runs; seed++) {
      const { of, labelled } = world(seed);
      const stale = labelled(await runEval(of([], "old")));
      const report = await runEval(of(stale, "now"));
      if (report.gates[0]?.verdict === "passed") passed += 1;
      expect(report.variants["now"]?.scores["good"]?.method).toBe("adjusted-t");
      const again = await runEval(of(labelled(report), "now"));
      const score = again.variants["now"]?.scores["good"];
      expect(score?.method).toBe("prediction-powered");
      if ((score?.low ?? 1) <= 0.45 && 0.45 <= (score?.high ?? 0)) held += 1;
      if (again.gates[0]?.verdict === "passed") passed += 1;
    }
    expect(passed).toBe(0);
    expect(held).toBeGreaterThanOrEqual(0.9 * runs);
  });

  it("EVL-18 a difference is not corrected by them, and its gate does not pass", async () => {
    const { of, labelled } = world(3);
    const stale = labelled(await runEval(of([], "old")));
    const none = stale.map((label) => ({ ...label, output: "0".repeat(64) }));
    const both = await runEval(of(none, "old", "now"));
    expect(both.differences["now"]?.["good"]?.method).toBe("adjusted-t");
    expect(both.variants["old"]?.scores["good"]).toMatchObject({ goneLabels: 120 });
    expect(both.gates.filter(({ verdict }) => verdict === "passed")).toEqual([]);
    expect((await runEval(of([], "old", "now"))).gates.some(({ verdict }) => verdict === "passed")).toBe(true);
    expect(formatReport(both)).toContain("not corrected, 120 labels are of answers that are gone: draw again\n");
  });

  it("EVL-18 labels of rows that are not run, by hand or not filled in, are not gone", async () => {
    const { of, labelled } = world(4);
    const first = await runEval(of([], "old"));
    const labels = labelled(first);
    const whole = (await runEval(of(labels, "old"))).variants["old"]?.scores["good"];
    expect(whole?.method).toBe("prediction-powered");
    const part = await runEval(of(labels, "old"), { sampleSize: 150 });
    expect(part.variants["old"]?.scores["good"]).toMatchObject({ method: "prediction-powered" });
    const gone = { rowId: "question-1", output: "0".repeat(64), value: true } as const;
    const empty = { ...gone, value: undefined, drawn: { seed: 1, place: 0 } } as unknown as Label;
    const others = await runEval(of([...labels, gone, empty], "old"));
    expect(others.variants["old"]?.scores["good"]).toMatchObject({ value: whole?.value, method: "prediction-powered" });
    const one = await runEval(of([...labels, { ...gone, drawn: { seed: 1, place: 0 } }], "old"));
    expect(one.variants["old"]?.scores["good"]).toMatchObject({ method: "adjusted-t", goneLabels: 1 });
  });
});
