import { BlobError, type Blobs, type FileRef } from "@proviso/core";
import { bytesBehind } from "./read-file.ts";

/**
 * The bytes of a stored file as the platform's `File`, from this process or from `blobs`.
 * @throws {BlobError} "missing" for a link, for an upload, and for bytes that are nowhere.
 */
export async function openFile(file: FileRef, blobs?: Blobs): Promise<File> {
  if (file.kind !== "stored") {
    const message = `The bytes of ${file.name} were never here: it is ${file.kind === "link" ? "a link" : "an upload"}.`;
    throw new BlobError(message, { reason: "missing", file: file.name });
  }
  const bytes = await bytesBehind(file, blobs);
  return new File([bytes as Uint8Array<ArrayBuffer>], file.name, { type: file.mediaType });
}
