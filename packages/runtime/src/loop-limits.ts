// The limits that the loop itself has. What a record answers was within those of its time: where it goes on, none is met.
import type { Run } from "./run.ts";

/** Whether there is no turn left. */
export function isOutOfTurns(run: Run): boolean {
  return ends(run, "turns", () => run.turn >= run.maxTurns);
}

/** Whether the answer may not be repaired once more. */
export function isOutOfRepairs(run: Run, repairs: number): boolean {
  return ends(run, "output", () => repairs >= run.maxRepairs);
}

/** Whether nothing more can be asked: no turn is left, or a limit forbids the next request. */
export function isSpent(run: Run): boolean {
  return ends(run, undefined, () => run.turn >= run.maxTurns || run.limits.checkRequest() !== undefined);
}

function ends(run: Run, code: "turns" | "output" | undefined, isMet: () => boolean): boolean {
  return run.tape?.endsLoop(run, code, isMet) ?? isMet();
}
