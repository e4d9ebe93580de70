import { readdirSync } from "node:fs";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../filesystem/temporary.ts";

/** A new folder, which is deleted when the test has ended. */
export async function folder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const { root, close } = await temporaryFolder(files);
  onTestFinished(close);
  return root;
}

/** The paths of all files below a folder, those with a leading dot included. */
export function filesIn(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => `${parentPath}/${name}`.slice(root.length + 1))
    .toSorted();
}

/** Where a store keeps the bytes with that hash. */
export function pathOf(hash: string): string {
  return `${hash.slice(0, 2)}/${hash.slice(2)}`;
}
