import type { ResourceChange } from "../state/observer.ts";
import { isObjectOrFunction } from "../values.ts";

/**
 * A resource that takes part in transactions. It may be a function with these methods, as some SQL clients are. Each method
 * may return any thenable; it is awaited.
 */
export interface Snapshotable<S = unknown> {
  /**
   * Captures the current state. Unless `savepoint` is true this also begins a crash-safe transaction: a durable resource
   * must return to this state at its next start if the process dies before `release`. A savepoint is only ever restored.
   * Where `observed` is true, `changesSince` may be asked of it.
   */
  snapshot(options?: {
    readonly savepoint?: boolean | undefined;
    readonly observed?: boolean | undefined;
  }): S | PromiseLike<S>;
  /**
   * Restores `snapshot`. It may be called repeatedly until `release`, also with a snapshot newer than the one restored
   * last, and is called a second time where the first call failed.
   */
  restore(snapshot: S): void | PromiseLike<void>;
  /**
   * Ends the transaction that began with `snapshot`, after a commit or a rollback: the current state is permanent from
   * here on, and what was kept for the snapshot can be deleted. Left out: a snapshot ends with its last reference.
   */
  release?(snapshot: S): void | PromiseLike<void>;
  /**
   * Says what has changed since the snapshot was taken, at once: what a comparison of the state then and now would find, at
   * most 1,000 changes, where there are more with a last one of path `…`. undefined, or left out: the resource does not
   * know.
   */
  changesSince?(snapshot: S): readonly ResourceChange[] | undefined;
  /**
   * What was released outlives the process. A run that goes on finds it there, and never changes it to bring back what a
   * kept call had done. Default false.
   */
  readonly durable?: boolean;
  /**
   * Returns what changed since the snapshot as plain JSON, undefined where nothing did: a run keeps it, so that `apply` can
   * do it again in another process. Of a resource in memory.
   */
  changes?(since: S): unknown;
  /** Does again what `changes` returned, in the state that the snapshot was taken of. */
  apply?(changes: unknown): void | PromiseLike<void>;
}

/** Whether a resource takes part in transactions: it has `snapshot` and `restore`. */
export function isSnapshotable(value: unknown): value is Snapshotable {
  if (!isObjectOrFunction(value)) return false;
  // A remote client has a method for every name, though the function that it is made of has none.
  if (typeof value === "function" && !("snapshot" in value && "restore" in value)) return false;
  const { snapshot, restore } = value as Partial<Snapshotable>;
  return typeof snapshot === "function" && typeof restore === "function";
}
