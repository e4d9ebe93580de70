import { closeSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "./make-folder.ts";

/**
 * Makes a new file that others cannot read; SQLite gives its mode to the files beside it. One that is there is not
 * touched: a descriptor that is opened and closed beside a connection would drop the connection's locks.
 */
export function makePrivate(file: string): void {
  makeFolder(dirname(file));
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
