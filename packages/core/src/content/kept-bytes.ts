import type { StoredFile } from "./file.ts";

/** Bytes by the reference that they belong to: they live as long as that object does. */
const bytes = new WeakMap<StoredFile, Uint8Array>();

/** Keeps the bytes with the reference, in this process. */
export function keepBytes(file: StoredFile, data: Uint8Array): void {
  bytes.set(file, data);
}

/** The bytes that are kept with the reference; undefined where it was made elsewhere. */
export function keptBytes(file: StoredFile): Uint8Array | undefined {
  return bytes.get(file);
}
