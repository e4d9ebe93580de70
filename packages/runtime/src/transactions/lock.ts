// Fair reader-writer locks, one for each session and each resource.
//
// 1. Locks are granted in the order in which they were asked for; neighbouring readers share.
// 2. Transactions nest: one that begins inside another takes the inner lock of what the outer one holds. So an outer
//    transaction holds everything that those inside it have held, until it ends.
// 3. A wait that could never end is refused when it would begin, and is not left to a limit.
// 4. Locks that are known together are taken in the order of their numbers (`inOrder` of transaction.ts). Those that a
//    handler asks for later come in any order; rule 3 makes that safe.
// 5. What holders keep open of what they hold is waited for beside the line. Such a wait counts for rule 3, and is not
//    refused where a transaction in the line could be.
import { RevokedError } from "@proviso/core";
import { acrossCopies } from "@proviso/core/internal";
import {
  around,
  firstAt,
  holdAround,
  holdOf,
  isAround,
  type Blocked,
  type Hold,
  type Lock,
  type LockMode,
  type LockOwner,
  type PlaceInLine,
  type Wait,
  type WantedLock,
} from "./lock-state.ts";
import { whoKeepsWaiting } from "./who-keeps-waiting.ts";

let numbered: { created: number } | undefined;

/** Numbers ascend over all copies of this package: locks are taken in one order by all of them. */
export function createLock(): Lock {
  numbered ??= acrossCopies("runtime: locks, 1", () => ({ created: 0 }));
  return { number: numbered.created++, holds: [], queue: [], beside: [] };
}

/** Takes the lock at this transaction and at those around it, or returns what is not free. */
export function tryAcquire(owner: LockOwner, wanted: WantedLock): Blocked | undefined {
  const { of, mode } = wanted;
  // What has ended would never give it back.
  if (owner.ended) throw new RevokedError(`${owner.name} is over: it takes no lock any more.`);
  const held = holdOf(owner, of);
  if (held === undefined) {
    const around = passed(owner, wanted);
    return "lacking" in around ? around : takeAt(owner, around, wanted);
  }
  return mode === "read" ? undefined : upgrade(held, wanted.scope);
}

/** A hold for reading becomes one for writing, at those around it first; or what is not free. */
function upgrade(held: Hold, scope: object | undefined): Blocked | undefined {
  const { of, lock, owner, mode } = held;
  if (mode === "write") return undefined;
  const around = passed(owner, { of, mode: "write", scope });
  if ("lacking" in around) return around;
  if (lock.holds.length > 1) return { of, mode: "write", scope, lock, lacking: owner };
  held.mode = "write";
  return undefined;
}

/** The lock to take inside the one around the transaction, which takes its own first; or what is not free. */
function passed(inner: LockOwner, wanted: WantedLock): Lock | Blocked {
  const { of, mode, scope } = wanted;
  const { parent: outer } = inner;
  if (outer === undefined) return of;
  const held = holdOf(outer, of);
  if (held !== undefined) {
    // A policy's check holds for reading what the handler's evaluations may change.
    const blocked =
      mode === "write" && takesFor(outer, scope) && outer.mode === "write" ? upgrade(held, scope) : undefined;
    return blocked ?? (held.inner ??= createLock());
  }
  const isOnlyRead = outer.isAttempt === true && mode === "read";
  if (outer.ended || isOnlyRead || !takesFor(outer, scope)) return passed(outer, wanted);
  const taken = { of, mode: outer.mode, scope };
  const around = passed(outer, taken);
  if ("lacking" in around) return around;
  return takeAt(outer, around, taken) ?? passed(inner, wanted);
}

/** Whether the transaction holds what those inside it ask for of this scope. */
function takesFor(outer: LockOwner, scope: object | undefined): boolean {
  return outer.scope === undefined || outer.scope === scope;
}

