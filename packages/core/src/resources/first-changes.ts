import type { ResourceChange } from "../state/observer.ts";

const mostChanges = 1000;

/** Returns the first 1,000 changes; of more, 999 and a last one of path `…`. No more of them are asked for. */
export function firstChanges(changes: Iterable<ResourceChange>): readonly ResourceChange[] {
  const first: ResourceChange[] = [];
  for (const change of changes) {
    if (first.length === mostChanges) return [...first.slice(0, -1), { path: "…", kind: "changed" }];
    first.push(change);
  }
  return first;
}
