// What goes wrong in practice: the report says what happened, and no gate passes or fails on it.
import { defineEval, formatReport, judge, memoryEvalStore, runEval, type Attempt } from "@proviso/evals";
import { expect, test } from "vitest";
import { answering, mails, triage, type Mail } from "./support.ts";

type Answered = Attempt<Mail, { readonly label: string }>;
const label = (text: string) => JSON.stringify({ label: text.includes("Win") ? "spam" : "ham" });
const correct = ({ row, output }: Answered) => output.label === row.label;
const gates = { correct: { atLeast: 0.9, noWorseBy: 0.02, unsettled: "fail" } } as const;
const spam = {
  name: "spam",
  data: mails(200),
  prompt: ({ text }: Mail) => triage.bind({ text }),
  variants: { one: { adapter: answering(label) }, other: { version: "2", adapter: answering(label) } },
  scorers: { correct },
  gates,
};
const verdicts = ({ gates: all }: Awaited<ReturnType<typeof runEval>>) => all.map(({ verdict }) => verdict);

test("EVL-14 without trouble every gate of these rows passes", async () => {
  expect(verdicts(await runEval(defineEval(spam)))).toEqual(["passed", "passed", "passed"]);
});

test("EVL-14 EVL-26 a key that stops working in the middle settles nothing, and retry-failed mends it", async () => {
  const store = memoryEvalStore();
  let asked = 0;
  let isRevoked = true;
  const adapter = answering((text) => (isRevoked && ++asked > 150 ? new Error("The key was revoked.") : label(text)));
  const of = defineEval({ ...spam, variants: { one: { adapter: answering(label) }, other: { adapter } } });
  const report = await runEval(of, { store, concurrency: 4 });
  expect(report.ended).toBeUndefined();
  expect(report.variants["other"]?.counts).toMatchObject({
    planned: 200,
    answered: 150,
    failed: { api_key_error: 50 },
  });
  const table = formatReport(report);
  expect(table).toContain("400 attempts, 50 failed, 0 unscored");
  expect(table).toContain("api_key_error: The key was revoked.");
  // The side whose key worked is decided as before; nothing is of the other.
  expect(verdicts(report)).toEqual(["passed", "unsettled", "unsettled"]);
  expect(report.passes).toBe(false);
  isRevoked = false;
  const mended = await runEval(of, { store, resume: "retry-failed" });
  expect(mended.reused).toBe(350);
  expect(verdicts(mended)).toEqual(["passed", "passed", "passed"]);
});

test("EVL-22 EVL-28 a budget that ends settles nothing, and what did not run counts for neither side", async () => {
  // Both sides are right on all rows that did run: an interval of those alone would pass.
  const report = await runEval(defineEval(spam), { budget: { maxTotalTokens: 3_500 }, concurrency: 4 });
  expect(report.ended).toMatchObject({ why: "budget" });
  expect(report.spent.totalTokens).toBeLessThanOrEqual(3_500);
  const { counts, scores } = report.variants["other"]!;
  expect(counts.notRun).toBeGreaterThan(50);
  expect(counts.answered + counts.notRun).toBe(200);
  expect(scores["correct"]).toMatchObject({ value: 1 });
  expect(scores["correct"]?.low).toBeGreaterThan(0.9);
  expect(verdicts(report)).toEqual(["unsettled", "unsettled", "unsettled"]);
  expect(report.passes).toBe(false);
  expect(formatReport(report)).toMatch(/\nended {8}budget: /u);
});

test("EVL-12 a scorer that throws on every tenth row settles nothing, and makes no zeros", async () => {
  const faulty = (attempt: Answered) => {
    if (Number(attempt.rowId.slice(1)) % 10 === 0) throw new Error("The parser of dates failed.");
    return correct(attempt);
  };
  const report = await runEval(defineEval({ ...spam, scorers: { correct: faulty } }));
  expect(report.variants["one"]?.counts).toMatchObject({ answered: 200, unscored: 20, failed: {} });
  expect(report.variants["one"]?.scores["correct"]).toMatchObject({ value: 1, rows: 180 });
  expect(report.differences["other"]?.["correct"]?.unpaired).toMatchObject({ unscored: 20 });
  expect(verdicts(report)).toEqual(["unsettled", "unsettled", "unsettled"]);
  const table = formatReport(report);
  expect(table).toContain("400 attempts, 0 failed, 40 unscored");
  expect(table).toContain("correct is unscored: The parser of dates failed.");
});

test("EVL-12 EVL-16 a judge that is down settles nothing, and the scores of functions stand", async () => {
  const referee = answering(() => new Error("The service is down."));
  const good = judge<Mail, { readonly label: string }>({ adapter: referee, rubric: "Is good." });
  const report = await runEval(
    defineEval({ ...spam, scorers: { correct, good }, gates: { ...gates, good: { atLeast: 0.1, unsettled: "fail" } } }),
  );
  expect(report.ended).toBeUndefined();
  expect(report.variants["one"]?.counts).toMatchObject({ answered: 200, unscored: 200, failed: {} });
  expect(report.variants["one"]?.scores).not.toHaveProperty("good");
  const of = (scorer: string) => report.gates.filter((gate) => gate.scorer === scorer).map(({ verdict }) => verdict);
  expect(of("good")).toEqual(["unsettled", "unsettled"]);
  expect(of("correct")).toEqual(["passed", "passed", "passed"]);
  expect(report.passes).toBe(false);
  expect(formatReport(report)).toContain("good is unscored: The service is down.");
});

test("EVL-12 EVL-14 a gate says what keeps it open where its interval would settle it", async () => {
  const faulty = (attempt: Answered) => {
    if (Number(attempt.rowId.slice(1)) % 10 === 0) throw new Error("The parser of dates failed.");
    return correct(attempt);
  };
  const report = await runEval(defineEval({ ...spam, scorers: { correct: faulty } }));
  expect(report.gates[0]).toMatchObject({ verdict: "unsettled", unsettledBy: "unscored" });
  expect(formatReport(report)).toMatch(/unsettled: [\d.]+ … 1, but more than 1 in 20 are unscored\n/u);
  const ended = await runEval(defineEval(spam), { budget: { maxTotalTokens: 1_500 } });
  expect(ended.gates[0]).toMatchObject({ verdict: "unsettled", unsettledBy: "ended" });
});
