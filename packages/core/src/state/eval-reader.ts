import type { Usage } from "../limits/usage.ts";

/** Results of evals, as the matrix shows them. */
export interface EvalReader {
  /** Returns all evals, in the order in which they are shown. */
  list(): Promise<readonly EvalSummary[]>;
  /** undefined: there is none. */
  report(evalRunId: string): Promise<EvalView | undefined>;
  /** Returns attempts in the order of rows; a row's variants and repetitions stand together. */
  attempts(evalRunId: string): AsyncIterable<AttemptView>;
}

/** What a list shows of an eval. */
export interface EvalSummary {
  /** The name of the eval. */
  readonly name: string;
  /** The id of this run of it. */
  readonly runId: string;
  /** When it began, as ISO 8601. */
  readonly startedAt: string;
  /** How far it is. */
  readonly status: "running" | "done" | "stopped";
  /** How many rows it has. */
  readonly rows: number;
  /** The names of the variants. */
  readonly variants: readonly string[];
}

/** An eval with its results. */
export interface EvalView extends EvalSummary {
  /** How often each row is tried with each variant. */
  readonly repetitions: number;
  /** What the variants are compared with. */
  readonly baseline: { readonly variant: string } | { readonly saved: string };
  /**
   * The worst and the best value by scorer; [5, 0] is one where less is better. A scorer that is not in it has values of which
   * nothing says whether they are good. Default: none is known.
   */
  readonly ranges?: Readonly<Record<string, readonly [worst: number, best: number]>>;
  /** The scores by variant, then scorer. */
  readonly scores: Readonly<Record<string, Readonly<Record<string, Interval>>>>;
  /** How much better a variant is than the baseline on the same rows, by variant, then scorer. */
  readonly differences: Readonly<Record<string, Readonly<Record<string, Interval>>>>;
  /** The gates, and what became of each. */
  readonly gates: readonly {
    readonly scorer: string;
    readonly variant: string;
    readonly gate: string;
    readonly bound: number;
    readonly verdict: "passed" | "failed" | "unsettled";
  }[];
}

/** A value, and how sure it is. */
export interface Interval {
  /** The value. */
  readonly value: number;
  /** The lower end of the interval. */
  readonly low: number;
  /** The upper end of the interval. */
  readonly high: number;
  /** How often such an interval holds the true value, from 0 to 1: 0.95 for example. */
  readonly confidence: number;
}

/** One row with one variant, once. */
export interface AttemptView {
  /** The id of the row. */
  readonly rowId: string;
  /** What is shown of the row. Default: its id. */
  readonly label?: string | undefined;
  /** The name of the variant. */
  readonly variant: string;
  /** The number of the repetition, from 1. */
  readonly repetition: number;
  /** What became of it. */
  readonly status: "answered" | "failed" | "pending";
  /** What each scorer made of it, by its name. */
  readonly scores: Readonly<Record<string, { readonly value: number } | { readonly unscored: string }>>;
  /** What it spent. */
  readonly usage: Usage;
  /** Milliseconds. */
  readonly durationMs: number;
  /** The ids of the recorded runs that it is made of. */
  readonly runIds: readonly string[];
}
