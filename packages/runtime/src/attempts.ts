// The attempts of one evaluation that may begin again with another model.
import type { RouteStep } from "@proviso/core";
import type { Failure } from "./failures.ts";

/** The one that an attempt asks first. */
export interface Next {
  readonly provider: string;
  readonly model: string;
}

/** The attempts of one evaluation. */
export interface Attempts {
  /** Whether another attempt may follow. */
  hasMore(): boolean;
  /** Leaves out what failed; undefined: this failure ends the evaluation, or its calls may not be repeated. */
  nextAfter(why: Failure, mayRepeat: () => boolean, answered?: AnsweredBy): Next | undefined;
  /** The record says that the evaluation went on with this. */
  takeRecorded(why: Failure, next: Next, answered: AnsweredBy): void;
}

/** The adapter whose answer failed, where a record has it; undefined: no answer came from a record. */
export type AnsweredBy = Pick<RouteStep, "provider"> | undefined;

/** The attempts of an adapter that asks one model. */
export const oneAttempt: Attempts = { hasMore: () => false, nextAfter: () => undefined, takeRecorded: () => {} };
