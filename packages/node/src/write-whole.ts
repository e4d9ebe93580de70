// Files that are written whole: beside their place, to the disk, and then put there. Who reads one meets the old text or the
// new one, also after a power cut. What the system refuses is thrown, and leaves the old file.
import { systemId } from "@proviso/runtime/internal";
import { constants, copyFile, link, open, rename, rm } from "node:fs/promises";

/** Writes a file, in place of one that may be there. */
export function writeWhole(file: string, text: string): Promise<void> {
  return written(file, text, (beside) => rename(beside, file));
}

/** Writes a file where there is none yet. Returns false where there is one, which is left as it is. */
export async function createWhole(file: string, text: string): Promise<boolean> {
  try {
    await written(file, text, async (beside) => {
      // Some file systems have no hard links.
      await link(beside, file).catch((error: unknown) => {
        if (isThere(error)) throw error;
        return copyFile(beside, file, constants.COPYFILE_EXCL);
      });
      await rm(beside, { force: true });
    });
    return true;
  } catch (error) {
    if (isThere(error)) return false;
    throw error;
  }
}

function isThere(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EEXIST";
}

/** Writes a file beside the place, which `put` then takes to it. */
async function written(file: string, text: string, put: (beside: string) => Promise<void>): Promise<void> {
  const beside = `${file}.${systemId()}.tmp`;
  try {
    const handle = await open(beside, "wx");
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await put(beside);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}
