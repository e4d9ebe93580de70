import { DefinitionError, type Budget, type BudgetTracker, type EvaluateOptions, type Usage } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import type { Environment } from "@proviso/runtime";
import type { EvalStore, SavedRun } from "../results.ts";

/** What `runEval` takes. */
export interface RunOptions extends Pick<Environment, "clock" | "random" | "newId"> {
  /** Attempts side by side, at most. Default 16. */
  readonly concurrency?: number | undefined;
  /** Limits of the whole run. Default: none. */
  readonly budget?: Budget | BudgetTracker | undefined;
  /** Ends the run: nothing more begins, and what is in flight is aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Where attempts are kept. Default: in memory, for this run alone. */
  readonly store?: EvalStore | undefined;
  /**
   * "resume" uses what is kept of this eval, "retry-failed" too, and tries failures of the surroundings again, "fresh" uses
   * nothing. Default "resume".
   */
  readonly resume?: "resume" | "retry-failed" | "fresh" | undefined;
  /** The seed of the order of rows. Default 1. */
  readonly seed?: number | undefined;
  /** Looks at the gates after each tenth of the rows, and ends when all are settled, at the same error rate. Default false. */
  readonly stopEarly?: boolean | undefined;
  /** The confidence of every interval and verdict, between 0 and 1. Default 0.95. */
  readonly confidence?: number | undefined;
  /** A saved run to compare with. Default: the first variant is the baseline. */
  readonly compareWith?: SavedRun | undefined;
  /** The pace of requests, or "off". Default: learnt for each adapter and model from its answers. */
  readonly pacing?: EvaluateOptions["pacing"];
  /** Called after each attempt; what it throws ends nothing. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** How far a run is. */
export interface Progress {
  /** Attempts that have ended. */
  readonly done: number;
  /** Attempts in all. */
  readonly total: number;
  /** Attempts that were kept from an earlier run: nothing was paid for them now. */
  readonly reused: number;
  /** Attempts that failed. */
  readonly failed: number;
  /** Attempts of which a scorer failed. */
  readonly unscored: number;
  /** What was spent in this run. */
  readonly spent: Usage;
  /** Milliseconds since the run began. */
  readonly elapsedMs: number;
  /** Milliseconds that are left, by the pace so far; undefined: not known yet. */
  readonly leftMs: number | undefined;
}

const names = {
  concurrency: true,
  budget: true,
  signal: true,
  store: true,
  resume: true,
  seed: true,
  stopEarly: true,
  confidence: true,
  compareWith: true,
  pacing: true,
  onProgress: true,
  clock: true,
  random: true,
  newId: true,
} as const;

/** @throws {DefinitionError} for options that cannot be. */
export function checkRunOptions(options: RunOptions): void {
  checkOptionNames("runEval", options, names);
  const { concurrency = 16, seed = 1, confidence = 0.95, resume = "resume" } = options;
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    throw new DefinitionError(`The concurrency has to be a whole number from 1, not ${concurrency}.`);
  }
  if (!Number.isSafeInteger(seed)) throw new DefinitionError(`The seed has to be a whole number, not ${seed}.`);
  if (!(confidence > 0 && confidence < 1)) {
    throw new DefinitionError(`The confidence has to be between 0 and 1, not ${confidence}.`);
  }
  if (!["resume", "retry-failed", "fresh"].includes(resume)) {
    throw new DefinitionError(`resume is "resume", "retry-failed" or "fresh", not ${JSON.stringify(resume)}.`);
  }
}