function takeAt(owner: LockOwner, lock: Lock, { of, mode, scope }: WantedLock): Blocked | undefined {
  if (!isFree(lock, owner, mode)) return { of, mode, scope, lock, lacking: owner };
  hold(owner, lock, of, mode);
  return undefined;
}

function hold(owner: LockOwner, lock: Lock, of: Lock, mode: LockMode): void {
  const taken: Hold = { of, lock, owner, mode, inner: undefined };
  lock.holds.push(taken);
  owner.holds.push(taken);
}

function isFree(lock: Lock, owner: LockOwner, mode: LockMode): boolean {
  const { holds, queue } = lock;
  if (holds.length === 0) return true;
  if (mode === "write" || holds.some((held) => held.mode === "write")) return false;
  // A reader that is begun in another's code would wait for ever behind a writer that waits for that one.
  return queue.length === 0 || holdAround(owner, lock) !== undefined;
}

/** Whether a transaction other than this one and those around it holds the lock or waits for it. */
export function isSharedWithOthers(owner: LockOwner, of: Lock): boolean {
  let isHeld = false;
  for (let one: LockOwner | undefined = owner; one !== undefined; one = one.parent) {
    const held = holdOf(one, of);
    if (held === undefined) continue;
    isHeld = true;
    if (held.lock.holds.length > 1 || held.lock.queue.length > 0) return true;
  }
  return !isHeld && of.holds.length + of.queue.length > 0;
}

/** A wait that has begun. */
export interface Waiting {
  /** Settles when it is worth trying again. */
  readonly ready: Promise<void>;
  /** The transaction that is waited for, in words. */
  readonly heldBy: string;
  cancel(): void;
}

/** A wait that would never end. */
export interface EndlessWait {
  readonly isEndless: true;
  readonly heldBy: string;
  readonly holder: Holder;
}

/**
 * The holder in a wait without end: the call, the body of `transaction()` or the attempt of an evaluation in whose code the
 * wait begins, or another transaction that waits in turn.
 */
export type Holder = "call" | "body" | "attempt" | "other";

type Begun = Pick<LockOwner, "parent" | "startedIn">;

/** Waits in line, unless a transaction in front waits for this one in turn. */
export function waitInLine(owner: LockOwner, blocked: Blocked): Waiting | EndlessWait {
  const { lock, lacking } = blocked;
  const place = lacking.places.find((each) => each.lock === lock) ?? lastPlace(blocked);
  const waitsBack = whoKeepsWaiting(owner, place);
  if (waitsBack !== undefined) {
    return { isEndless: true, heldBy: waitsBack.name, holder: holderOf(waitsBack, owner) };
  }
  const heldBy = (firstAt(lock) ?? owner).name;
  if (place.waits.length === 0) {
    lock.queue.push(place);
    lacking.places.push(place);
  }
  const { promise: ready, resolve: end } = Promise.withResolvers<void>();
  const wait = listed({ owner, place, listedAt: around(owner), end }, place.waits);
  return {
    ready,
    heldBy,
    cancel() {
      leaveLine(wait);
      admit(lock);
    },
  };
}

/** Makes a place at the end of the line; the first wait for it puts it there. */
function lastPlace(blocked: Blocked): PlaceInLine {
  return { ...blocked, position: (blocked.lock.queue.at(-1)?.position ?? 0) + 1, waits: [] };
}

function listed(wait: Wait, waits: Wait[]): Wait {
  waits.push(wait);
  for (const one of wait.listedAt) one.waits.push(wait);
  return wait;
}

/**
 * Waits beside the line for what the holders of the lock keep open; call the result when that wait is over. Transactions
 * in line that could never have their turn while it lasts leave the line, try again, and are refused.
 */
