import { statSync, type Stats } from "node:fs";

/** Errors of the system that say that no path leads there: a link that leads to itself, and one that is too long. */
const nowhere: ReadonlySet<unknown> = new Set(["ELOOP", "ENAMETOOLONG"]);

/** Returns what is at the path, behind links; undefined: nothing is. @throws the system's error. */
export function statsAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (nowhere.has((error as NodeJS.ErrnoException).code)) return undefined;
    throw error;
  }
}
