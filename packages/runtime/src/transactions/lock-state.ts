// What a lock and a transaction hold and wait for.

export type LockMode = "read" | "write";

/** The lock of a session or resource, or of what one transaction holds of it. */
export interface Lock {
  /** The order in which locks are taken together. */
  readonly number: number;
  readonly holds: Hold[];
  /** The line: each transaction that lacks the lock stands in it once. */
  readonly queue: PlaceInLine[];
  /** Waits for what the holders keep open, which stand in no line. */
  readonly beside: Wait[];
}

/** A transaction, as locks see it. */
export interface LockOwner {
  /** The owner in words, for messages: `the call of publish (call_1)`. */
  readonly name: string;
  /** The transaction around it, whose locks it may pass. */
  readonly parent: LockOwner | undefined;
  /**
   * The transaction in whose code it was begun without being part of it: that one may wait for it. What context.evaluate
   * begins in the body of a transaction() inside a call has both: the call is its parent, and it was started in the body.
   */
  startedIn: LockOwner | undefined;
  /** How it holds what it, or a transaction inside it, asks for after it has begun. */
  readonly mode: LockMode;
  /**
   * The body of a `transaction()`: the scope that it is over, known by its identity. It holds what transactions inside it
   * ask for of that scope, and no other resource; a call holds everything that is asked for inside it.
   */
  readonly scope: object | undefined;
  readonly holds: Hold[];
  /** The owner's own waits, and those of transactions that were begun in it. */
  readonly waits: Wait[];
  /** Where it stands in line, for itself or on behalf of transactions inside it. */
  readonly places: PlaceInLine[];
  ended: boolean;
}

export interface Hold {
  /** The lock of the session or resource. */
  readonly of: Lock;
  /** The lock itself, or the inner lock of the transaction around. */
  readonly lock: Lock;
  readonly owner: LockOwner;
  mode: LockMode;
  /** The lock that transactions inside this one take. */
  inner: Lock | undefined;
}

/** What a transaction asks for. */
export interface WantedLock {
  readonly of: Lock;
  readonly mode: LockMode;
  /** The scope of resources in which it was found; undefined for a session. */
  readonly scope: object | undefined;
}

/** What cannot be had at once; `lacking` is the transaction, this one or one around it, that lacks it. */
export interface Blocked extends WantedLock {
  readonly lock: Lock;
  readonly lacking: LockOwner;
}

/** The place in line of a transaction that lacks a lock. */
export interface PlaceInLine extends Blocked {
  /** Positions in one line ascend from 1. 0: it waits for the holders only, not in the line. */
  readonly position: number;
  /** Several evaluations inside one transaction may ask for a lock on its behalf. */
  readonly waits: Wait[];
}

export interface Wait {
  readonly owner: LockOwner;
  readonly place: PlaceInLine;
  /** The owners that have the wait on their lists: its own, and all that cannot end before it. */
  readonly listedAt: Iterable<LockOwner>;
  end(): void;
}

/** What this transaction itself holds. */
export function holdOf(owner: LockOwner, of: Lock): Hold | undefined {
  for (const each of owner.holds) if (each.of === of) return each;
  return undefined;
}

/** Returns the hold of this very lock by the transaction, or by one that cannot end before it. */
export function holdAround(owner: LockOwner, lock: Lock): Hold | undefined {
  for (const one of around(owner)) {
    const held = one.holds.find((each) => each.lock === lock);
    if (held !== undefined) return held;
  }
  return undefined;
}

/** The first of those that hold the lock, or stand in line for it. */
export function firstAt({ holds, queue }: Lock): LockOwner | undefined {
  return holds[0]?.owner ?? queue[0]?.lacking;
}

/** Whether `outer` is `owner`, or cannot end before it. */
export function isAround(outer: LockOwner, owner: LockOwner): boolean {
  return outer === owner || around(owner).has(outer);
}

/** The transaction and all that cannot end before it. */
export function around(owner: LockOwner): ReadonlySet<LockOwner> {
  const found = new Set([owner]);
  for (const { parent, startedIn } of found) {
    if (parent !== undefined) found.add(parent);
    if (startedIn !== undefined) found.add(startedIn);
  }
  return found;
}
