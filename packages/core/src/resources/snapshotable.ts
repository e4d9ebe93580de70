/** A resource that takes part in transactions. */
export interface Snapshotable<S = unknown> {
  snapshot(): S | Promise<S>;
  restore(snapshot: S): void | Promise<void>;
}

export function isSnapshotable(value: unknown): value is Snapshotable {
  if (typeof value !== "object" || value === null) return false;
  const { snapshot, restore } = value as Partial<Snapshotable>;
  return typeof snapshot === "function" && typeof restore === "function";
}
