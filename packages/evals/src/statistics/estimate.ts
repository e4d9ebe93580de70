import { DefinitionError } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";

/** A number with what is known of it. */
export interface Estimate {
  /** The plain mean; of a judge with labels, the corrected one. */
  readonly value: number;
  /** The interval's low end, cut at the range. */
  readonly low: number;
  /** The interval's high end, cut at the range. */
  readonly high: number;
  /** The share of such intervals that hold the true number, from 0 to 1. */
  readonly confidence: number;
  /**
   * How the interval was computed. "adjusted-t" is Student's t on clusters with one more cluster at either end, and Bonett
   * and Price's interval where scores are 0 or 1; "cluster-t" has no added clusters.
   */
  readonly method: "adjusted-t" | "cluster-t" | "prediction-powered" | "jackknife";
  /** The number of rows that have a value. */
  readonly rows: number;
  /** The number of groups where rows have one, else of rows. Fewer than 15 are few for an interval. */
  readonly clusters: number;
  /**
   * How many groups of one size say as much as these: (Σn)² / Σn² (Kish). Fewer than 15 are few, however many groups there
   * are. Left out: all groups have one size.
   */
  readonly effectiveClusters?: number;
}

/** A row's number and the group that it belongs to. */
export interface Observation {
  /** The mean of the row's repetitions, or of their differences. */
  readonly value: number;
  /** Rows that share a text here are one cluster. A row without one is a cluster of its own. */
  readonly cluster?: string | undefined;
}

/** The largest share of a number that may be there only because floating point rounds: a smaller difference is none. */
export const rounding = 1e-9;

/** How often an interval may miss. */
export interface Level {
  /** What the estimate reports as its confidence. */
  readonly confidence: number;
  /** The share outside the interval, both sides together: `1 − confidence`, and less at an early look (STA-5). */
  readonly error: number;
}

/** @throws {DefinitionError} unless the confidence is between 0 and 1. */
export function levelOf(confidence = 0.95): Level {
  if (!(typeof confidence === "number" && confidence > 0 && confidence < 1)) {
    throw new DefinitionError(`A confidence must be between 0 and 1, not ${describeValue(confidence)}.`);
  }
  return { confidence, error: 1 - confidence };
}

/** @throws {DefinitionError} for a number that is not finite. */
export function requireFinite(value: number, what: string): void {
  if (!Number.isFinite(value))
    throw new DefinitionError(`${what} must be a finite number, not ${describeValue(value)}.`);
}
