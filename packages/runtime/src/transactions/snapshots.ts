// The snapshots that transactions take of resources, and the resources that could not be restored or committed.
import { UnusableError, type Snapshotable } from "@proviso/core";
import { acrossCopies, isGuardable, isObjectOrFunction, isThenable, messageOf } from "@proviso/core/internal";
import type { ObservedCalls } from "./observed-calls.ts";
import { committedWithOf } from "./committed-with.ts";
import { createLock, isSharedWithOthers } from "./lock.ts";
import { holdOf, type Lock, type LockMode, type LockOwner } from "./lock-state.ts";

/** A resource, with the name of its key. */
interface NamedResource {
  readonly resource: Snapshotable;
  readonly name: string;
}

/** A resource that takes part. */
export interface Participant extends NamedResource {
  /** The scope that binds it, known by its identity: the body of a `transaction()` over that scope undoes it, too. */
  readonly scope: object;
  /**
   * Whether the scope has taken it out again while this transaction waited for locks, or for the snapshots of those around
   * it: then it is closed, or will be.
   */
  readonly made: { readonly isGone: boolean };
}

/** A snapshot of one resource. */
export interface Taken extends NamedResource {
  snapshot: unknown;
  /** Settles when `snapshot` is there; undefined once it is. */
  taking: Promise<void> | undefined;
}

/** A transaction, as snapshots see it. */
export interface SnapshotOwner extends LockOwner {
  readonly parent: SnapshotOwner | undefined;
  readonly snapshots: Taken[];
  /** "sealed": no resource joins any more. */
  readonly stage: "open" | "closing" | "sealed";
  readonly host: Pick<ObservedCalls, "isObserved">;
  /** The mark of the session, which is undefined where nothing is to be undone. */
  readonly mark: unknown;
}

/** What is known of resources in this process, whichever copy of this package uses them. */
interface Known {
  readonly locks: WeakMap<object, Lock>;
  readonly unusable: WeakMap<object, UnusableError>;
}

let shared: Known | undefined;

/** A change of `Lock`, `Hold`, `Turn` or `Wait` needs another number here and in lock.ts: copies of another form share none. */
function sharedByProcess(): Known {
  return (shared ??= acrossCopies("runtime: resources, 1", () => ({ locks: new WeakMap(), unusable: new WeakMap() })));
}

/** Returns the lock of a resource by its identity, however the resource is bound; in a journal's file it is the file's. */
export function lockOf(resource: object): Lock {
  let lock = sharedByProcess().locks.get(resource);
  if (lock === undefined) {
    const file = committedWithOf(resource)?.file;
    sharedByProcess().locks.set(resource, (lock = file === undefined ? createLock() : lockOf(file)));
  }
  return lock;
}

/** Another transaction holds it, or waits for it. */
export function isUsedByOthers(owner: LockOwner, resource: unknown): boolean {
  const lock = isObjectOrFunction(resource) ? sharedByProcess().locks.get(resource) : undefined;
  return lock !== undefined && isSharedWithOthers(owner, lock);
}

/** Some transaction has used it: a factory that returns it has not made it. */
export function wasUsedBefore(resource: unknown): boolean {
  return isObjectOrFunction(resource) && sharedByProcess().locks.has(resource);
}

/** Snapshots for this transaction and those around it that hold the resource and have none yet. */
export function takeSnapshots(transaction: SnapshotOwner, participant: Participant): Promise<void> | undefined {
  const around = transaction.parent && takeSnapshots(transaction.parent, participant);
  if (around !== undefined) return around.then(() => takeSnapshot(transaction, participant));
  return takeSnapshot(transaction, participant);
}

/** Whether the transaction already holds the resource in this mode and can undo changes of it. Then nothing has to join. */
export function hasJoined(transaction: SnapshotOwner, resource: object, mode: LockMode): boolean {
  const held = holdOf(transaction, lockOf(resource));
  if (held === undefined || (held.mode === "read" && mode === "write")) return false;
  const taken = transaction.snapshots.find((each) => each.resource === resource);
  if (taken !== undefined) return taken.taking === undefined;
  // A resource that was discarded meanwhile has no snapshot, and its factory may return the same instance again.
  return transaction.mark === undefined || !mayChange(resource, held.mode);
}

/** False where the resource refuses every change of a reader, so that nothing has to be restored. */
function mayChange(resource: object, mode: LockMode): boolean {
  return mode === "write" || !isGuardable(resource);
}

