import { isSnapshotable, type Filesystem, type Snapshotable } from "@proviso/core";
import { hostFilesystem, type HostFilesystemOptions } from "@proviso/node";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Tree } from "./conformance.ts";
import { digestOfFolder, temporaryFolder, undoFolder } from "./temporary.ts";

export type Undoable = Filesystem & Snapshotable;

export interface Host {
  readonly root: string;
  /** Beside the root. */
  readonly outside: string;
  readonly files: Undoable;
  /** Another filesystem of the same root. */
  open(options?: HostFilesystemOptions): Undoable;
  /** The root as the system shows it, without what is kept for undoing. */
  tree(): Promise<readonly string[]>;
  everything(): Promise<readonly string[]>;
  outsideTree(): Promise<readonly string[]>;
}

/** Closes it when the test has ended. A hook of this file would run for the first file alone: the others share it. */
export function later(close: () => Promise<void>): void {
  onTestFinished(close);
}

/** A root with these files, and beside it what must not be seen or changed. */
export async function host(files: Tree = { "file.txt": "inside", "folder/file.txt": "inside" }): Promise<Host> {
  const inside = Object.entries(files).map(([path, content]) => [`root/${path}`, content] as const);
  const { root: top, close } = await temporaryFolder({
    "root/file.txt": "",
    ...Object.fromEntries(inside),
    "outside/file.txt": "secret",
    "outside/folder/file.txt": "secret",
  });
  later(close);
  const [root, outside] = [join(top, "root"), join(top, "outside")];
  const open = (options?: HostFilesystemOptions): Undoable => undoable(hostFilesystem(root, options));
  return {
    root,
    outside,
    files: open(),
    open,
    tree: () => digestOfFolder(root, [undoFolder]),
    everything: () => digestOfFolder(root),
    outsideTree: () => digestOfFolder(outside),
  };
}

function undoable(files: Filesystem): Undoable {
  if (!isSnapshotable(files)) throw new Error("It is not snapshotable.");
  return files;
}
