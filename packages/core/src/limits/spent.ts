import type { FrameworkEvent, RunResumed } from "../state/events.ts";
import { addUsage, noUsage, type Usage } from "./usage.ts";

/**
 * What an evaluation has spent after one more of its events. While it goes on that is what its answers cost; its end says
 * what it spent in all, with requests that have no answer of their own: refused ones, and one that was cut off.
 */
function spentAfter(spent: Usage, event: FrameworkEvent): Usage {
  if (event.type === "provider.responded") return addUsage(spent, event.usage);
  return event.type === "prompt.executed" || event.type === "prompt.failed" ? event.usage : spent;
}

/** What the evaluations of a run have spent, those inside calls included: each has its own events, and its own end. */
export class SpentByRun {
  /** What those have spent that have not ended: as many as are inside each other, or run side by side. */
  readonly #open = new Map<string, Usage>();
  readonly #ended = new Map<string, Usage>();
  /** The sum of `#ended`: a run may have very many evaluations inside. */
  #endedInAll = noUsage;
  /** What requests without an answer cost before the run went on: those of this evaluation, and those inside its calls. */
  #before: (NonNullable<RunResumed["unanswered"]> & { readonly evaluationId: string }) | undefined;

  /**
   * Returns whether the event says something of what was spent. `evaluationId` is that of the event, where the event itself
   * is kept without.
   */
  add(event: FrameworkEvent, evaluationId = event.evaluationId): boolean {
    if (event.type === "run.resumed") return this.#resumed(event, evaluationId);
    const before = this.#open.get(evaluationId) ?? this.#ended.get(evaluationId) ?? noUsage;
    const after = spentAfter(before, event);
    if (after === before) return false;
    // An evaluation that had ended goes on.
    if (this.#ended.delete(evaluationId)) this.#endedInAll = sumOf(noUsage, this.#ended);
    if (event.type === "provider.responded") {
      this.#open.set(evaluationId, after);
      return true;
    }
    this.#open.delete(evaluationId);
    this.#ended.set(evaluationId, after);
    this.#endedInAll = addUsage(this.#endedInAll, after);
    return true;
  }

  /** An end that is still counted has what was spent before it. */
  #resumed({ unanswered }: RunResumed, evaluationId: string): boolean {
    if (this.#ended.has(evaluationId)) return false;
    this.#before = unanswered && { ...unanswered, evaluationId };
    return unanswered !== undefined;
  }

  /** The sum of all evaluations. */
  total(): Usage {
    const spent = sumOf(this.#endedInAll, this.#open);
    if (this.#before === undefined) return spent;
    const { evaluationId, own, inside } = this.#before;
    const before = addUsage(spent, inside);
    return this.#ended.has(evaluationId) ? before : addUsage(before, own);
  }
}

function sumOf(first: Usage, more: ReadonlyMap<string, Usage>): Usage {
  return [...more.values()].reduce(addUsage, first);
}
