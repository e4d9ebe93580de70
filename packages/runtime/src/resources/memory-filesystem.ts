import type { Filesystem, Snapshotable } from "@proviso/core";
import { globMatcher } from "./glob.ts";
import { guardable } from "./guard.ts";
import { memoryTree, type Tree } from "./memory-tree.ts";
import { notADirectory, notFound, pathNames } from "./paths.ts";
import { decodeText, grepFiles, selectLines } from "./reading.ts";

const encoder = new TextEncoder();

/**
 * A filesystem in memory that takes part in transactions.
 * @throws {FilesystemError} when the paths of `files` contradict each other.
 */
export function memoryFilesystem(files: Readonly<Record<string, string | Uint8Array>> = {}): Filesystem {
  const tree = memoryTree();
  const write = (path: string, content: string | Uint8Array): void =>
    tree.write(path, typeof content === "string" ? encoder.encode(content) : Uint8Array.from(content));
  const sortedFiles = (): readonly string[] =>
    [...tree.entries].flatMap(([path, entry]) => (entry === null ? [] : [path])).toSorted();

  for (const [path, content] of Object.entries(files)) write(path, content);

  const filesystem: Filesystem & Snapshotable<Tree> = {
    read: async (path, range) => selectLines(decodeText(tree.bytes(path)), range),
    readBytes: async (path) => tree.bytes(path).slice(),
    write: async (path, content) => write(path, content),
    remove: async (path) => tree.remove(path),
    mkdir: async (path) => tree.makeFolder(path),
    list: async (path = "") => listFolder(tree.entries, tree.find(path), path),
    exists: async (path) => tree.find(path) !== undefined,
    async glob(pattern) {
      const fits = globMatcher(pattern);
      return sortedFiles().filter(fits);
    },
    async grep(text, range) {
      async function* all(): AsyncGenerator<{ path: string; read(): Promise<Uint8Array> }> {
        for (const path of sortedFiles()) yield { path, read: async () => tree.bytes(path) };
      }
      return grepFiles(all(), text, range);
    },
    snapshot: () => tree.snapshot(),
    restore: (snapshot) => tree.restore(snapshot),
  };
  return guardable(filesystem);
}

function listFolder(
  entries: Tree,
  found: Uint8Array | null | undefined,
  path: string,
): Awaited<ReturnType<Filesystem["list"]>> {
  if (found === undefined) throw notFound(path);
  if (found !== null) throw notADirectory(path);
  const prefix = pathNames(path)
    .map((name) => `${name}/`)
    .join("");
  return [...entries]
    .filter(([other]) => other.startsWith(prefix) && !other.slice(prefix.length).includes("/"))
    .map(([other, bytes]) => ({
      name: other.slice(prefix.length),
      kind: bytes === null ? ("directory" as const) : ("file" as const),
      size: bytes?.length ?? 0,
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
