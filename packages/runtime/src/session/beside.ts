// 1. What others do beside an open transaction is not that transaction's to undo.
// 2. Nothing is remembered while no mark is open.
import type { SessionMark } from "./slices.ts";

/** The evaluation that caused an event, and its tool call where it was one. */
export interface Origin {
  readonly evaluationId?: string | undefined;
  readonly callId?: string | undefined;
  /** The call around the evaluation. */
  readonly parent?: { readonly evaluationId: string; readonly callId: string } | undefined;
}
/** An application's, or a framework's with its evaluation. */
export interface AnyEvent extends Origin {
  readonly type: string;
}
/** Somebody dispatched an event, or restored a snapshot. */
type Change =
  | { readonly event: AnyEvent; readonly by: Origin | undefined }
  | { readonly restored: SessionMark; readonly by: Origin | undefined };

/** Where undoing to a mark has to begin, and the events to reduce again from there. */
export interface Kept {
  readonly from: SessionMark;
  readonly events: readonly AnyEvent[];
}

/** What happens while marks are open, and to whose transaction it belongs. */
export interface Beside {
  /** One later than everything before. */
  next(): number;
  /** `owner` is an evaluation: its framework events, and those of evaluations inside it, belong to the mark. */
  open(mark: SessionMark, owner: string | undefined): void;
  close(mark: SessionMark): void;
  isOpen(mark: SessionMark): boolean;
  remember(change: Change): void;
  /**
   * What others did since the mark was taken; the rest is forgotten. With `calls`, all else that the owner did is
   * others', too.
   */
  undo(mark: SessionMark, calls?: ReadonlySet<string>): Kept;
}

export function createBeside(): Beside {
  const owners = new Map<SessionMark, string | undefined>();
  /** Which evaluation another one is inside of. */
  const outer = new Map<string, NonNullable<Origin["parent"]>>();
  /** For marks whose states hold what was undone since: the mark from which they are made anew. */
  const bases = new Map<SessionMark, SessionMark>();
  let changes: (readonly [order: number, Change])[] = [];
  let last = 0;

  const belongs = (by: Origin | undefined, owner: string | undefined, calls?: ReadonlySet<string>): boolean => {
    if (by?.evaluationId === undefined) return false;
    let at: Pick<Origin, "evaluationId" | "callId"> | undefined = by;
    while (at?.evaluationId !== undefined && at.evaluationId !== owner) at = outer.get(at.evaluationId);
    if (at?.evaluationId !== owner) return false;
    return calls === undefined || (at?.callId !== undefined && calls.has(at.callId));
  };
  return {
    next: () => ++last,
    open: (mark, owner) => void owners.set(mark, owner),
    close(mark) {
      bases.delete(mark);
      if (!owners.delete(mark) || owners.size > 0) return;
      changes = [];
      outer.clear();
    },
    isOpen: (mark) => owners.has(mark),
    remember(change) {
      if (owners.size === 0) return;
      changes.push([++last, change]);
      const { evaluationId, parent } = change.by ?? {};
      if (evaluationId !== undefined && parent !== undefined) outer.set(evaluationId, parent);
    },
    undo(mark, calls) {
      const owner = owners.get(mark);
      const undone = ([order, change]: (typeof changes)[number]): boolean =>
        order >= mark.order && belongs(change.by, owner, calls);
      const kept = changes.filter((each) => !undone(each));
      const base = bases.get(mark) ?? mark;
      if (kept.length < changes.length) {
        for (const other of owners.keys()) if (other.order > mark.order) bases.set(other, base);
      }
      changes = kept;
      /** What stood at this moment: a snapshot may be of something that was undone since, and is back. */
      const stoodAt = (moment: number): Kept => {
        const earlier = changes.filter(([order]) => order >= base.order && order < moment);
        const last = earlier.findLastIndex(([, change]) => "restored" in change);
        const events = earlier.slice(last + 1).flatMap(([, change]) => ("event" in change ? [change.event] : []));
        const change = earlier[last]?.[1];
        if (change === undefined || "event" in change) return { from: base, events };
        const { restored } = change;
        const isWithin = restored.session === base.session && restored.order > base.order;
        const back = isWithin ? stoodAt(restored.order) : { from: restored, events: [] };
        return { from: back.from, events: [...back.events, ...events] };
      };
      return stoodAt(Infinity);
    },
  };
}
