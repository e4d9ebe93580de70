import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import type { Folder } from "./folders.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * Deletes these entries of a folder, whatever they are, step by step: each step is one entry. Folders within are first
 * moved up beside them, under names of `fresh`, so that none is reached by a path that another process could redirect.
 */
export function* wipe(store: Folder, names: readonly string[], fresh: () => string): Generator<void> {
  const rest = [...names];
  for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
    const at = store.at(name);
    const stats = lstatSync(at, { throwIfNoEntry: false });
    if (stats?.isDirectory() === true) {
      yield* emptied(store, name, (inner, isFolder) => {
        if (!isFolder) return unlinkSync(inner);
        const moved = fresh();
        renameSync(inner, store.at(moved));
        rest.push(moved);
      });
      rmdirSync(at);
    } else if (stats !== undefined) unlinkSync(at);
    yield;
  }
}

function* emptied(store: Folder, name: string, clear: (at: Buffer, isFolder: boolean) => void): Generator<void> {
  const fd = openToChange(Buffer.from(store.at(name)));
  try {
    const base = store.fd === undefined ? `${store.at(name)}/` : `/proc/self/fd/${fd}/`;
    // Names need not be text.
    for (const inner of readdirSync(base, { encoding: "buffer" })) {
      const at = Buffer.concat([Buffer.from(base), inner]);
      const isFolder = lstatSync(at).isDirectory();
      // A folder has to be writable itself to be moved.
      if (isFolder) closeSync(openToChange(at));
      clear(at, isFolder);
      yield;
    }
  } finally {
    closeSync(fd);
  }
}

/** A folder whose owner had taken his own rights away would keep what is in it. */
function openToChange(folder: Buffer): number {
  const open = (): number => openSync(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  let fd: number;
  try {
    fd = open();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    chmodSync(folder, 0o700);
    fd = open();
  }
  fchmodSync(fd, 0o700);
  return fd;
}
