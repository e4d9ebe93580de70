import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
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
