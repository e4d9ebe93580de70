// 1. What others do beside an open transaction is not that transaction's to undo.
// 2. Nothing is remembered while no mark is open.
import type { SessionMark } from "./slices.ts";

/** An application's, or a framework's with its evaluation. */
export interface AnyEvent {
  readonly type: string;
  readonly evaluationId?: string | undefined;
  readonly parent?: { readonly evaluationId: string } | undefined;
}
/** Somebody dispatched an event, or restored a snapshot. */
type Change = { readonly event: AnyEvent } | { readonly restored: SessionMark };

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
  /** What others did since the mark was taken. */
  since(mark: SessionMark): Kept;
}

export function createBeside(): Beside {
  const owners = new Map<SessionMark, string | undefined>();
  /** Which evaluation another one is inside of. */
  const outer = new Map<string, string>();
  let changes: (readonly [order: number, Change])[] = [];
  let last = 0;

  const belongs = (event: AnyEvent, owner: string | undefined): boolean => {
    if (event.evaluationId === undefined) return false;
    let id: string | undefined = event.evaluationId;
    while (id !== undefined && id !== owner) id = outer.get(id);
    return id === owner;
  };
  return {
    next: () => ++last,
    open: (mark, owner) => void owners.set(mark, owner),
    close(mark) {
      if (!owners.delete(mark) || owners.size > 0) return;
      changes = [];
      outer.clear();
    },
    isOpen: (mark) => owners.has(mark),
    remember(change) {
      if (owners.size === 0) return;
      changes.push([++last, change]);
      if (!("event" in change)) return;
      const { evaluationId, parent } = change.event;
      if (evaluationId !== undefined && parent !== undefined) outer.set(evaluationId, parent.evaluationId);
    },
    since(mark) {
      const owner = owners.get(mark);
      let from = mark;
      let events: (readonly [number, AnyEvent])[] = [];
      for (const [order, change] of changes) {
        if (order < mark.order) continue;
        if ("event" in change) {
          if (!belongs(change.event, owner)) events.push([order, change.event]);
        } else if (change.restored.session === mark.session && change.restored.order > mark.order) {
          // Back to a moment within the transaction: what others did before it stands.
          events = events.filter(([at]) => at < change.restored.order);
        } else {
          from = change.restored;
          events = [];
        }
      }
      return { from, events: events.map(([, event]) => event) };
    },
  };
}
