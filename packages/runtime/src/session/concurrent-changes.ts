// 1. While a transaction is open, what others change is recorded: rolling the transaction back does it again.
// 2. Changes older than every open mark are dropped; on average that costs the same for each change.
import type { Slice } from "@proviso/core";
import type { LogMarks } from "./log.ts";

/** The states of the state slices, by the order in which they joined; with "all" how long the logs are, too. */
export interface SessionMark {
  /** Identifies the session that it was taken of. */
  readonly session: object;
  /** Grows with each mark, and with each change that others make while one is open. */
  readonly order: number;
  readonly slices: readonly Slice[];
  readonly states: readonly unknown[];
  readonly logs: LogMarks | undefined;
}

/** The evaluation that caused an event, and its tool call where it was one. */
export interface Origin {
  readonly evaluationId?: string | undefined;
  readonly callId?: string | undefined;
  /** The call around the evaluation. */
  readonly parent?: { readonly evaluationId: string; readonly callId: string } | undefined;
}
/** An application's event, or a framework event with its evaluation. */
export interface AnyEvent extends Origin {
  readonly type: string;
}
/** An event was dispatched, or a snapshot was restored. */
type Change =
  | { readonly event: AnyEvent; readonly by: Origin | undefined }
  | { readonly restored: SessionMark; readonly by: Origin | undefined };

type Ordered = readonly [order: number, Change];
type Parent = NonNullable<Origin["parent"]>;

/** Where undoing to a mark has to begin, and the events to reduce again from there. */
export interface Remaining {
  readonly from: SessionMark;
  readonly events: readonly AnyEvent[];
}

/** What undoing to a mark has to do. */
export interface Undone extends Remaining {
  /** The events of others since the mark: a restored snapshot leaves the entries of logs, so that a log has all of them. */
  readonly logged: readonly AnyEvent[];
}

interface OpenMark {
  readonly mark: SessionMark;
  /** The evaluation or transaction that the mark belongs to. */
  readonly owner: string | undefined;
  /** A rollback rebuilds the states from this mark: the mark itself, or an earlier one where its states contain what was undone since. */
  base: SessionMark;
}

/** The changes made while marks are open, with the transaction that each belongs to. */
export class ConcurrentChanges {
  /** How many marks are open. */
  openMarks = 0;
  /** The order number that was given last. */
  last = 0;
  /** The marks that are open, in the order of opening. */
  readonly #open: OpenMark[] = [];
  /** The call or transaction around an evaluation or a transaction, by id; undefined: there was none. */
  #parents: Map<string, Parent> | undefined;
  #changes: Ordered[] = [];
  /** How many changes remained when the old ones were last dropped. */
  #remaining = 0;

  /**
   * `owner` is an evaluation or a transaction: its events, and those of evaluations inside it, belong to the mark. `parent`
   * is the call or the transaction around it.
   */
  open(mark: SessionMark, owner: string | undefined, parent?: Origin["parent"]): void {
    this.#open.push({ mark, owner, base: mark });
    this.openMarks += 1;
    if (owner !== undefined && parent !== undefined) this.#remember(owner, parent);
  }

