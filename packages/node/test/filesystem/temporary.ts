import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
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
  const lines = await linesOf(Buffer.from(folder), "");
  return lines.filter((line) => !without.some((name) => line.startsWith(`${name} `) || line.startsWith(`${name}/`)));
}

/** Names need not be text. */
async function linesOf(folder: Buffer, prefix: string): Promise<readonly string[]> {
  const names = await readdir(folder, { encoding: "buffer" });
  const lines = await Promise.all(
    names.toSorted(Buffer.compare).map(async (name) => {
      const at = Buffer.concat([folder, Buffer.from("/"), name]);
      const path = prefix + name.toString("latin1");
      const stats = await lstat(at);
      const inner = stats.isDirectory() ? await linesOf(at, `${path}/`) : [];
      return [`${path} ${stats.mode.toString(8)} ${await contentOf(at, stats)}`, ...inner];
    }),
  );
  return lines.flat();
}

async function contentOf(at: Buffer, stats: Stats): Promise<string> {
  if (stats.isSymbolicLink()) return readlink(at);
  if (!stats.isFile()) return "";
  return createHash("sha256")
    .update(await readFile(at))
    .digest("hex");
}

/** The folder in which a host filesystem keeps what it needs to undo changes. */
export const undoFolder = ".proviso-undo";
