import { resourceKey, type ResourceKey } from "./key.ts";

/** Bytes by their SHA-256. It only grows: it is not part of transactions, because what an event names has to stay. */
export interface Blobs {
  /** The bytes are kept when it resolves; the same bytes twice are one. @throws {BlobError} "too_large", "failed" */
  put(bytes: Uint8Array): Promise<{ readonly hash: string; readonly bytes: number }>;
  /** undefined: not here. @throws {BlobError} "damaged" when what is kept does not have the hash, "failed" */
  get(hash: string): Promise<Uint8Array | undefined>;
  /**
   * Removes what `keep` does not name and what is older than `olderThanMs` (default 86,400,000). Returns how many bytes
   * were removed.
   */
  sweep(options: { readonly keep: Iterable<string>; readonly olderThanMs?: number }): Promise<number>;
}

/**
 * Where files are kept: `provide(Blobs, folderBlobs("blobs"))`. Where it is not bound, they are kept in memory with the
 * objects that refer to them.
 */
export const Blobs: ResourceKey<Blobs> = resourceKey<Blobs>("Blobs");
