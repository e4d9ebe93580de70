// How the files of runs in a folder are named.
import { DefinitionError } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { runId } from "./check-frames.ts";
import { statsAt } from "./stats-at.ts";

const ending = ".jsonl";

/** The whole path: the process may go elsewhere later. */
export function folderAt(path: unknown): string {
  if (typeof path === "string" && path !== "" && !path.includes("\0")) return resolve(path);
  throw new DefinitionError(`A journal in a folder takes its path, not ${describeValue(path)}.`);
}

/** The name of a run's file. */
export function fileNameOf(run: string): string {
  return `${nameOf(run)}${ending}`;
}

/** What a file's name may not have, on any system, is written as an address has it; so is a dot in front. */
function nameOf(run: string): string {
  return run.replaceAll(
    /[%/\\:*?"<>|]|^\./gu,
    (odd) => `%${odd.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}

/** Bytes of a file's name, on the usual file systems. */
const longestName = 255;

/** @throws {DefinitionError} for a run whose file cannot be named. */
export function checkName(run: string): void {
  const bytes = Buffer.byteLength(fileNameOf(run));
  if (bytes <= longestName) return;
  throw new DefinitionError(
    `The id of the run "${run.slice(0, 20)}…" makes a file name of ${bytes} bytes: a journal in a folder takes ${longestName}.`,
  );
}

/** The files of runs, changed last first. */
export function newestFirst(folder: string): readonly { readonly run: string; readonly file: string }[] {
  if (statsAt(folder) === undefined) return [];
  return readdirSync(folder)
    .flatMap((name) => {
      const run = runNamed(name);
      const file = join(folder, name);
      // What belongs to others is passed over, and so is what was removed meanwhile.
      const found = run === undefined ? undefined : statsAt(file);
      return run === undefined || found?.isFile() !== true ? [] : [{ run, file, changedAt: found.mtimeMs }];
    })
    .toSorted((a, b) => b.changedAt - a.changedAt);
}

/** Whether a folder has something in it, and no run: it is of something else. What a system hides in a folder is nothing. */
export function isOfSomethingElse(folder: string): boolean {
  return newestFirst(folder).length === 0 && readdirSync(folder).some((name) => !name.startsWith("."));
}

/** The run of a file; undefined: it is no file of a run. */
function runNamed(name: string): string | undefined {
  if (!name.endsWith(ending)) return undefined;
  try {
    const run = runId(decodeURIComponent(name.slice(0, -ending.length)));
    return fileNameOf(run) === name ? run : undefined;
  } catch {
    return undefined;
  }
}
