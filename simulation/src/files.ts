import type { Filesystem, Snapshotable } from "@proviso/core";

/** A folder of a filesystem in memory, as its snapshot holds it. */
interface Folder {
  entries(): Iterable<readonly [string, Folder | Uint8Array]>;
}

const decoder = new TextDecoder();

/** The files of a filesystem in memory by their paths, read at once: no promise has to be waited for. */
export function filesIn(files: Filesystem): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const root = (files as Filesystem & Snapshotable<Folder>).snapshot({ savepoint: true }) as Folder;
  const collect = (folder: Folder, path: string): void => {
    for (const [name, node] of folder.entries()) {
      if (node instanceof Uint8Array) found.set(`${path}${name}`, decoder.decode(node));
      else collect(node, `${path}${name}/`);
    }
  };
  collect(root, "");
  return found;
}
