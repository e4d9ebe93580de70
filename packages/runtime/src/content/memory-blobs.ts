import { BlobError, systemClock, type Blobs } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { hashOf } from "./hash.ts";
import { checkMaxBytes, sweepBounds } from "./sweep.ts";

/** 256 MiB. */
const usualMost = 268_435_456;

/**
 * Keeps bytes in memory; what is put and what is given out are copies. `maxBytes` is for all of them together, and `put`
 * refuses what would pass it. Default 268,435,456.
 * @throws {DefinitionError} for an option that is unknown or out of range.
 */
export function memoryBlobs(options: { readonly maxBytes?: number } = {}): Blobs {
  checkOptionNames("memoryBlobs", options, { maxBytes: true });
  const { maxBytes = usualMost } = options;
  checkMaxBytes("memoryBlobs", maxBytes);
  const kept = new Map<string, { readonly bytes: Uint8Array; putAt: number }>();
  let total = 0;
  return {
    async put(given) {
      // `slice` of a Buffer copies nothing.
      const bytes = new Uint8Array(given);
      const hash = await hashOf(bytes);
      const before = kept.get(hash);
      if (before !== undefined) {
        before.putAt = systemClock.now();
        return { hash, bytes: bytes.length };
      }
      if (total + bytes.length > maxBytes) {
        const message = `${bytes.length} bytes do not fit: ${total} of ${maxBytes} bytes are used.`;
        throw new BlobError(message, { reason: "too_large", hash });
      }
      kept.set(hash, { bytes, putAt: systemClock.now() });
      total += bytes.length;
      return { hash, bytes: bytes.length };
    },
    async get(hash) {
      return kept.get(hash)?.bytes.slice();
    },
    async sweep(options) {
      const { named, latest } = sweepBounds(options);
      let removed = 0;
      for (const [hash, { bytes, putAt }] of kept) {
        if (named.has(hash) || putAt > latest) continue;
        kept.delete(hash);
        removed += bytes.length;
      }
      total -= removed;
      return removed;
    },
  };
}
