// 1. The tree is a map from path to bytes or folder; a shared map is copied before it is changed, so a snapshot is a reference.
// 2. Every file's folders are in the map.
import type { Filesystem, Snapshotable } from "@proviso/core";
import { globMatcher } from "./glob.ts";
import { guardable } from "./guard.ts";
import { notADirectory, notAFile, notFound, pathNames } from "./paths.ts";
import { decodeText, grepFiles, selectLines } from "./reading.ts";

/** null: a folder. */
type Tree = Map<string, Uint8Array | null>;
const encoder = new TextEncoder();

/** A filesystem in memory that takes part in transactions. */
export function memoryFilesystem(files: Readonly<Record<string, string | Uint8Array>> = {}): Filesystem {
  let tree: Tree = new Map();
  let shared = false;

  const writable = (): Tree => {
    if (shared) tree = new Map(tree);
    shared = false;
    return tree;
  };
  const lookUp = (path: string): { readonly key: string; readonly entry: Uint8Array | null | undefined } => {
    const key = pathNames(path).join("/");
    return { key, entry: key === "" ? null : tree.get(key) };
  };
  const makeFolders = (names: readonly string[]): void => {
    names.forEach((_, index) => {
      const folder = names.slice(0, index + 1).join("/");
      const entry = tree.get(folder);
      if (entry !== undefined && entry !== null) throw notADirectory(folder);
    });
    names.forEach((_, index) => writable().set(names.slice(0, index + 1).join("/"), null));
  };
  const write = (path: string, content: string | Uint8Array): void => {
    const names = pathNames(path);
    const { key, entry } = lookUp(path);
    if (entry === null) throw notAFile(path);
    makeFolders(names.slice(0, -1));
    writable().set(key, typeof content === "string" ? encoder.encode(content) : content.slice());
  };
  const bytesOf = (path: string): Uint8Array => {
    const { entry } = lookUp(path);
    if (entry === undefined) throw notFound(path);
    if (entry === null) throw notAFile(path);
    return entry;
  };
  const sortedFiles = (): readonly string[] =>
    [...tree].flatMap(([path, entry]) => (entry === null ? [] : [path])).toSorted();

  for (const [path, content] of Object.entries(files)) write(path, content);

  const filesystem: Filesystem & Snapshotable<Tree> = {
    read: async (path, options) => selectLines(decodeText(bytesOf(path)), options),
    readBytes: async (path) => bytesOf(path).slice(),
    write: async (path, content) => write(path, content),
    async remove(path) {
      const { key, entry } = lookUp(path);
      if (entry === undefined) throw notFound(path);
      const changed = writable();
      for (const other of [...changed.keys()]) {
        if (key === "" || other === key || other.startsWith(`${key}/`)) changed.delete(other);
      }
    },
    mkdir: async (path) => makeFolders(pathNames(path)),
    async list(path = "") {
      const { key, entry } = lookUp(path);
      if (entry === undefined) throw notFound(path);
      if (entry !== null) throw notADirectory(path);
      const prefix = key === "" ? "" : `${key}/`;
      return [...tree]
        .filter(([other]) => other.startsWith(prefix) && !other.slice(prefix.length).includes("/"))
        .map(([other, bytes]) => ({
          name: other.slice(prefix.length),
          kind: bytes === null ? ("directory" as const) : ("file" as const),
          size: bytes?.length ?? 0,
        }))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    },
    exists: async (path) => lookUp(path).entry !== undefined,
    async glob(pattern) {
      const fits = globMatcher(pattern);
      return sortedFiles().filter(fits);
    },
    async grep(text, options) {
      async function* all(): AsyncGenerator<{ path: string; read(): Promise<Uint8Array> }> {
        for (const path of sortedFiles()) yield { path, read: async () => bytesOf(path) };
      }
      return grepFiles(all(), text, options);
    },
    snapshot() {
      shared = true;
      return tree;
    },
    restore(snapshot) {
      tree = snapshot;
      shared = true;
    },
  };
  return guardable(filesystem);
}
