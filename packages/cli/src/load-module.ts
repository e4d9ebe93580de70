import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { UsageError } from "./usage.ts";

/** The names that a module exports, and what they stand for. */
export type Exports = Readonly<Record<string, unknown>>;

/**
 * Imports a module of the project.
 * @throws {UsageError} where it is not there, and where it cannot be loaded.
 */
export async function importedModule(module: string, cwd: string): Promise<Exports> {
  const path = resolve(cwd, module);
  await access(path).catch(() => {
    throw new UsageError(`there is no module ${path}`);
  });
  try {
    return (await import(pathToFileURL(path).href)) as Exports;
  } catch (error) {
    throw new UsageError(`${path} could not be loaded: ${whyNotLoaded(error)}`);
  }
}

function whyNotLoaded(error: unknown): string {
  if (!(error instanceof Error)) return inspect(error);
  if ((error as NodeJS.ErrnoException).code !== "ERR_UNKNOWN_FILE_EXTENSION") return error.message;
  const instead = "give the JavaScript that it is compiled to; TypeScript files run on Node 22.18 or newer";
  return `${error.message}; ${instead}`;
}
