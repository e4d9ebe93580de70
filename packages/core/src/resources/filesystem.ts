import { resourceKey, type ResourceKey } from "./key.ts";

/**
 * Relative POSIX paths only; "" and "." are the root. A refused path, a missing file, a file where a folder is
 * wanted: a FilesystemError.
 */
export interface Filesystem {
  /** `offset` and `limit` count lines, from 0. */
  read(
    path: string,
    options?: { offset?: number; limit?: number },
  ): Promise<{ text: string; totalLines: number; truncated: boolean }>;
  /** The whole content of a file. @throws {FilesystemError} where there is none, or it is a folder. */
  readBytes(path: string): Promise<Uint8Array>;
  /** Makes the folders above it. */
  write(path: string, content: string | Uint8Array): Promise<void>;
  /** A file, or a folder with all that is in it. */
  remove(path: string): Promise<void>;
  /** Creates a folder and those above it; one that exists is left alone. */
  mkdir(path: string): Promise<void>;
  /** Sorted by name. `size` is in bytes, 0 for a folder. */
  list(path?: string): Promise<readonly { name: string; kind: "file" | "directory"; size: number }[]>;
  /** Whether a file or a folder is at the path. */
  exists(path: string): Promise<boolean>;
  /** Files, sorted; `*`, `**`, `?`, `[abc]`, `{a,b}`. */
  glob(pattern: string): Promise<readonly string[]>;
  /** Literal text, line by line; binary files are passed over. `maxMatches` default 1,000. */
  grep(
    text: string,
    options?: { glob?: string; maxMatches?: number },
  ): Promise<readonly { path: string; line: number; text: string }[]>;
}

export const Filesystem: ResourceKey<Filesystem> = resourceKey<Filesystem>("Filesystem");