function takeSnapshot(transaction: SnapshotOwner, { resource, name, made }: Participant): Promise<void> | undefined {
  if (made.isGone) return undefined;
  assertUsable(resource);
  const known = transaction.snapshots.find((taken) => taken.resource === resource);
  if (known !== undefined) return known.taking;
  if (transaction.stage === "sealed") return undefined;
  const held = holdOf(transaction, lockOf(resource));
  if (held === undefined || !mayChange(resource, held.mode)) return undefined;
  const snapshot: unknown = resource.snapshot({ savepoint: false, observed: transaction.host.isObserved === true });
  const taken: Taken = { resource, name, snapshot, taking: undefined };
  transaction.snapshots.push(taken);
  if (!isThenable(snapshot)) return undefined;
  taken.taking = Promise.resolve(snapshot).then(
    (state) => {
      taken.snapshot = state;
      taken.taking = undefined;
    },
    (error: unknown) => {
      const at = transaction.snapshots.indexOf(taken);
      if (at !== -1) transaction.snapshots.splice(at, 1);
      throw error;
    },
  );
  return taken.taking;
}

/** A snapshot that can be restored as long as a reference to it exists. */
export interface Savepoint extends NamedResource {
  readonly snapshot: unknown;
}

/** @throws {UnusableError} for a resource that cannot be used any more. */
export async function takeSavepoints(participants: readonly Participant[]): Promise<readonly Savepoint[]> {
  const taken: Savepoint[] = [];
  for (const { resource } of participants) assertUsable(resource);
  for (const { resource, name } of participants) {
    taken.push({ resource, name, snapshot: await resource.snapshot({ savepoint: true }) });
  }
  return taken;
}

/** How a fault is shown: without secrets. */
interface Showing {
  redact<T>(value: T): T;
}

/** A fault may pass, a lack of descriptors for example: a failed restore is tried once more. */
export async function restore({ resource, name, snapshot }: Savepoint, host: Showing): Promise<void> {
  const once = async (): Promise<void> => {
    await resource.restore(snapshot);
  };
  try {
    await once().catch(once);
  } catch (cause) {
    makeUnusable(resource, name, "rollback", host.redact(cause));
    throw cause;
  }
}

/** Nothing uses it any more: its state is unknown. */
function makeUnusable(resource: object, id: string, operation: "rollback" | "commit", cause: unknown): void {
  if (sharedByProcess().unusable.has(resource)) return;
  const why = `its changes could not be ${participle[operation]}: ${messageOf(cause)}`;
  const message = `The resource "${id}" cannot be used any more: ${why}`;
  sharedByProcess().unusable.set(resource, new UnusableError(message, { what: "resource", id, operation, cause }));
}

export const participle = { rollback: "undone", commit: "committed" } as const;

interface Ending {
  readonly snapshots: readonly Taken[];
  readonly undone: boolean;
  readonly host: Showing;
}

/** The last first; before them, what is committed with the record: other resources must not be ahead of that. */
function inReleaseOrder(snapshots: readonly Taken[]): readonly Taken[] {
  if (snapshots.length === 1) return snapshots;
  const isFirst = ({ resource }: Taken): boolean => committedWithOf(resource) !== undefined;
  return snapshots.toReversed().toSorted((a, b) => Number(isFirst(b)) - Number(isFirst(a)));
}

/** Releases the snapshots; synchronously where no release is asynchronous. Rejects with what a release threw. */
export function releaseSnapshots({ snapshots, undone, host }: Ending): Promise<void> | undefined {
  if (snapshots.length === 0) return undefined;
  const releasing: Promise<void>[] = [];
  for (const { resource, name, snapshot } of inReleaseOrder(snapshots)) {
    // A resource that outlives the process may restore it yet.
    if (sharedByProcess().unusable.has(resource)) continue;
    const failed = (cause: unknown): never => {
      if (!undone) makeUnusable(resource, name, "commit", host.redact(cause));
      throw cause;
    };
    try {
      const released = resource.release?.(snapshot);
      if (isThenable(released)) releasing.push(Promise.resolve(released).catch(failed));
    } catch (error) {
      releasing.push(Promise.reject(error).catch(failed));
    }
  }
  return releasing.length === 0 ? undefined : allSettled(releasing);
}

/** Waits for all, then throws what the first of them threw. */
export async function allSettled(work: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(work);
  await Promise.all(work);
}

/** @throws {UnusableError} for a resource that could not be restored or committed. */
export function assertUsable(resource: object): void {
  const broken = sharedByProcess().unusable.get(resource);
  if (broken !== undefined) throw broken;
}

export function isUnusable(resource: object): boolean {
  return sharedByProcess().unusable.has(resource);
}
