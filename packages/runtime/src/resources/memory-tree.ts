// 1. A folder is never changed: a change makes new folders along its path and shares all the rest. So a snapshot is a
//    reference, and what is not referenced any more is collected.
// 2. A change that is refused changes nothing.
import { EmptyBTree } from "sorted-btree";
import type { ComparedTrees } from "./differences.ts";
import { notADirectory, notAFile, notFound, pathNames } from "./paths.ts";

/** Sorted by name; a copy with one more costs the logarithm of its size. */
export interface MemoryFolder {
  get(name: string): MemoryNode | undefined;
  with(name: string, node: MemoryNode, overwrite: true): MemoryFolder;
  without(name: string): MemoryFolder;
  entries(): IterableIterator<readonly [string, MemoryNode]>;
}
export type MemoryNode = MemoryFolder | Uint8Array;

const emptyFolder: MemoryFolder = EmptyBTree;

export interface MemoryTree {
  root: MemoryFolder;
  find(path: string): MemoryNode | undefined;
  /** @throws {FilesystemError} when it is not a file. */
  bytes(path: string): Uint8Array;
  write(path: string, content: Uint8Array): void;
  makeFolder(path: string): void;
  remove(path: string): void;
  /** All files, in no order. */
  files(): IterableIterator<readonly [string, Uint8Array]>;
}

export function memoryTree(): MemoryTree {
  const tree: MemoryTree = {
    root: emptyFolder,
    find: (path) => nodeAt(tree.root, pathNames(path)),
    bytes(path) {
      const node = tree.find(path);
      if (node === undefined) throw notFound(path);
      if (!isFile(node)) throw notAFile(path);
      return node;
    },
    write(path, content) {
      const names = pathNames(path);
      const before = nodeAt(tree.root, names);
      if (before !== undefined && !isFile(before)) throw notAFile(path);
      tree.root = withNode(tree.root, names, content);
    },
    makeFolder(path) {
      const names = pathNames(path);
      const before = nodeAt(tree.root, names);
      if (before === undefined) tree.root = withNode(tree.root, names, emptyFolder);
      else if (isFile(before)) throw notADirectory(path);
    },
    remove(path) {
      const names = pathNames(path);
      if (nodeAt(tree.root, names) === undefined) throw notFound(path);
      tree.root = names.length === 0 ? emptyFolder : withNode(tree.root, names, undefined);
    },
    files: () => filesIn(tree.root, ""),
  };
  return tree;
}

export function isFile(node: MemoryNode): node is Uint8Array {
  return node instanceof Uint8Array;
}

function nodeAt(root: MemoryFolder, names: readonly string[]): MemoryNode | undefined {
  let node: MemoryNode | undefined = root;
  for (const name of names) node = node === undefined || isFile(node) ? undefined : node.get(name);
  return node;
}

/** The folder with that at the end of the names, and the folders above it; undefined takes away what is there. */
function withNode(
  folder: MemoryFolder,
  names: readonly string[],
  node: MemoryNode | undefined,
  above: readonly string[] = [],
): MemoryFolder {
  const [name, ...rest] = names as readonly [string, ...string[]];
  if (rest.length === 0) return node === undefined ? folder.without(name) : folder.with(name, node, true);
  const path = [...above, name];
  const inner = folder.get(name) ?? emptyFolder;
  if (isFile(inner)) throw notADirectory(path.join("/"));
  return folder.with(name, withNode(inner, rest, node, path), true);
}

function* filesIn(folder: MemoryFolder, prefix: string): IterableIterator<readonly [string, Uint8Array]> {
  for (const [name, node] of folder.entries()) {
    if (isFile(node)) yield [prefix + name, node];
    else yield* filesIn(node, `${prefix}${name}/`);
  }
}

/** How two of them are compared. Folders that both share are the same node. */
export const memoryTrees: ComparedTrees<MemoryNode> = {
  isFolder: (node) => !isFile(node),
  names: (...nodes) => [...new Set(nodes.flatMap((node) => (node && !isFile(node) ? namesIn(node) : [])))].toSorted(),
  get: (folder, name) => (isFile(folder) ? undefined : folder.get(name)),
  size: (node) => (isFile(node) ? node.length : undefined),
  isSame: (before, after) =>
    isFile(before) && isFile(after) && before.length === after.length && before.every((byte, at) => byte === after[at]),
};

function namesIn(folder: MemoryFolder): readonly string[] {
  return Array.from(folder.entries(), ([name]) => name);
}
