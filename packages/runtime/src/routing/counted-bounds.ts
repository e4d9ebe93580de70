import type { Allowance, PaceRequest } from "@proviso/core";
import { boundNumbers } from "./pace-numbers.ts";

const { leastPart, leastRequests, mostPart, plentyPart, riseFactor, fallFactor } = boundNumbers;

/**
 * Some services count the longest answer that a request allows, and report what was answered. Whether one does is seen from
 * what it states to be left of its limit, which falls although requests go out at the limit. As long as little is left
 * more of the bounds is charged with each answer, as long as much is left less of it: a service that counts them is sent
 * what it takes, and any other no less than before.
 */
export class CountedBounds {
  /** How much of what answers leave unused of their bounds is charged, 0 to 1. */
  share = 0;

  /** What an answer states to be left; what cannot be is as if nothing was stated. */
  learn({ left, size }: Allowance, { inputTokens, outputTokens }: PaceRequest): void {
    if (!(size > 0 && size < Infinity && left >= 0 && left <= size)) return;
    const wanted = leastRequests * (inputTokens + outputTokens);
    const least = Math.min(mostPart * size, Math.max(leastPart * size, wanted));
    const plenty = plentyPart * size;
    if (left < least) this.share = Math.min(1, this.share + (riseFactor * (least - left)) / least);
    else if (left > plenty) this.share = Math.max(0, this.share - (fallFactor * (left - plenty)) / (size - plenty));
  }
}
