// Two trees of files are compared here, path by path.
import type { ResourceChange } from "@proviso/core";

/** How two trees are looked at; `Node` is a file or a folder. */
export interface ComparedTrees<Node> {
  isFolder(node: Node): boolean;
  /** The names of what is in one of the folders, sorted; of two, those that can differ are enough. */
  names(before: Node | undefined, after: Node | undefined): readonly string[];
  /** Returns what has the name in the folder. */
  get(folder: Node, name: string): Node | undefined;
  /** Bytes of a file; undefined: it is neither file nor folder. */
  size(node: Node): number | undefined;
  /** Whether two files have the same content. */
  isSame(before: Node, after: Node): boolean;
}

/**
 * Yields the files that were added, changed or removed, and the folders that were added or removed with nothing in them;
 * the path of a folder ends with "/".
 */
export function* differences<Node>(
  trees: ComparedTrees<Node>,
  before: Node | undefined,
  after: Node | undefined,
  path = "",
): Generator<ResourceChange, void, undefined> {
  if (before === after) return;
  if (before === undefined || after === undefined || trees.isFolder(before) !== trees.isFolder(after)) {
    if (before !== undefined) yield* oneSided(trees, before, "removed", path);
    if (after !== undefined) yield* oneSided(trees, after, "added", path);
    return;
  }
  if (!trees.isFolder(before)) {
    if (trees.isSame(before, after)) return;
    yield { path, kind: "changed", ...sized("before", trees.size(before)), ...sized("after", trees.size(after)) };
    return;
  }
  for (const name of trees.names(before, after)) {
    yield* differences(trees, trees.get(before, name), trees.get(after, name), below(path, name));
  }
}

function* oneSided<Node>(
  trees: ComparedTrees<Node>,
  node: Node,
  kind: "added" | "removed",
  path: string,
): Generator<ResourceChange, void, undefined> {
  if (!trees.isFolder(node)) {
    yield { path, kind, ...sized(kind === "added" ? "after" : "before", trees.size(node)) };
    return;
  }
  const names = trees.names(node, undefined);
  if (names.length === 0) yield { path: `${path}/`, kind };
  for (const name of names) {
    const inner = trees.get(node, name);
    if (inner !== undefined) yield* oneSided(trees, inner, kind, below(path, name));
  }
}

function below(path: string, name: string): string {
  return path === "" ? name : `${path}/${name}`;
}

function sized(when: "before" | "after", size: number | undefined): Partial<ResourceChange> {
  return size === undefined ? {} : { [when]: size };
}
