import type { FrameworkEvent } from "./events.ts";

/** What an evaluation did, or a call of it, each with all that was done inside. */
export interface Work {
  readonly evaluationId: string;
  /** The call. Default: the whole evaluation. */
  readonly callId?: string | undefined;
}

type Parent = NonNullable<FrameworkEvent["parent"]>;

/**
 * What stands of the work that events show, until that is undone of which it is part. Each piece is taken and given back
 * once for each call and evaluation around it, however many of them fail.
 */
export class StandingWork<Piece> {
  readonly #parents = new Map<string, Parent | undefined>();
  /** The pieces by what undoes them, in the order in which they came. */
  readonly #pieces = new Map<string, { readonly piece: Piece; readonly place: number }[]>();
  /** The place at which each call began last: calls of several turns may have one id. */
  readonly #begun = new Map<string, number>();
  #place = 0;

  /** Takes the next event. An evaluation is known by its first one: no order of events makes a circle. */
  add(event: FrameworkEvent): void {
    const { evaluationId, parent } = event;
    if (event.type === "tool.requested") this.#begun.set(keyOf(event), this.#place);
    if (this.#parents.has(evaluationId)) return;
    if (parent !== undefined && !this.#parents.has(parent.evaluationId)) {
      this.#parents.set(parent.evaluationId, undefined);
      if (parent.evaluationId === evaluationId) return;
    }
    this.#parents.set(evaluationId, parent);
  }

  /** Keeps a piece that this work has done. */
  keep(piece: Piece, by: Work): void {
    const kept = { piece, place: this.#place++ };
    for (let at: Work | undefined = by; at !== undefined; at = this.#parents.get(at.evaluationId)) {
      if (at.callId !== undefined) this.#keepFor(keyOf(at), kept);
      this.#keepFor(keyOf({ evaluationId: at.evaluationId }), kept);
    }
  }

  #keepFor(key: string, kept: { readonly piece: Piece; readonly place: number }): void {
    const pieces = this.#pieces.get(key);
    if (pieces === undefined) this.#pieces.set(key, [kept]);
    else pieces.push(kept);
  }

  /** Returns the pieces of work that is undone: of a call, those since it began last. */
  undo(work: Work): readonly Piece[] {
    const from = work.callId === undefined ? 0 : (this.#begun.get(keyOf(work)) ?? Infinity);
    const pieces = this.#pieces.get(keyOf(work)) ?? [];
    const undone: Piece[] = [];
    while ((pieces.at(-1)?.place ?? -1) >= from) undone.push((pieces.pop() as { readonly piece: Piece }).piece);
    return undone;
  }
}

function keyOf({ evaluationId, callId }: Work): string {
  return JSON.stringify(callId === undefined ? [evaluationId] : [evaluationId, callId]);
}
