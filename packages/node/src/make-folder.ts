import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder, and those above it that are missing. Node's own `recursive` never ends where the system makes no folders
 * and says so with ENOENT, below /proc for example.
 * @throws the system's error.
 */
export function makeFolder(folder: string, mode?: number): void {
  if (tryToMake(folder, mode) === undefined) return;
  const parent = dirname(folder);
  if (parent !== folder && !existsSync(parent)) makeFolder(parent, mode);
  const why = tryToMake(folder, mode);
  if (why !== undefined) throw why;
}

/** Tries to make one folder. Returns undefined where it is there then, and the error where the one above it is missing. @throws any other error. */
function tryToMake(folder: string, mode: number | undefined): Error | undefined {
  try {
    mkdirSync(folder, { mode });
    return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return error as Error;
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return undefined;
    throw error;
  }
}