export function waitBeside(owner: LockOwner, of: Lock): () => void {
  const place = {
    of,
    lock: of,
    mode: "write",
    scope: undefined,
    lacking: owner,
    position: 0,
    waits: of.beside,
  } as const;
  const wait = listed({ owner, place, listedAt: around(owner), end() {} }, of.beside);
  for (const other of of.holds.flatMap((held) => held.owner.waits)) {
    if (other.place.position === 0 || whoKeepsWaiting(other.owner, other.place) === undefined) continue;
    leaveLine(other);
    other.end();
    admit(other.place.lock);
  }
  return () => leaveLine(wait);
}

/** The transaction that cannot end before this one, and holds the lock against it; undefined: none does. */
export function whoHoldsAround(owner: LockOwner, { of, mode }: WantedLock): EndlessWait | undefined {
  let lock: Lock | undefined = of;
  for (let one: LockOwner | undefined = owner; one !== undefined; one = one.parent) {
    const held = holdOf(one, of);
    if (held === undefined) continue;
    // Locks of those around it are passed.
    lock = one === owner ? undefined : held.inner;
    break;
  }
  const isAgainst = (held: Hold): boolean => mode === "write" || held.mode === "write";
  const held = lock && holdAround(owner, lock);
  if (held === undefined || !isAgainst(held)) return undefined;
  const { owner: by } = held;
  return { isEndless: true, heldBy: by.name, holder: holderOf(by, owner) };
}

/** The transaction in whose code something begins that could never have the lock, since that one holds it for writing. */
export function writerAround({ parent, startedIn }: Begun, of: Lock): EndlessWait | undefined {
  if (startedIn === undefined) return undefined;
  const name = "what begins";
  const begun: LockOwner = {
    name,
    parent,
    startedIn,
    mode: "read",
    scope: undefined,
    holds: [],
    waits: [],
    places: [],
    ended: false,
  };
  return whoHoldsAround(begun, { of, mode: "read", scope: undefined });
}

/** Gives back all locks that a transaction holds; the next transactions in line get them. */
export function releaseAll(owner: LockOwner): void {
  owner.ended = true;
  for (const wait of owner.waits.length === 0 ? owner.waits : owner.waits.slice()) {
    if (wait.owner !== owner) continue;
    leaveLine(wait);
    wait.end();
    admit(wait.place.lock);
  }
  for (let held = owner.holds.shift(); held !== undefined; held = owner.holds.shift()) {
    remove(held.lock.holds, held);
    admit(held.lock);
    // Transactions that still wait inside it try again outside.
    for (const place of held.inner?.queue.slice() ?? []) leaveWithAll(place);
  }
}

/** Gives the lock to those at the head of the line that can have it now. */
function admit(lock: Lock): void {
  for (let next = lock.queue[0]; next !== undefined; next = lock.queue[0]) {
    const { mode, lacking, of } = next;
    const own = holdOf(lacking, of);
    const others = lock.holds.filter((held) => held !== own);
    const isFreeNow = others.length === 0 || (mode === "read" && others.every((held) => held.mode === "read"));
    if (!isFreeNow) return;
    // The lock is held from now on, so that a later request does not come first.
    if (own !== undefined) own.mode = mode === "write" ? "write" : own.mode;
    else if (!lacking.ended) hold(lacking, lock, of, mode);
    leaveWithAll(next);
  }
}

/** Takes it out of the line; those that waited for it try again. */
function leaveWithAll({ waits }: PlaceInLine): void {
  for (const wait of waits.slice()) {
    leaveLine(wait);
    wait.end();
  }
}

function leaveLine(wait: Wait): void {
  const { place, listedAt } = wait;
  remove(place.waits, wait);
  for (const one of listedAt) remove(one.waits, wait);
  if (place.position === 0 || place.waits.length > 0) return;
  remove(place.lock.queue, place);
  remove(place.lacking.places, place);
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at === list.length - 1) list.pop();
  else if (at !== -1) list.splice(at, 1);
}

function holderOf(holder: LockOwner, owner: LockOwner): Holder {
  if (!isAround(holder, owner)) return "other";
  if (holder.isAttempt === true) return "attempt";
  return holder.scope === undefined ? "call" : "body";
}
