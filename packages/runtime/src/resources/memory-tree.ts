// 1. The tree is a map from path to bytes, or null for a folder; the root is not in it.
// 2. A map that a snapshot holds is never changed: it is copied before the next write.
// 3. Every file's folders are in the map.
import { notADirectory, notAFile, notFound, pathNames } from "./paths.ts";

export type Tree = ReadonlyMap<string, Uint8Array | null>;

export interface MemoryTree {
  readonly entries: Tree;
  /** undefined: nothing there; null: a folder. */
  find(path: string): Uint8Array | null | undefined;
  /** @throws {FilesystemError} when it is not a file. */
  bytes(path: string): Uint8Array;
  write(path: string, content: Uint8Array): void;
  makeFolder(path: string): void;
  remove(path: string): void;
  snapshot(): Tree;
  restore(snapshot: Tree): void;
}

export function memoryTree(): MemoryTree {
  let entries: Tree = new Map();
  /** The same map while nobody else holds it. */
  let own: Map<string, Uint8Array | null> | undefined;

  const changing = (): Map<string, Uint8Array | null> => {
    own ??= new Map(entries);
    entries = own;
    return own;
  };
  const makeFolders = (names: readonly string[]): void => {
    const folders = names.map((_, index) => names.slice(0, index + 1).join("/"));
    const blocked = folders.find((folder) => entries.get(folder) instanceof Uint8Array);
    if (blocked !== undefined) throw notADirectory(blocked);
    for (const folder of folders) if (!entries.has(folder)) changing().set(folder, null);
  };
  const find = (path: string): Uint8Array | null | undefined => {
    const key = pathNames(path).join("/");
    return key === "" ? null : entries.get(key);
  };
  return {
    get entries() {
      return entries;
    },
    find,
    bytes(path) {
      const entry = find(path);
      if (entry === undefined) throw notFound(path);
      if (entry === null) throw notAFile(path);
      return entry;
    },
    write(path, content) {
      const names = pathNames(path);
      if (find(path) === null) throw notAFile(path);
      makeFolders(names.slice(0, -1));
      changing().set(names.join("/"), content);
    },
    makeFolder: (path) => makeFolders(pathNames(path)),
    remove(path) {
      const key = pathNames(path).join("/");
      if (find(path) === undefined) throw notFound(path);
      const within = [...entries.keys()].filter((other) => key === "" || other === key || other.startsWith(`${key}/`));
      const changed = changing();
      for (const other of within) changed.delete(other);
    },
    snapshot() {
      own = undefined;
      return entries;
    },
    restore(snapshot) {
      own = undefined;
      entries = snapshot;
    },
  };
}
