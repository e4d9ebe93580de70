// What a run of an eval comes to, as plain JSON.
import type { ErrorReason, Usage } from "@proviso/core";
import type { Agreement } from "./statistics/agreement.ts";
import type { Estimate } from "./statistics/estimate.ts";
import type { Verdict } from "./statistics/gates.ts";

/** A variant less the baseline, on the rows that both have. */
export interface Difference extends Estimate {
  /** Rows on which the variant is better. */
  readonly wins: number;
  /** Rows on which it is worse. */
  readonly losses: number;
  /** Rows on which both are the same. */
  readonly ties: number;
  /** Rows in all that would find this difference in 80 % of runs, if it is there. undefined: it is proven or zero, or not known. */
  readonly rowsToSettle: number | undefined;
  /** How many rows are left out, and why. */
  readonly unpaired: {
    readonly changed: number;
    readonly onlyBaseline: number;
    readonly onlyVariant: number;
    readonly unscored: number;
  };
  /** The share of a pair scorer's preferences in which the same place won in both orders. Left out: it is no pair scorer's. */
  readonly inconsistent?: number;
  /** The difference with each failure of the surroundings counted against the variant, and for it. */
  readonly bounds: { readonly worst: Estimate; readonly best: Estimate };
}

/** What keeps a variant from being compared with a saved run by a scorer. */
export interface Uncompared {
  /** How many rows are left out, and why. */
  readonly unpaired: Difference["unpaired"];
  /** The reason in words: "600 rows changed since the saved run" for example. */
  readonly why: string;
}

/** What became of the attempts: answered, failed and not run are planned. */
export interface Counts {
  /** Attempts in all. */
  readonly planned: number;
  /** Attempts with an answer. */
  readonly answered: number;
  /** Attempts that failed, by reason. */
  readonly failed: Readonly<Partial<Record<ErrorReason, number>>>;
  /** The answered ones of which a scorer failed. */
  readonly unscored: number;
  /** Attempts that the run ended before. */
  readonly notRun: number;
}

/** What is measured of an attempt, and not scored. */
export type Measure = "costUsd" | "inputTokens" | "outputTokens" | "turns" | "durationMs";

/** A score, and of a judge with labels what they say of it. */
export interface ScoreReport extends Estimate {
  /** How far the judge agrees with people, and its own mean. Left out: no scored answer has a label. */
  readonly judged?: Agreement & { readonly uncorrected: Estimate };
  /**
   * Labels that were drawn, of rows of the run, whose answer no variant gives any more. They show that the others are no
   * random part of the answers: the score is the judge's own, and no gate passes on it. Left out: there are none.
   */
  readonly goneLabels?: number;
  /**
   * Answers of the variant that were not there when the labels were drawn, at least: rows were added since, for example.
   * None of them could be drawn, so the score is the judge's own, and no gate passes on it. Left out: none can be seen, or
   * labels are of answers that are gone.
   */
  readonly lateAnswers?: number;
}

/** What became of the pairs that a scorer was asked about. */
export interface PairReport {
  /** How many pairs were asked about, or are kept. */
  readonly asked: number;
  /** Pairs in which the answer of the same place won in both orders: they count as neither. */
  readonly inconsistent: number;
  /** Pairs that have no preference because the scorer failed; they are left out. */
  readonly unscored: number;
  /** Why the first of those has none. Left out: each has one. */
  readonly why?: string;
}

/** What is known of a variant. */
export interface VariantReport {
  /** The name of the adapter. */
  readonly adapter: string;
  /** The models that answered. */
  readonly models: readonly string[];
  /** What became of its attempts. */
  readonly counts: Counts;
  /**
   * Why nothing was measured of it, as a sentence: the surroundings failed each attempt that was made (`outsideReasons`).
   * The run does not pass then. Left out: something was measured, or no attempt was made.
   */
  readonly unmeasured?: string;
  /** The scores, by scorer; left out where fewer than two groups of rows have a score, for which there is no interval. */
  readonly scores: Readonly<Record<string, ScoreReport>>;
  /** The pairs of its answers and the baseline's, by pair scorer. Empty for the baseline. */
  readonly pairs: Readonly<Record<string, PairReport>>;
  /** What one attempt takes; undefined: not known, or of fewer than two groups of rows. */
  readonly measures: Readonly<Record<Measure, Estimate | undefined>>;
  /** What its attempts spent. */
  readonly spent: { readonly subject: Usage; readonly judges: Usage };
}

/** A gate and its verdict. */
export interface GateReport {
  /** The name of the scorer. */
  readonly scorer: string;
  /** The name of the variant. */
  readonly variant: string;
  /** The kind of the gate. */
  readonly gate: "atLeast" | "noWorseBy";
  /** The bound that was set. */
  readonly bound: number;
  /** "unsettled": the interval, or failures of the surroundings, allow both; or something ended the run early. */
  readonly verdict: Verdict;
  /**
   * What keeps it unsettled beside its interval: the run ended early ("ended"), more than 1 in 20 rows are unscored
   * ("unscored"), failures of the surroundings would turn it ("outside"), or its labels are no random part ("labels"). Left
   * out: nothing does.
   */
  readonly unsettledBy?: "ended" | "unscored" | "outside" | "labels";
  /** Whether that counts as a pass; false, too, where it had nothing to compare with (`uncompared`). */
  readonly passes: boolean;
  /** What it was decided on, widened so that all gates together err no more often than one; undefined: too few rows. */
  readonly on: Estimate | Difference | undefined;
  /** Why the saved run has nothing to compare with. Left out: it has, or there is none, or the run ended early. */
  readonly uncompared?: Uncompared;
}

