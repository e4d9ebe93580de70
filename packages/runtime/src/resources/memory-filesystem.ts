import type { Filesystem, Snapshotable } from "@proviso/core";
import { firstChanges } from "@proviso/core/internal";
import { differences } from "./differences.ts";
import { globMatcher } from "./glob.ts";
import { guardable } from "./guard.ts";
import { isFile, memoryTree, memoryTrees, type MemoryFolder, type MemoryTree } from "./memory-tree.ts";
import { applyChanges, treeChanges, type TreeChange } from "./tree-changes.ts";
import { notADirectory, notFound } from "./paths.ts";
import { decodeText, grepFiles, selectLines, type SearchedFile } from "./reading.ts";

const encoder = new TextEncoder();

/**
 * A filesystem in memory that takes part in transactions. A snapshot costs nothing, whatever the size of the tree.
 * @throws {FilesystemError} when the paths of `files` contradict each other.
 */
export function memoryFilesystem(files: Readonly<Record<string, string | Uint8Array>> = {}): Filesystem {
  const tree = memoryTree();
  const write = (path: string, content: string | Uint8Array): void =>
    tree.write(path, typeof content === "string" ? encoder.encode(content) : Uint8Array.from(content));
  const sortedFiles = (): readonly string[] => Array.from(tree.files(), ([path]) => path).toSorted();

  for (const [path, content] of Object.entries(files)) write(path, content);

  const filesystem: Filesystem & Snapshotable<MemoryFolder> = {
    read: async (path, range) => selectLines(decodeText(tree.bytes(path)), range),
    readBytes: async (path) => tree.bytes(path).slice(),
    write: async (path, content) => write(path, content),
    remove: async (path) => tree.remove(path),
    mkdir: async (path) => tree.makeFolder(path),
    list: async (path = "") => listFolder(tree, path),
    exists: async (path) => tree.find(path) !== undefined,
    async glob(pattern) {
      const fits = globMatcher(pattern);
      return sortedFiles().filter(fits);
    },
    async grep(text, range) {
      async function* all(): AsyncGenerator<SearchedFile> {
        for (const path of sortedFiles()) yield { path, chunks: () => only(tree.bytes(path)) };
      }
      return grepFiles(all(), text, range);
    },
    snapshot: () => tree.root,
    restore: (snapshot) => void (tree.root = snapshot),
    changesSince: (since) => firstChanges(differences(memoryTrees, since, tree.root)),
    changes: (since) => treeChanges(since, tree.root),
    apply: (changes) => applyChanges(tree, changes as readonly TreeChange[]),
  };
  return guardable(filesystem);
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function listFolder(tree: MemoryTree, path: string): Awaited<ReturnType<Filesystem["list"]>> {
  const found = tree.find(path);
  if (found === undefined) throw notFound(path);
  if (isFile(found)) throw notADirectory(path);
  return Array.from(found.entries(), ([name, node]) =>
    isFile(node) ? { name, kind: "file", size: node.length } : { name, kind: "directory", size: 0 },
  );
}
