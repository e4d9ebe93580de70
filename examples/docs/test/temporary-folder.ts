import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** This example: the packages that the programs import are its own. */
export const here = new URL("../", import.meta.url).pathname;

/** The folder has the packages that this example has, and is gone when the test is over. */
export async function folderFor(named: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(here, "node_modules", ".docs-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(named)) await writeFile(join(folder, name), text);
  return folder;
}
