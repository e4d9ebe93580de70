// A record says of each refused request whether it went out again without the limit that a budget had set to its answer.
import type { FrameworkEvent } from "@proviso/core";
import type { Run } from "../run.ts";
import type { EntryOf, JournalEntry } from "./entries.ts";

type Answered = EntryOf<"answered">;

/** Whether a refused request went out again as it was. `next`: what its evaluation emitted after the refusal. */
export function isLift(next: FrameworkEvent | undefined): boolean {
  return next?.type === "provider.requested";
}

/** The limits that are lifted again, in the run's own evaluation and in all others. */
export class Lifts {
  readonly #lifted = new Set<Answered>();
  /** The last answer that each evaluation was given. */
  readonly #last = new WeakMap<Run, Answered>();

  constructor(entries: readonly JournalEntry[]) {
    /** The refusals that nothing was emitted after, by the evaluation. */
    const refusals = new Map<string, Answered>();
    for (const entry of entries) {
      const { evaluationId } = entry;
      if (entry.kind === "answered" && entry.answer.failure === "provider") refusals.set(evaluationId, entry);
      if (entry.kind !== "event") continue;
      const refusal = refusals.get(evaluationId);
      if (refusal === undefined) continue;
      refusals.delete(evaluationId);
      if (isLift(entry.event)) this.#lifted.add(refusal);
    }
  }

  /** Takes the answer that an evaluation is given, and returns it. */
  answered(run: Run, answer: Answered | undefined): Answered | undefined {
    if (answer !== undefined) this.#last.set(run, answer);
    return answer;
  }

  /** Whether the last answer of an evaluation is a refusal after which the limit was lifted. */
  has(run: Run): boolean {
    const last = this.#last.get(run);
    return last !== undefined && this.#lifted.has(last);
  }
}
