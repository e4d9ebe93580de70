// Files on their way to a service. Each one is converted once; what the wires of OpenAI take stands here for all adapters.
import type { FileRef, FileSupport, Message, ModelRequest, PlacedFile, StoredFile } from "@proviso/core";
import { labelOf } from "@proviso/core/internal";
import { partsOf, type MessagePart } from "@proviso/core/provider";

/** What a request loads its files with; undefined: it holds no stored file. */
export type BytesOf = ModelRequest["bytesOf"];

const converted = new WeakMap<StoredFile, string>();

/** The bytes of a file as base64. They are converted once, and kept as long as the reference is (FILE-16). */
export function base64Of(file: StoredFile, bytesOf: BytesOf): string {
  let text = converted.get(file);
  if (text === undefined) {
    if (bytesOf === undefined) throw new TypeError(`The request has no bytes for the file ${file.name}.`);
    converted.set(file, (text = base64(bytesOf(file))));
  }
  return text;
}

/** A multiple of three, so that the pieces put together are the whole. */
const pieceLength = 24_573;

function base64(bytes: Uint8Array): string {
  // Node's own, where there is one, takes a tenth of the time.
  const { Buffer: node } = globalThis as { readonly Buffer?: typeof Buffer };
  if (node !== undefined) return node.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  const pieces: string[] = [];
  for (let from = 0; from < bytes.length; from += pieceLength) {
    pieces.push(btoa(String.fromCharCode(...bytes.subarray(from, from + pieceLength))));
  }
  return pieces.join("");
}

/** A file with its bytes in the address. */
export function dataUrlOf(file: StoredFile, bytesOf: BytesOf): string {
  return `data:${file.mediaType};base64,${base64Of(file, bytesOf)}`;
}

/** `image`, `audio`, `video`, `text` or `application`. */
export function kindOfFile({ mediaType }: FileRef): string {
  return mediaType.slice(0, mediaType.indexOf("/"));
}

/**
 * The parts of a message with these marks of the cache in place of its own: a mark that the request does not ask for
 * changes nothing on the wire.
 */
export function markedParts(message: Message, marks: readonly number[] | undefined): readonly MessagePart[] {
  const { text } = message;
  const files: readonly PlacedFile[] | undefined = message.files;
  return partsOf({
    role: "user",
    text,
    ...(files === undefined ? {} : { files }),
    ...(marks === undefined ? {} : { cacheAt: marks }),
  });
}

/** A message's text with the labels of its files where they stand. */
export function labelledText(message: Message): string {
  return partsOf(message)
    .map((part) => (part.kind === "text" ? part.text : labelOf(part.file)))
    .join("");
}

const pictures = ["image/png", "image/jpeg", "image/webp", "image/gif"] as const;

/** The pictures that every service takes, and PDF documents. */
export const picturesAndPdf: readonly string[] = Object.freeze([...pictures, "application/pdf"]);

/** Why a service cannot take a file that is uploaded elsewhere; undefined: it can. */
export function unknownUpload(file: FileRef, service: string): string | undefined {
  if (file.kind !== "uploaded" || Object.hasOwn(file.ids, service)) return undefined;
  return `It has no id for "${service}", only for ${Object.keys(file.ids).join(", ")}.`;
}

/** What the Responses API takes. Source: OpenAI API reference, "Create a model response". */
export function responsesFiles(service: string): FileSupport {
  return Object.freeze({
    types: picturesAndPdf,
    from: Object.freeze(["stored", "link", "uploaded"] as const),
    inToolResults: picturesAndPdf,
    refuses: (file: FileRef) => unknownUpload(file, service),
  });
}

/**
 * What Chat Completions takes: links of pictures alone, and uploads of documents alone where there are any. Source: OpenAI
 * API reference, "Create chat completion".
 */
export function chatFiles(service: string | undefined): FileSupport {
  return Object.freeze({
    types: Object.freeze([...picturesAndPdf, "audio/wav", "audio/mpeg"]),
    from: Object.freeze(
      service === undefined ? (["stored", "link"] as const) : (["stored", "link", "uploaded"] as const),
    ),
    refuses: (file: FileRef) => {
      const kind = kindOfFile(file);
      if (file.kind === "link" && kind !== "image") return "It takes links of pictures alone.";
      if (file.kind === "uploaded" && kind !== "application") return "It takes uploaded documents alone.";
      return service === undefined ? undefined : unknownUpload(file, service);
    },
  });
}
