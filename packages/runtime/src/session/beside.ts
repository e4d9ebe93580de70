// 1. What others do beside an open transaction is not that transaction's to undo.
// 2. What is older than every open mark is forgotten, in steps that cost the same for each change on average.
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

type Ordered = readonly [order: number, Change];
type Around = NonNullable<Origin["parent"]>;

/** Where undoing to a mark has to begin, and the events to reduce again from there. */
export interface Kept {
  readonly from: SessionMark;
  readonly events: readonly AnyEvent[];
}

/** What happens while marks are open, and to whose transaction it belongs. */
export interface Beside {
  /** One later than everything before. */
  next(): number;
  /**
   * `owner` is an evaluation or a transaction: its events, and those of evaluations inside it, belong to the mark. `parent`
   * is what a transaction is inside of.
   */
  open(mark: SessionMark, owner: string | undefined, parent?: Origin["parent"]): void;
  close(mark: SessionMark): void;
  /** Whether a mark is open. */
  isOpen(): boolean;
  remember(change: Change): void;
  /**
   * What others did since the mark was taken; the rest is forgotten. With `calls`, all else that the owner did is
   * others', too.
   */
  undo(mark: SessionMark, calls?: ReadonlySet<string>): Kept;
}

interface OpenMark {
  readonly mark: SessionMark;
  /** Whose transaction it is. */
  readonly owner: string | undefined;
  /** Where its states are made anew from: the mark itself, or an earlier one where they hold what was undone since. */
  base: SessionMark;
}

export function createBeside(): Beside {
  /** The marks that are open, in the order of opening. */
  const open: OpenMark[] = [];
  /** Which evaluation another one is inside of. */
  let outer = new Map<string, Around>();
  let changes: Ordered[] = [];
  let last = 0;
  /** How many changes there were when the old ones were last forgotten. */
  let young = 0;

  const belongs = (by: Origin | undefined, owner: string | undefined, calls?: ReadonlySet<string>): boolean => {
    if (by?.evaluationId === undefined) return false;
    let at: Pick<Origin, "evaluationId" | "callId"> | undefined = by;
    while (at?.evaluationId !== undefined && at.evaluationId !== owner) at = outer.get(at.evaluationId);
    if (at?.evaluationId !== owner) return false;
    return calls === undefined || (at?.callId !== undefined && calls.has(at.callId));
  };
  const forgetOld = (): void => {
    if (open.length === 0 && outer.size === 0) {
      changes = [];
      young = 0;
      return;
    }
    if (open.length > 0 && changes.length < 2 * young + 16) return;
    let oldest = Infinity;
    for (const { base } of open) oldest = Math.min(oldest, base.order);
    changes = changes.filter(([order]) => order >= oldest);
    young = changes.length;
    outer = reachable(outer, [...open.map(({ owner }) => owner), ...changes.map(([, { by }]) => by?.evaluationId)]);
  };
  return {
    next: () => ++last,
    open(mark, owner, parent) {
      open.push({ mark, owner, base: mark });
      if (owner !== undefined && parent !== undefined) outer.set(owner, parent);
    },
    close(mark) {
      const at = open.findLastIndex((one) => one.mark === mark);
      if (at === -1) return;
      open.splice(at, 1);
      forgetOld();
    },
    isOpen: () => open.length > 0,
    remember(change) {
      if (open.length === 0) return;
      changes.push([++last, change]);
      const { evaluationId, parent } = change.by ?? {};
      if (evaluationId !== undefined && parent !== undefined) outer.set(evaluationId, parent);
    },
    undo(mark, calls) {
      const { owner, base = mark } = open.find((one) => one.mark === mark) ?? {};
      const undone = ([order, change]: Ordered): boolean => order >= mark.order && belongs(change.by, owner, calls);
      const kept = changes.filter((each) => !undone(each));
      if (kept.length < changes.length) {
        for (const other of open) if (other.mark.order > mark.order) other.base = base;
      }
      changes = kept;
      return stoodAt(kept, base, Infinity);
    },
  };
}

/** Of what these evaluations are inside of, and what is around that. */
function reachable(outer: ReadonlyMap<string, Around>, ids: readonly (string | undefined)[]): Map<string, Around> {
  const found = new Map<string, Around>();
  for (let id of ids) {
    for (let around; id !== undefined && !found.has(id); id = around.evaluationId) {
      around = outer.get(id);
      if (around === undefined) break;
      found.set(id, around);
    }
  }
  return found;
}

/** What stood at this moment: a snapshot may be of something that was undone since, and is back. */
function stoodAt(changes: readonly Ordered[], base: SessionMark, moment: number): Kept {
  const earlier = changes.filter(([order]) => order >= base.order && order < moment);
  const last = earlier.findLastIndex(([, change]) => "restored" in change);
  const events = earlier.slice(last + 1).flatMap(([, change]) => ("event" in change ? [change.event] : []));
  const change = earlier[last]?.[1];
  if (change === undefined || "event" in change) return { from: base, events };
  const { restored } = change;
  const isWithin = restored.session === base.session && restored.order > base.order;
  const back = isWithin ? stoodAt(changes, base, restored.order) : { from: restored, events: [] };
  return { from: back.from, events: [...back.events, ...events] };
}