/** What a run came to. */
export interface EvalReport {
  /** The name of the eval. */
  readonly name: string;
  /** The id of the run. */
  readonly runId: string;
  /** When it began, as ISO 8601. */
  readonly startedAt: string;
  /** What two results have to share to be about the same thing. */
  readonly fingerprint: Fingerprint;
  /** How many rows there are. */
  readonly rows: number;
  /** How many groups; undefined: rows have none. */
  readonly groups: number | undefined;
  /** Attempts of each row and variant. */
  readonly repetitions: number;
  /** What the variants are compared with. */
  readonly baseline: { readonly variant: string } | { readonly saved: string };
  /** The variants, by name. */
  readonly variants: Readonly<Record<string, VariantReport>>;
  /** The differences, by variant, then by scorer or measure. */
  readonly differences: Readonly<Record<string, Readonly<Record<string, Difference>>>>;
  /**
   * What could not be compared with the saved run, by variant, then by scorer: rows or the scorer changed since. Left out: there is
   * nothing of that kind.
   */
  readonly uncompared?: Readonly<Record<string, Readonly<Record<string, Uncompared>>>>;
  /** The worst and the best value of each scorer. Left out: an earlier version wrote the report. */
  readonly ranges?: Readonly<Record<string, readonly [worst: number, best: number]>>;
  /** The gates, in order. */
  readonly gates: readonly GateReport[];
  /** Whether all gates pass; false, too, where nothing can work (`ended`), or nothing was measured of a variant. */
  readonly passes: boolean;
  /** How many intervals share the error rate. */
  readonly family: number;
  /** Why the run ended early; undefined: all rows ran. "settled" keeps the error rate. */
  readonly ended: { readonly why: "settled" | "budget" | "aborted" | "systemic"; readonly message: string } | undefined;
  /** Attempts that were kept from an earlier run: nothing was paid for them now, but for scores that changed. */
  readonly reused: number;
  /** What was spent in this run. */
  readonly spent: Usage;
  /** Estimates of what a killed run had begun and not ended; part of `spent`. */
  readonly lost: Usage;
  /** The attempts, in the order of rows. */
  readonly attempts: readonly AttemptRecord[];
}

/** Hashes of what has to be equal for two results to be about the same thing. */
export interface Fingerprint {
  /** The hash of all rows. */
  readonly data: string;
  /** A hash of the version and range of each scorer. */
  readonly scorers: Readonly<Record<string, string>>;
  /** A hash of the adapter, model, options and version of each variant; for a task, of its source text too. */
  readonly variants: Readonly<Record<string, string>>;
}

/** Names an attempt within a run. */
export interface AttemptKey {
  /** The id of the row. */
  readonly rowId: string;
  /** The name of the variant. */
  readonly variant: string;
  /** The number of the attempt of both, from 1. */
  readonly repetition: number;
}

/** One attempt as it is kept, as plain JSON. */
export interface AttemptRecord extends AttemptKey {
  /** The hash of the row's content. */
  readonly rowHash: string;
  /** The hash of what the model is shown first, and of the variant. */
  readonly subjectHash: string;
  /** Whether the subject came to an answer. */
  readonly status: "answered" | "failed";
  /** The answer. Left out where it failed. */
  readonly output?: unknown;
  /** Why it failed. Left out where it answered. */
  readonly failure?: { readonly reason: ErrorReason; readonly message: string };
  /** The scores, by scorer that applies to the row. */
  readonly scores: Readonly<
    Record<string, { readonly value: number; readonly reason?: string } | { readonly unscored: string }>
  >;
  /** What the subject spent, evaluations inside its calls included. */
  readonly usage: Usage;
  /** What its judges spent, evaluations inside their calls included. */
  readonly judgeUsage: Usage;
  /** The model that answered; undefined: none did. */
  readonly model: string | undefined;
  /** The ids of the runs that record its evaluations. Left out: they were not recorded. */
  readonly runIds?: readonly string[];
  /** The turns of all its evaluations. */
  readonly turns: number;
  /** Milliseconds. */
  readonly durationMs: number;
}

/** A run as it is committed: ids, hashes and scores, no text of a row or an answer. Made by `saveRun`. */
export interface SavedRun {
  /** The version of the form. */
  readonly format: "proviso-eval/1";
}

/** Where attempts are kept. Several runs may use one at the same time. */
export interface EvalStore {
  /**
   * Returns the attempts of this eval that have ended, the oldest first, and estimates of those that began and never ended.
   * Of one key there may be several, about other rows or prompts.
   */
  open(run: {
    readonly name: string;
    readonly runId: string;
    readonly fingerprint: Fingerprint;
  }): Promise<{ readonly finished: AsyncIterable<AttemptRecord>; readonly lost: readonly Usage[] }>;
  /**
   * Keeps that an attempt of a run begins, before it is paid for. undefined: it is kept at once. `runId` is by default the run
   * that was opened last.
   */
  begin(key: AttemptKey, worstCase: Usage, runId?: string): Promise<void> | undefined;
  /**
   * Keeps an attempt of a run; it stands, whatever happens next, when this resolves. undefined: it stands at once. `runId` is
   * by default the run that was opened last.
   */
  finish(record: AttemptRecord, runId?: string): Promise<void> | undefined;
  /** Keeps what the run came to, for those that look at it later. Left out: it is not kept. */
  end?(report: EvalReport): Promise<void>;
  /** Ends the use of the store. */
  close(): Promise<void>;
}
