import { DefinitionError } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { parseJson } from "@proviso/core/provider";
import { writeWhole } from "@proviso/node/internal";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { savedLines, savedRunOf } from "../report/saved.ts";
import type { SavedRun } from "../results.ts";

/** UTF-16 units of a saved run, at most: some million rows. */
const maxLength = 512 * 1024 * 1024;

/**
 * Reads a run that `writeRun` wrote.
 * @throws {DefinitionError} for a file that is not there, damaged, or of a newer form; it is left alone.
 */
export async function readRun(path: string): Promise<SavedRun> {
  const file = resolve(path);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw new DefinitionError(`The saved run ${file} cannot be read: ${messageOf(cause)}.`, { cause });
  }
  const json = parseJson(text, { maxLength });
  if (!json.ok) throw new DefinitionError(`The saved run ${file} is damaged: it is ${json.error}.`);
  return savedRunOf(json.value, `The saved run ${file}`);
}

/**
 * Writes a run for a commit, a row a line. It is written whole: into a file beside it, which then takes its name.
 * @throws {DefinitionError} for what `saveRun` did not make. What the system refuses passes as it is.
 */
export async function writeRun(path: string, run: SavedRun): Promise<void> {
  const file = resolve(path);
  const text = savedLines(savedRunOf(run, "What writeRun was given"));
  await writeWhole(file, text);
}