  close(mark: SessionMark): void {
    const at = this.#open.findLastIndex((other) => other.mark === mark);
    if (at === -1) return;
    if (at === this.#open.length - 1) this.#open.pop();
    else this.#open.splice(at, 1);
    this.openMarks -= 1;
    this.#dropOld();
  }

  /** Whether a rollback to an open mark may keep what this evaluation does. */
  isMarkedByOthers(evaluationId: string | undefined): boolean {
    for (const { owner } of this.#open) if (owner !== evaluationId) return true;
    return false;
  }

  record(change: Change): void {
    if (this.#open.length === 0) return;
    this.#changes.push([++this.last, change]);
    const { evaluationId, parent } = change.by ?? {};
    if (evaluationId !== undefined && parent !== undefined) this.#remember(evaluationId, parent);
  }

  /**
   * Drops what the mark's owner did since the mark was taken, and returns what others did. With `calls` only what these
   * calls of the owner did is dropped.
   */
  undo(mark: SessionMark, calls?: ReadonlySet<string>): Undone {
    const open = this.#open;
    const { owner, base = mark } = open.find((other) => other.mark === mark) ?? {};
    const undone = ([order, change]: Ordered): boolean => order >= mark.order && this.#belongs(change.by, owner, calls);
    const gone = this.#changes.filter(undone);
    if (gone.length > 0) {
      this.last += 1;
      for (const [, change] of gone) undoneAt.set(change, [...(undoneAt.get(change) ?? []), this.last]);
      for (const other of open) if (other.mark.order > mark.order) other.base = base;
    }
    const logged = eventsOf(this.#changes.filter((each) => each[0] >= mark.order && !undone(each)));
    return { ...stateAt(this.#changes, base, Infinity), logged };
  }

  #remember(id: string, parent: Parent): void {
    (this.#parents ??= new Map()).set(id, parent);
  }

  #belongs(by: Origin | undefined, owner: string | undefined, calls?: ReadonlySet<string>): boolean {
    if (by?.evaluationId === undefined) return false;
    let at: Pick<Origin, "evaluationId" | "callId"> | undefined = by;
    while (at?.evaluationId !== undefined && at.evaluationId !== owner) at = this.#parents?.get(at.evaluationId);
    if (at?.evaluationId !== owner) return false;
    return calls === undefined || (at?.callId !== undefined && calls.has(at.callId));
  }

  #dropOld(): void {
    const open = this.#open;
    const parents = this.#parents;
    if (open.length === 0 && (parents === undefined || parents.size === 0)) {
      if (this.#changes.length > 0) this.#changes = [];
      this.#remaining = 0;
      return;
    }
    if (open.length > 0 && this.#changes.length < 2 * this.#remaining + 16) return;
    let oldest = Infinity;
    for (const { base } of open) oldest = Math.min(oldest, base.order);
    const changes = this.#changes.filter(([order]) => order >= oldest);
    this.#changes = changes;
    this.#remaining = changes.length;
    if (parents === undefined) return;
    this.#parents = reachable(parents, [
      ...open.map(({ owner }) => owner),
      ...changes.map(([, { by }]) => by?.evaluationId),
    ]);
  }
}

function eventsOf(changes: readonly Ordered[]): readonly AnyEvent[] {
  return changes.flatMap(([, change]) => ("event" in change ? [change.event] : []));
}

/** The parents of these, and the parents of those. */
function reachable(parents: ReadonlyMap<string, Parent>, ids: readonly (string | undefined)[]): Map<string, Parent> {
  const found = new Map<string, Parent>();
  for (let id of ids) {
    for (let parent; id !== undefined && !found.has(id); id = parent.evaluationId) {
      parent = parents.get(id);
      if (parent === undefined) break;
      found.set(id, parent);
    }
  }
  return found;
}

/** When a change was undone. It stays in the list, because a snapshot that holds it may be restored later. */
const undoneAt = new WeakMap<Change, readonly number[]>();

/** A snapshot that was taken at `from` was restored at `to`: what was undone between them is back. */
interface Restored {
  readonly from: number;
  readonly to: number;
}

function isInEffect(change: Change, restores: readonly Restored[]): boolean {
  const undone = undoneAt.get(change);
  return undone === undefined || undone.every((at) => restores.some(({ from, to }) => from <= at && at < to));
}

/** What the state was at this moment, with what the later `restores` have brought back. */
function stateAt(
  changes: readonly Ordered[],
  base: SessionMark,
  moment: number,
  restores: readonly Restored[] = [],
): Remaining {
  const earlier = changes.filter(
    ([order, change]) => order >= base.order && order < moment && isInEffect(change, restores),
  );
  const last = earlier.findLastIndex(([, change]) => "restored" in change);
  const events = eventsOf(earlier.slice(last + 1));
  const [to, change] = earlier[last] ?? [];
  if (to === undefined || change === undefined || "event" in change) return { from: base, events };
  const { restored } = change;
  const isWithin = restored.session === base.session && restored.order > base.order;
  const all = [...restores, { from: restored.order, to }];
  const back = isWithin ? stateAt(changes, base, restored.order, all) : { from: restored, events: [] };
  return { from: back.from, events: [...back.events, ...events] };
}
