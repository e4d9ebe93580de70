import type { FileLike, FileRef, Message } from "@proviso/core";
import { isPlatformFile, keptBytes } from "@proviso/core/internal";

const leastOfImage = 1_120;
const ofUnknownImage = 15_000;
const ofPage = 3_000;
const mostPages = 100;
const ofSecond = 50;
/** A second of sound has at least so many bytes. */
const bytesOfSecond = 1_000;

/** An adapter's own bound of a file's tokens; undefined where it has none. */
export type FileBound = (file: FileRef) => number | undefined;

/** Tokens of a message's files: an upper bound, by the adapter, or by the table of `specs/files.md`. */
export function fileTokensIn({ files }: Message, bound?: FileBound): number {
  if (files === undefined) return 0;
  return files.reduce((sum, { file }) => sum + tokensOfFile(file, bound), 0);
}

/** Tokens of one file: an upper bound. The header of the platform's `File` has not been read yet. */
export function tokensOfFile(given: FileLike, bound?: FileBound): number {
  const file = isPlatformFile(given) ? unread(given) : given;
  const own = bound?.(file);
  return own !== undefined && own >= 0 && Number.isFinite(own) ? Math.ceil(own) : byTable(file);
}

function unread({ name, type, size }: File): FileRef {
  return { kind: "stored", name, mediaType: type.toLowerCase(), hash: "", bytes: size };
}

function byTable(file: FileRef): number {
  const [kind] = file.mediaType.split("/");
  if (kind === "image") return imageTokens(file);
  if (file.mediaType === "application/pdf") return ofPage * (pagesOf(file) ?? mostPages);
  if (file.kind !== "stored") return ofUnknownImage;
  if (kind === "audio" || kind === "video") return Math.ceil((file.bytes / bytesOfSecond) * ofSecond);
  return file.bytes;
}

function imageTokens(file: FileRef): number {
  if (file.kind !== "stored" || file.width === undefined || file.height === undefined) return ofUnknownImage;
  return Math.max(leastOfImage, Math.ceil(1.2 * Math.ceil(file.width / 32) * Math.ceil(file.height / 32)));
}

const pages = new WeakMap<FileRef, number>();

/** The pages that a PDF names; undefined where its objects are compressed or its bytes are not here. */
function pagesOf(file: FileRef): number | undefined {
  const bytes = file.kind === "stored" ? keptBytes(file) : undefined;
  if (bytes === undefined) return undefined;
  let count = pages.get(file);
  if (count === undefined) {
    const text = new TextDecoder("latin1").decode(bytes);
    count = text.includes("/ObjStm") ? 0 : (text.match(/\/Type\s*\/Page(?![A-Za-z])/g)?.length ?? 0);
    pages.set(file, count);
  }
  return count === 0 ? undefined : count;
}
