// 1. Nothing of the tree is ever overwritten or deleted here: what has to go is moved, or linked, into the store.
// 2. Every function is one synchronous stretch of renames; a crash within is undone by `putBack` from what the store
//    holds, and may be undone again before any older change is.
import { FilesystemError } from "@proviso/core";
import { linkSync, mkdirSync, renameSync, unlinkSync } from "node:fs";
import { pathNames, storedNames } from "@proviso/runtime/internal";
import { messageOf } from "@proviso/core/internal";
import { system } from "./faults.ts";
import { openFolder, sameThing, statOf, type Folder } from "./folders.ts";

/** One change of one path, as it has to be known before it happens. */
export interface Change {
  /** The highest path that it makes, takes away or replaces. */
  readonly path: string;
  /** Whether something was there. */
  readonly had: boolean;
  /** The name under which the store has, or will have, what was there. */
  readonly was: string;
  /** The name under which the store had what was put there, and gets it back; undefined for what is new. */
  readonly now?: string | undefined;
}

/** The names of a path that is written down: also those of files that others made. */
export function namesOf(path: string): readonly string[] {
  // There, other names than those of `pathNames` could lead anywhere.
  return process.platform === "win32" ? pathNames(path) : storedNames(path);
}

/** The folder that a change is made in. */
export function folderOf({ path }: Pick<Change, "path">): string {
  return path.split("/").slice(0, -1).join("/");
}

/** Whether something is at the path of a change, now. */
export function isThere(root: string, { path }: Change): boolean {
  const names = namesOf(path);
  using folder = parentOf(root, names, path, false);
  return folder !== undefined && statOf(folder, names.at(-1) as string, path) !== undefined;
}

/** Also links a file into the store; false where the system makes no such link: then it will be moved. */
export function keepAlso(folder: Folder, name: string, store: Folder, was: string): boolean {
  try {
    linkSync(folder.at(name), store.at(was));
    return true;
  } catch {
    return false;
  }
}

/**
 * Replaces a file by one of the store, without a moment in which there is none if it was linked before.
 * @throws {FilesystemError} when it is not the linked one any more; nothing is changed then.
 */
export function replaceFile(
  folder: Folder,
  name: string,
  path: string,
  store: Folder,
  { source, was, begun }: { readonly source: string; readonly was: string; begun(): void },
): void {
  const kept = statOf(store, was);
  const there = statOf(folder, name, path);
  if (there?.isFile() !== true || (kept !== undefined && !sameThing(kept, there))) throw changedMeanwhile(path);
  system(path, () => {
    if (kept === undefined) {
      renameSync(folder.at(name), store.at(was));
      begun();
    }
    renameSync(store.at(source), folder.at(name));
  });
}

/** Puts a file of the store where nothing is. @throws {FilesystemError} when something is; nothing is changed then. */
export function placeFile(
  folder: Folder,
  name: string,
  path: string,
  store: Folder,
  { source, begun }: { readonly source: string; begun(): void },
): void {
  try {
    linkSync(store.at(source), folder.at(name));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" || statOf(folder, name, path) !== undefined) throw changedMeanwhile(path);
    // No links here, then.
    system(path, () => renameSync(store.at(source), folder.at(name)));
    return;
  }
  begun();
  system(path, () => unlinkSync(store.at(source)));
}

/** Moves what is there into the store. */
export function takeAway(folder: Folder, name: string, path: string, store: Folder, was: string): void {
  system(path, () => renameSync(folder.at(name), store.at(was)));
}

/** Makes these folders, one in the other. */
export function makeFolders(root: string, above: readonly string[], names: readonly string[], begun: () => void): void {
  for (const [index, name] of names.entries()) {
    const parents = [...above, ...names.slice(0, index)];
    using folder = openFolder(root, parents);
    system([...parents, name].join("/"), () => mkdirSync(folder.at(name)));
    begun();
  }
}

/**
 * Undoes a change, even where the path was changed since; what is there now goes into the store as `displaced`. Undoing
 * a change that is undone already, or that never began, does nothing.
 * @throws {FilesystemError} when the folder around it is gone, or a link is in its place.
 */
export function putBack(root: string, store: Folder, change: Change, displaced: string): void {
  const { path, had, was } = change;
  const kept = had ? statOf(store, was) : undefined;
  if (had && kept === undefined) return;
  const names = namesOf(path);
  const name = names.at(-1) as string;
  const parent = parentOf(root, names, path, had);
  if (parent === undefined) return;
  using folder = parent;
  const there = statOf(folder, name, path);
  system(path, () => {
    if (kept !== undefined && there !== undefined && sameThing(kept, there)) {
      // Linked only.
      unlinkSync(store.at(was));
      return;
    }
    const files = kept?.isFile() === true && there?.isFile() === true;
    if (there !== undefined && !(files && keepAlso(folder, name, store, displaced))) {
      renameSync(folder.at(name), store.at(displaced));
    }
    if (kept !== undefined) renameSync(store.at(was), folder.at(name));
  });
}

/** undefined: it is gone, and so is what was made in it. */
function parentOf(root: string, names: readonly string[], path: string, needed: boolean): Folder | undefined {
  try {
    return openFolder(root, names.slice(0, -1), path);
  } catch (error) {
    const isGone = error instanceof FilesystemError && error.reason === "not_found";
    if (isGone && !needed) return undefined;
    const message = `${path} cannot be put back: ${messageOf(error)}`;
    throw new FilesystemError(message, { reason: isGone ? "failed" : "outside_root", path, cause: error });
  }
}

export function changedMeanwhile(path: string): FilesystemError {
  return new FilesystemError(`${path} was changed by somebody else at the same moment; look at it again.`, {
    reason: "failed",
    path,
  });
}
