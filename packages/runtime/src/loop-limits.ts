// The limits that the loop itself has. What a record answers was within those of its time: where it goes on, none is met.
import type { Run } from "./run.ts";

/** Whether there is no turn left. */
export function isOutOfTurns(run: Run): boolean {
  return run.tape === undefined ? haveTurnsEnded(run) : run.tape.endsLoop(run, "turns", () => haveTurnsEnded(run));
}

/** Whether the answer may not be repaired once more. */
export function isOutOfRepairs(run: Run, repairs: number): boolean {
  const isMet = repairs >= run.maxRepairs;
  return run.tape === undefined ? isMet : run.tape.endsLoop(run, "output", () => isMet);
}

/** Whether nothing more can be asked: no turn is left, or a limit forbids the next request. */
export function isSpent(run: Run): boolean {
  const isMet = (): boolean => haveTurnsEnded(run) || run.limits.checkRequest() !== undefined;
  return run.tape === undefined ? isMet() : run.tape.endsLoop(run, undefined, isMet);
}

function haveTurnsEnded({ turn, maxTurns }: Run): boolean {
  return turn >= maxTurns;
}
