import { createHash } from "node:crypto";
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Tree } from "./conformance.ts";

/** A new folder with these files, and what takes it away. */
export async function temporaryFolder(files: Tree = {}): Promise<{ readonly root: string; close(): Promise<void> }> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "proviso-")));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return { root, close: () => rm(root, { recursive: true, force: true }) };
}

/** Everything below a folder as the system shows it, one line each: path, kind, mode, bytes or where a link leads. */
export async function digestOfFolder(folder: string, without: readonly string[] = []): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const paths = entries.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  const kept = paths.filter((path) => !without.some((name) => path === name || path.startsWith(`${name}/`)));
  return Promise.all(kept.toSorted().map(async (path) => `${path} ${await lineOf(join(folder, path))}`));
}

async function lineOf(path: string): Promise<string> {
  const stats = await lstat(path);
  const mode = stats.mode.toString(8);
  if (stats.isSymbolicLink()) return `${mode} ${await readlink(path)}`;
  if (!stats.isFile()) return mode;
  return `${mode} ${stats.size} ${createHash("sha256")
    .update(await readFile(path))
    .digest("hex")}`;
}

/** The folder in which a host filesystem keeps what it needs to undo changes. */
export const undoFolder = ".proviso-undo";
