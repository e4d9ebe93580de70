// The numbers of every pace: a process's own, and one whose state several processes share.
import { longestAnswer } from "../answer-lengths.ts";

/** How the share of the limits, and the rate that is found where none is known, follow refusals. */
export const shareNumbers = {
  first: 0.995,
  least: 0.05,
  cutFactor: 0.85,
  /** The share grows by this factor in each second. */
  growFactor: 1.02,
  /** Milliseconds between two cuts at least: the refusals of one burst are one sign. */
  cutEveryMs: 1_000,
} as const;

/** What is sent late may be made up for, in milliseconds; and the most by which one request moves a limit. */
export const meterNumbers = { requestSlackMs: 100, tokenSlackMs: 1_000, mostMs: 60_000 } as const;

/** What a request costs, learnt from what earlier ones have cost. */
export const costNumbers = {
  /** The weight of the newest. */
  learning: 0.1,
  /** An estimate is wrong by no more than this factor; what reports more is wrong itself. */
  mostRatio: 100,
  longestAnswer,
} as const;

/** Whether a service counts the longest answers that requests allow. */
export const boundNumbers = {
  /** How much should be left: of what may be used at once, but two requests like the last, at most half of it. */
  leastPart: 0.25,
  leastRequests: 2,
  mostPart: 0.5,
  /** Less is charged while more than this part is left. */
  plentyPart: 0.75,
  riseFactor: 0.25,
  fallFactor: 0.05,
} as const;

/** A service that names a longer wait, in milliseconds, is asked again after this one. */
export const longestStopMs = 15_000;
