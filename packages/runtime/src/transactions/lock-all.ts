// How a transaction takes its locks, and waits for what is not free.
import { abortedFailure, isFailure, type Failure, type LimitFailure, type OnStop } from "../failures.ts";
import { endlessAmong, endlessWait, type NamedLock } from "./endless-wait.ts";
import { tryAcquire, waitInLine } from "./lock.ts";
import type { Blocked, Lock, LockMode, LockOwner } from "./lock-state.ts";
import { lockOf, type Participant } from "./snapshots.ts";

/** The session and the resources whose locks are taken together. */
export interface WantedLocks {
  readonly core: { readonly lock: Lock };
  /** "none": the transaction around holds it, and nothing inside has asked for it yet. */
  readonly sessionMode: LockMode | "none";
  readonly resources: readonly (Participant & { readonly mode: LockMode })[];
}

/** A transaction, as the wait for its locks sees it. */
interface Waiter extends LockOwner {
  readonly host: {
    within<T>(work: Promise<T>, onStop?: OnStop): Promise<T | LimitFailure>;
  };
}

/** Waits for locks in the order in which all take them; undefined: they are held now. A limit ends the wait. */
export function lockAll(transaction: Waiter, wanted: WantedLocks): Promise<Failure | undefined> | undefined {
  const locks = inOrder(wanted);
  for (const lock of locks) {
    const blocked = tryAcquire(transaction, lock);
    if (blocked === undefined) continue;
    const endless = endlessAmong(transaction, locks);
    if (endless !== undefined) return Promise.resolve(endless);
    return waitUntilHeld(transaction, blocked, lock).then((stop) => stop ?? lockAll(transaction, wanted));
  }
  return undefined;
}

function inOrder({ core, sessionMode, resources }: WantedLocks): readonly NamedLock[] {
  // Always before the resources, those that join later included.
  const session: readonly NamedLock[] =
    sessionMode === "none" ? [] : [{ of: core.lock, mode: sessionMode, scope: undefined, what: "the session" }];
  if (resources.length === 0) return session;
  const others = resources.map((participant) => wantedOf(participant, participant.mode));
  return [...session, ...others.toSorted((a, b) => a.of.number - b.of.number)];
}

export function wantedOf({ resource, name, scope }: Participant, mode: LockMode): NamedLock {
  return { of: lockOf(resource), mode, scope, what: `"${name}"` };
}

/** undefined: it is held now. */
export async function waitUntilHeld(
  transaction: Waiter,
  first: Blocked,
  { what, ...wanted }: NamedLock,
): Promise<Failure | undefined> {
  for (let blocked: Blocked | undefined = first; blocked; blocked = tryAcquire(transaction, wanted)) {
    const waiting = waitInLine(transaction, blocked);
    if ("isEndless" in waiting) return endlessWait(what, waiting.heldBy, waiting.holder);
    const waitedFor = `It waited for ${waiting.heldBy}, which uses ${what}.`;
    const ended = await transaction.host.within(waiting.ready, (stop) => ({
      ...stop,
      message: `${stop.message} ${waitedFor}`,
    }));
    if (isFailure(ended)) {
      waiting.cancel();
      return ended;
    }
    if (transaction.ended) return abortedFailure(undefined, "tool");
  }
  return undefined;
}
