import { systemId } from "@proviso/runtime/internal";
import { open, rename, rm } from "node:fs/promises";

/**
 * Writes a file whole: beside its place, to the disk, and then put there. Who reads it meets the old text or the new one,
 * also after a power cut. What the system refuses is thrown, and leaves the old file.
 */
export async function writeWhole(file: string, text: string): Promise<void> {
  const beside = `${file}.${systemId()}.tmp`;
  try {
    const handle = await open(beside, "wx");
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(beside, file);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}
