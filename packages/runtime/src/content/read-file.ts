// A file's bytes, read once: checked, hashed, stored, and from then on a reference.
import { BlobError, Blobs, type FileLike, type FileRef, type StoredFile } from "@proviso/core";
import { cleanName, isPlatformFile, keepBytes, keptBytes, messageOf } from "@proviso/core/internal";
import type { Run } from "../run.ts";
import { hashOf } from "./hash.ts";
import { pixelsOf } from "./pixels.ts";
import { typeFrom } from "./media-type.ts";

/** The platform's files do not change: what was read of one holds for it. */
const known = new WeakMap<File, StoredFile>();

/** Where the evaluation keeps bytes: its own Blobs, else its journal's; undefined: with what refers to them alone. */
export function blobsOf({ resources, tape }: Pick<Run, "resources" | "tape">): Blobs | undefined {
  return resources.resources.find(Blobs) ?? tape?.blobs;
}

/**
 * The reference to a file; its bytes are in `blobs` then, where there is one, and with the reference.
 * @throws {BlobError} for bytes that cannot be read or stored, that are none, or that are of another type.
 */
export async function referenceTo(file: FileLike, blobs: Blobs | undefined): Promise<FileRef> {
  if (!isPlatformFile(file)) {
    if (file.kind === "stored") await bytesBehind(file, blobs);
    return file;
  }
  const before = known.get(file);
  if (before !== undefined) {
    const bytes = keptBytes(before);
    if (blobs !== undefined && bytes !== undefined) await blobs.put(bytes);
    return before;
  }
  const stored = await store(await bytesIn(file), { name: file.name, mediaType: file.type }, blobs);
  known.set(file, stored);
  return stored;
}

/** What was read of a file before; undefined: nothing. */
export function referenceOf(file: File): StoredFile | undefined {
  return known.get(file);
}

async function bytesIn(file: File): Promise<Uint8Array> {
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch (cause) {
    const name = cleanName(file.name);
    throw new BlobError(`The file ${name} could not be read: ${messageOf(cause)}`, {
      reason: "failed",
      file: name,
      cause,
    });
  }
}

/** Checks, hashes and stores the bytes. @throws {BlobError} "media_type", or what the store throws. */
export async function store(
  bytes: Uint8Array,
  facts: { readonly name: string; readonly mediaType: string },
  blobs: Blobs | undefined,
): Promise<StoredFile> {
  const name = cleanName(facts.name);
  if (bytes.length === 0) throw new BlobError(`The file ${name} is empty.`, { reason: "media_type", file: name });
  const { claimed, shown, isBelieved, mediaType } = typeFrom(bytes, facts.mediaType);
  if (!isBelieved) {
    const message = `The file ${name} claims to be ${claimed}, but its bytes are ${shown ?? "no such file"}.`;
    throw new BlobError(message, { reason: "media_type", file: name });
  }
  const size = shown?.startsWith("image/") === true ? await pixelsOf(bytes) : {};
  return keep(bytes, { name, mediaType, ...size }, blobs);
}

/** Hashes and stores bytes as they are, whatever they show. `facts` are what the reference says of them. */
export async function keep(
  bytes: Uint8Array,
  { name, mediaType, ...size }: Pick<StoredFile, "name" | "mediaType" | "width" | "height">,
  blobs: Blobs | undefined,
): Promise<StoredFile> {
  const hash = blobs === undefined ? await hashOf(bytes) : (await blobs.put(bytes)).hash;
  const file: StoredFile = Object.freeze({ kind: "stored", name, mediaType, hash, bytes: bytes.length, ...size });
  keepBytes(file, bytes);
  return file;
}

/** The bytes of a stored file, kept with the reference from then on. @throws {BlobError} "missing" where they are nowhere. */
export async function bytesBehind(file: StoredFile, blobs: Blobs | undefined, where = ""): Promise<Uint8Array> {
  const kept = keptBytes(file);
  if (kept !== undefined) return kept;
  const bytes = await blobs?.get(file.hash);
  if (bytes === undefined) {
    const message = `The bytes of the file ${file.name} (SHA-256 ${file.hash})${where} are not here: bind Blobs to the store that has them.`;
    throw new BlobError(message, { reason: "missing", hash: file.hash, file: file.name });
  }
  keepBytes(file, bytes);
  return bytes;
}
