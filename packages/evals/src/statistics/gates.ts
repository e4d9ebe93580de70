/** What an interval says of a gate. "unsettled": the interval allows both. */
export type Verdict = "passed" | "failed" | "unsettled";

/** The ends of an interval. */
export interface Ends {
  readonly low: number;
  readonly high: number;
}

/** The confidence of each of `gated` intervals that together miss no more often than one would (STA-3, Bonferroni). */
export function familyConfidence(confidence: number, gated: number): number {
  return gated <= 1 ? confidence : 1 - (1 - confidence) / gated;
}

/** The verdict on a score that has to be at least `least` (STA-4); where less is better, at most. */
export function atLeastVerdict({ low, high }: Ends, least: number, lessIsBetter = false): Verdict {
  if (lessIsBetter) return high <= least ? "passed" : low > least ? "failed" : "unsettled";
  return low >= least ? "passed" : high < least ? "failed" : "unsettled";
}

/** The verdict on a difference that may lose no more than `margin` (STA-4). */
export function noWorseVerdict({ low, high }: Ends, margin: number, lessIsBetter = false): Verdict {
  return atLeastVerdict({ low, high }, lessIsBetter ? margin : -margin, lessIsBetter);
}

/** The verdict that all share; "unsettled" where two differ (EVL-14), or where there is none. */
export function sharedVerdict(verdicts: readonly Verdict[]): Verdict {
  const [first = "unsettled"] = verdicts;
  return verdicts.every((verdict) => verdict === first) ? first : "unsettled";
}

/** An unsettled gate passes unless it is to fail (STA-4). */
export function passesGate(verdict: Verdict, unsettled: "pass" | "fail" = "pass"): boolean {
  return verdict === "passed" || (verdict === "unsettled" && unsettled === "pass");
}

/** A difference is proven exactly when its interval lies on one side of zero (STA-2). */
export function isProven({ low, high }: Ends): boolean {
  return low > 0 || high < 0;
}
