/** A resource that takes part in transactions. */
export interface Snapshotable<S = unknown> {
  /**
   * Its state as it is now. Until the snapshot is released, a resource that outlives the process goes back to it when
   * the process dies: a transaction has begun. Not so for a `savepoint`, which can only be restored: what happens after
   * it stays.
   */
  snapshot(options?: { readonly savepoint?: boolean | undefined }): S | Promise<S>;
  /** As often as one likes, until it is released; also to a newer one than was restored last. */
  restore(snapshot: S): void | Promise<void>;
  /**
   * The transaction that began with it is over, well or not: it is not restored any more, what was kept for it can go,
   * and what stands now stays even when the process dies at once. Without it a snapshot ends with the last reference.
   */
  release?(snapshot: S): void | Promise<void>;
}

/** Whether a resource takes part in transactions: it has `snapshot` and `restore`. */
export function isSnapshotable(value: unknown): value is Snapshotable {
  if (typeof value !== "object" || value === null) return false;
  const { snapshot, restore } = value as Partial<Snapshotable>;
  return typeof snapshot === "function" && typeof restore === "function";
}
