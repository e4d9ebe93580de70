export { improve } from "./better/improve.ts";
export type { Improvement, ImproveOptions, RefusedCandidate, Round } from "./better/improve.ts";
export { notWorse } from "./better/not-worse.ts";
export type { Accept, Acceptance, NotWorseOptions } from "./better/not-worse.ts";
export { sample, split } from "./data/sample.ts";
export { cross, defineEval, isEval } from "./define/define-eval.ts";
export type {
  Attempt,
  Data,
  Eval,
  EvalDefinition,
  FailedAttempt,
  Gate,
  PairScorer,
  Preference,
  Score,
  Scorer,
  ScorerLike,
  TaskContext,
  Variant,
  VariantSettings,
} from "./definition.ts";
export { judge, judgeWith } from "./judges/judge.ts";
export { pairwise } from "./judges/pairwise.ts";
export { toLabel } from "./judges/labels.ts";
export type { Label } from "./judges/labels.ts";
export { formatReport } from "./report/format.ts";
export type { FormatOptions } from "./report/format.ts";
export { formatJUnit } from "./report/junit.ts";
export { saveRun } from "./report/saved.ts";
export type {
  AttemptKey,
  AttemptRecord,
  Counts,
  Difference,
  EvalReport,
  EvalStore,
  Fingerprint,
  GateReport,
  Measure,
  PairReport,
  SavedRun,
  ScoreReport,
  VariantReport,
} from "./results.ts";
export { memoryEvalStore } from "./run/memory-store.ts";
export type { Progress, RunOptions } from "./run/options.ts";
export { checkEval } from "./run/check-eval.ts";
export { runEval } from "./run/run-eval.ts";
export type { AttemptJob, AttemptWorkers } from "./run/workers.ts";
export { calls, callsOf } from "./scores/calls.ts";
export type { ExpectedCall } from "./scores/calls.ts";
export { outsideReasons } from "./scores/outside.ts";
export { similar } from "./scores/similar.ts";
export { closeTo, contains, exact, fits } from "./scores/values.ts";
export { agreement } from "./statistics/agreement.ts";
export type { Agreement } from "./statistics/agreement.ts";
export type { Estimate, Observation } from "./statistics/estimate.ts";
export type { Verdict } from "./statistics/gates.ts";
