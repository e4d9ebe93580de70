import { closeSync, constants, fsync, openSync, unlinkSync, write } from "node:fs";
import { promisify } from "node:util";
import { system, systemAsync } from "./faults.ts";

const [writeSome, flush] = [promisify(write), promisify(fsync)];
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const chunk = 1024 * 1024;

/**
 * Writes a new file with that content; it is on disk when it resolves. Half of it is deleted: it would take room for
 * nothing. `finish` is called before it is flushed; `path` is what errors name.
 * @throws {FilesystemError} what the system refuses.
 */
export async function writeNew(
  at: string,
  content: Uint8Array,
  { path, mode, finish }: { readonly path: string; readonly mode: number; finish?(fd: number): void },
): Promise<void> {
  const fd = system(path, () => openSync(at, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
  try {
    await systemAsync(path, async () => {
      for (let done = 0; done < content.length;) {
        const { bytesWritten } = await writeSome(fd, content, done, Math.min(chunk, content.length - done), done);
        done += bytesWritten;
      }
      finish?.(fd);
      await flush(fd);
    });
  } catch (error) {
    unlinkSync(at);
    throw error;
  } finally {
    closeSync(fd);
  }
}
