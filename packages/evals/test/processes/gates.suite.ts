// Suites for the tests of describeEval: gates that pass and fail, scorers that throw, runs that end early.
import { defineEval } from "@proviso/evals";
import { describeEval } from "@proviso/evals/vitest";
import { answering, mails, triage, wordList, type Mail } from "../support.ts";

const base = {
  data: mails(60),
  prompt: ({ text }: Mail) => triage.bind({ text }),
  variants: { money: { adapter: wordList(["money"]) }, win: { adapter: wordList(["Win"]) } },
};
type Answered = { readonly row: Mail; readonly output: { readonly label: string } };
const correct = ({ row, output }: Answered) => output.label === row.label;

describeEval(
  defineEval({
    ...base,
    name: "gates",
    scorers: { correct },
    gates: { correct: { atLeast: 0.9, noWorseBy: 0.02, unsettled: "fail" } },
  }),
);
describeEval(defineEval({ ...base, name: "a-part", scorers: { correct }, gates: { correct: { atLeast: 0.9 } } }), {
  onlyVariants: ["win"],
});
const broken = ({ row, output }: Answered) => {
  if (row.id === "m7") throw new Error("The instrument is broken.");
  return correct({ row, output });
};
describeEval(defineEval({ ...base, name: "unscored", scorers: { broken } }));
describeEval(defineEval({ ...base, name: "cut-short", scorers: { correct } }), { budget: { maxTotalTokens: 200 } });
// Of two variants, the service of one is down.
const down = answering(() => ({ failure: "throttle", kind: "server_error", retry: false, message: "Service down." }));
const variants = { win: { adapter: wordList(["Win"]) }, down: { adapter: down } };
const few = { ...base, data: mails(4), variants, name: "service-down" };
describeEval(defineEval({ ...few, scorers: { correct }, gates: { correct: { atLeast: 0.1 } } }));
const never = { ...base, name: "too-slow", scorers: { correct: () => new Promise<boolean>(() => {}) } };
describeEval(defineEval(never), { timeoutMs: 100 });
