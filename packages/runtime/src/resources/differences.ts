// Two trees of files are compared here, path by path.
import type { ResourceChange } from "@proviso/core";

/** How two trees are looked at; `Node` is a file or a folder. */
export interface ComparedTrees<Node extends object> {
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
export function* differences<Node extends object>(
  trees: ComparedTrees<Node>,
  before: Node | undefined,
  after: Node | undefined,
  path = "",
): Generator<ResourceChange, void, undefined> {
  if (before === after) return;
  const [was, is] = [before, after].map((node) => node && trees.isFolder(node));
  if (before && after && was !== is) {
    yield* differences(trees, before, undefined, path);
    yield* differences(trees, undefined, after, path);
    return;
  }
  const kind = !before ? "added" : !after ? "removed" : "changed";
  if (was || is) {
    const names = trees.names(before, after);
    if (names.length === 0 && kind !== "changed") yield { path: `${path}/`, kind };
    for (const name of names) {
      const inner = path && `${path}/`;
      yield* differences(trees, before && trees.get(before, name), after && trees.get(after, name), inner + name);
    }
  } else if (!before || !after || !trees.isSame(before, after)) {
    yield { path, kind, before: before && trees.size(before), after: after && trees.size(after) };
  }
}
