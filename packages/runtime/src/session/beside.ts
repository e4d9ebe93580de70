// 1. What others do beside an open transaction is not that transaction's to undo.
// 2. Nothing is remembered while no mark is open.
import type { SessionMark } from "./slices.ts";

interface AnyEvent {
  readonly type: string;
}
/** Somebody else dispatched an event, or restored a snapshot. */
type Change = { readonly event: AnyEvent } | { readonly restored: SessionMark };

/** Where undoing to a mark has to begin, and the events to reduce again from there. */
export interface Kept {
  readonly from: SessionMark;
  readonly events: readonly AnyEvent[];
}

/** What others do while marks are open. */
export interface Beside {
  /** One later than everything before. */
  next(): number;
  open(mark: SessionMark): void;
  close(mark: SessionMark): void;
  isOpen(mark: SessionMark): boolean;
  remember(change: Change): void;
  since(mark: SessionMark): Kept;
}

export function createBeside(): Beside {
  const open = new Set<SessionMark>();
  let changes: (readonly [order: number, Change])[] = [];
  let last = 0;
  const next = (): number => ++last;
  return {
    next,
    open: (mark) => void open.add(mark),
    close(mark) {
      if (open.delete(mark) && open.size === 0) changes = [];
    },
    isOpen: (mark) => open.has(mark),
    remember(change) {
      if (open.size > 0) changes.push([next(), change]);
    },
    since(mark) {
      let from = mark;
      let events: (readonly [number, AnyEvent])[] = [];
      for (const [order, change] of changes) {
        if (order < mark.order) continue;
        if ("event" in change) events.push([order, change.event]);
        else if (change.restored.session === mark.session && change.restored.order > mark.order) {
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
