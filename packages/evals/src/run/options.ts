import {
  DefinitionError,
  type Budget,
  type BudgetTracker,
  type EvaluateOptions,
  type JournalRun,
  type Usage,
} from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import type { Environment } from "@proviso/runtime";
import type { EvalStore, SavedRun } from "../results.ts";
import type { AttemptWorkers } from "./workers.ts";

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
  /** Ids of the rows that are run; an id that no row has is a DefinitionError. Default: all rows. */
  readonly onlyRows?: readonly string[] | undefined;
  /** Names of the variants that are run; the first one by definition is the baseline. Default: all variants. */
  readonly onlyVariants?: readonly string[] | undefined;
  /** How many rows are run, drawn by `seed`: a larger sample has the smaller one in it. Default: all rows. */
  readonly sampleSize?: number | undefined;
  /** Attempts of each row and variant. Default: those of the definition. */
  readonly repetitions?: number | undefined;
  /** A saved run to compare with. Default: the first variant is the baseline. */
  readonly compareWith?: SavedRun | undefined;
  /**
   * The journal that records each evaluation of an attempt as a run of its own, which the attempt names. What workers make
   * is not recorded. Default: nothing is recorded.
   */
  readonly journal?: { run(): JournalRun } | undefined;
  /** Processes that make the attempts; they are closed when the run ends. Default: the attempts are made here. */
  readonly workers?: AttemptWorkers | undefined;
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
  /** Requests a second that pacing allows, by adapter and model; what is not limited is left out. */
  readonly pace: Readonly<Record<string, number>>;
}

/** What a listener throws changes nothing. */
export function callListener(listener: (progress: Progress) => void, progress: Progress): void {
  try {
    listener(progress);
  } catch {
    // The run goes on.
  }
}

/** The names of the options of a run. */
export const runOptionNames = {
  concurrency: true,
  budget: true,
  signal: true,
  store: true,
  resume: true,
  seed: true,
  stopEarly: true,
  confidence: true,
  onlyRows: true,
  onlyVariants: true,
  sampleSize: true,
  repetitions: true,
  compareWith: true,
  journal: true,
  workers: true,
  pacing: true,
  onProgress: true,
  clock: true,
  random: true,
  newId: true,
} as const;

/** @throws {DefinitionError} for options that cannot be. */
export function checkRunOptions(options: RunOptions): void {
  checkOptionNames("runEval", options, runOptionNames);
  const { concurrency = 16, seed = 1, confidence = 0.95, resume = "resume" } = options;
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    throw new DefinitionError(`The concurrency has to be a whole number from 1, not ${describeValue(concurrency)}.`);
  }
  const { onlyRows, onlyVariants, sampleSize = 1, repetitions = 1 } = options;
  for (const [name, number] of Object.entries({ sampleSize, repetitions })) {
    if (!Number.isSafeInteger(number) || number < 1) {
      throw new DefinitionError(`${name} has to be a whole number from 1, not ${describeValue(number)}.`);
    }
  }
  for (const [name, given] of Object.entries({ onlyRows, onlyVariants })) {
    if (given === undefined) continue;
    if (Array.isArray(given) && given.length > 0 && given.every((each) => typeof each === "string")) continue;
    throw new DefinitionError(`${name} has to be a list of at least one name, not ${describeValue(given)}.`);
  }
  if (options.journal !== undefined && typeof (options.journal as { run?: unknown }).run !== "function") {
    throw new DefinitionError(`The journal has to be one, not ${describeValue(options.journal)}.`);
  }
  if (!Number.isSafeInteger(seed))
    throw new DefinitionError(`The seed has to be a whole number, not ${describeValue(seed)}.`);
  if (!(typeof confidence === "number" && confidence > 0 && confidence < 1)) {
    throw new DefinitionError(`The confidence has to be between 0 and 1, not ${describeValue(confidence)}.`);
  }
  if (!["resume", "retry-failed", "fresh"].includes(resume)) {
    throw new DefinitionError(`resume is "resume", "retry-failed" or "fresh", not ${JSON.stringify(resume)}.`);
  }
}
