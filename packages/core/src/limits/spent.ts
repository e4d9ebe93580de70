import type { FrameworkEvent } from "../state/events.ts";
import { addUsage, noUsage, type Usage } from "./usage.ts";

/**
 * What an evaluation has spent after one more of its events. While it goes on that is what its answers cost; its end says
 * what it spent in all, with requests that have no answer of their own: refused ones, and one that was cut off.
 */
export function spentAfter(spent: Usage, event: FrameworkEvent): Usage {
  if (event.type === "provider.responded") return addUsage(spent, event.usage);
  return event.type === "prompt.executed" || event.type === "prompt.failed" ? event.usage : spent;
}

/** What the evaluations of a run have spent, those inside calls included: each has its own events, and its own end. */
export class SpentByRun {
  readonly #byEvaluation = new Map<string, Usage>();

  add(event: FrameworkEvent): void {
    const before = this.#byEvaluation.get(event.evaluationId) ?? noUsage;
    const after = spentAfter(before, event);
    if (after !== before) this.#byEvaluation.set(event.evaluationId, after);
  }

  /** The sum of all evaluations. */
  total(): Usage {
    return [...this.#byEvaluation.values()].reduce(addUsage, noUsage);
  }
}
