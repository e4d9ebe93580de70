// 1. A name has its whole content or is not there: bytes are written under a name of their own, flushed, and renamed.
// 2. Names are 64 hexadecimal digits, split behind the second. Nothing else is read and no link is followed.
// 3. A sweep takes a name away before it deletes the file, and looks at its age once more: what another process put
//    meanwhile goes back. `get` also looks where such a file is, so that it is never missing in between.
import { BlobError, FilesystemError, type Blobs } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { checkMaxBytes, hashOf } from "@proviso/runtime/internal";
import { resolve } from "node:path";
import { keepBlob, readBlob } from "./blob-files.ts";
import { sweepBlobs } from "./blob-sweep.ts";
import { withDescriptor } from "./descriptors.ts";

/** 64 MiB. */
const usualMost = 67_108_864;
const hashes = /^[0-9a-f]{64}$/;

/**
 * Keeps the bytes of files in a folder of this machine, for several processes: `<folder>/ab/cdef…`, by their SHA-256. A
 * file is written whole, with the mode 0600, and is on disk when `put` resolves. The folder is made where there is none.
 * `maxBytes` is for one file; default 67,108,864. What the system refuses is a BlobError "failed".
 * @example
 * ```ts
 * import { Blobs, provide } from "@proviso/core";
 * import { folderBlobs } from "@proviso/node";
 *
 * const blobs = folderBlobs("blobs");
 * // An evaluation gets it: adapter.evaluate(prompt, { resources: [kept] }).
 * const kept = provide(Blobs, blobs);
 * console.log(kept.key === Blobs, await blobs.get("0".repeat(64))); // true undefined
 * ```
 * @throws {DefinitionError} for an option that is unknown or out of range.
 */
export function folderBlobs(folder: string, options: { readonly maxBytes?: number } = {}): Blobs {
  checkOptionNames("folderBlobs", options, { maxBytes: true });
  const { maxBytes = usualMost } = options;
  checkMaxBytes("folderBlobs", maxBytes);
  // The process may go elsewhere later.
  const root = resolve(folder);
  return {
    async put(given) {
      // The caller may change its bytes while they are hashed and written, and `slice` of a Buffer copies nothing.
      const bytes = new Uint8Array(given);
      const hash = await hashOf(bytes);
      if (bytes.length > maxBytes) {
        const message = `${bytes.length} bytes are more than the ${maxBytes} that the folder takes for one file.`;
        throw new BlobError(message, { reason: "too_large", hash });
      }
      await refused(hash, "kept", () => withDescriptor(() => keepBlob(root, hash, bytes)));
      return { hash, bytes: bytes.length };
    },
    async get(hash) {
      if (typeof hash !== "string" || !hashes.test(hash)) return undefined;
      const bytes = await refused(hash, "read", () => withDescriptor(() => readBlob(root, hash)));
      if (bytes === undefined || (await hashOf(bytes)) === hash) return bytes;
      const message = `What is kept under the SHA-256 ${hash} has another one: the file was changed or is damaged.`;
      throw new BlobError(message, { reason: "damaged", hash });
    },
    sweep: async (swept) => refused(undefined, "swept", () => sweepBlobs(root, swept)),
  };
}

/** What the system refuses, as an error of the store. */
async function refused<T>(hash: string | undefined, done: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof FilesystemError)) throw cause;
    const what = hash === undefined ? "The folder of files" : `The file with the SHA-256 ${hash}`;
    throw new BlobError(`${what} could not be ${done}: ${messageOf(cause)}`, { reason: "failed", hash, cause });
  }
}
