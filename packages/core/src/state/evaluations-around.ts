import type { EventBase } from "./event-base.ts";

/** What is undone at once: all that evaluations inside a call did, or all that an evaluation, and those inside it, did. */
export interface UndoneWhole {
  readonly evaluationId: string;
  /** The call of the evaluation. Default: the whole evaluation. */
  readonly callId?: string | undefined;
}

type Parent = NonNullable<EventBase<string>["parent"]>;

/** Knows inside which calls and evaluations an evaluation is, from the events so far. */
export class EvaluationsAround {
  readonly #parents = new Map<string, Parent | undefined>();

  /** Takes the next event. An evaluation is known by its first one: no order of events makes a circle. */
  add({
    evaluationId,
    parent,
  }: Pick<EventBase<string>, "evaluationId"> & { readonly parent?: Parent | undefined }): void {
    if (this.#parents.has(evaluationId)) return;
    if (parent !== undefined && !this.#parents.has(parent.evaluationId)) {
      this.#parents.set(parent.evaluationId, undefined);
      if (parent.evaluationId === evaluationId) return;
    }
    this.#parents.set(evaluationId, parent);
  }

  /** Whether what this evaluation does is part of that. */
  isPart(evaluationId: string, { evaluationId: whole, callId }: UndoneWhole): boolean {
    if (callId === undefined && evaluationId === whole) return true;
    for (let at = this.#parents.get(evaluationId); at !== undefined; at = this.#parents.get(at.evaluationId)) {
      if (at.evaluationId === whole && (callId === undefined || at.callId === callId)) return true;
    }
    return false;
  }
}
