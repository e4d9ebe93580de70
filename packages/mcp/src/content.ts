// What a server's answers hold, as texts and files.
import { isRecord } from "@proviso/core/provider";
import { typeFrom } from "@proviso/runtime/internal";
import type { FileData } from "./file-data.ts";
import { visibleText } from "./visible-text.ts";

/** The texts of an answer, and what in it is not text. */
export interface McpContent {
  /** The texts of the content, joined by blank lines. */
  readonly text: string;
  /** Pictures, sound and embedded data. */
  readonly files: readonly File[];
}

/** Text blocks are joined by blank lines; pictures, sound and embedded data become files, a link a line. */
export function contentOf(blocks: unknown): McpContent & { readonly data: readonly FileData[] } {
  const texts: string[] = [];
  const data: FileData[] = [];
  for (const block of Array.isArray(blocks) ? (blocks as readonly unknown[]) : []) {
    const part = partOf(block, data.length + 1);
    // An empty file is none: a store would refuse it, and the whole call with it.
    if (part instanceof File && part.size === 0) texts.push(fileLine(part));
    else if (part instanceof File) data.push({ file: part, base64: base64In(block) });
    else if (part !== undefined) texts.push(visibleText(part));
  }
  return { text: texts.join("\n\n"), files: data.map(({ file }) => file), data };
}

/** What the model reads of a file that an error holds, or that is empty. */
export function fileLine({ name, type, size }: File): string {
  const kind = /^(?:image|audio|video)(?=\/)/.exec(type)?.[0] ?? "file";
  return `[${kind} ${visibleText(name)}, ${type}, ${size} bytes: not shown]`;
}

function base64In(block: unknown): string {
  const { data, resource } = isRecord(block) ? block : {};
  return textOr(isRecord(resource) ? resource["blob"] : data);
}

function textOr(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function partOf(block: unknown, number: number): string | File | undefined {
  if (!isRecord(block)) return undefined;
  const { type, text, data, mimeType, uri, name, description } = block;
  switch (type) {
    case "text":
      return typeof text === "string" ? text : undefined;
    case "image":
    case "audio":
      return fileOf(data, mimeType, `${type}-${number}`);
    case "resource_link": {
      const about = typeof description === "string" && description !== "" ? ` (${description})` : "";
      return `Link: ${textOr(name)} ${textOr(uri)}${about}`.replaceAll(/\s+/g, " ");
    }
    case "resource":
      return resourcePart(block["resource"]);
    default:
      return undefined;
  }
}

/** The text or the file that a resource is. */
export function resourcePart(resource: unknown): string | File | undefined {
  if (!isRecord(resource)) return undefined;
  const { text, blob, mimeType, uri } = resource;
  if (typeof text === "string") return text;
  return fileOf(blob, mimeType, nameIn(uri));
}

function nameIn(uri: unknown): string {
  const path = typeof uri === "string" ? uri.replace(/[?#].*$/s, "") : "";
  const last = path.split("/").findLast((part) => part !== "") ?? "file";
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

const extensions: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
  "application/pdf": "pdf",
};

/**
 * A file of the type that its bytes have, whatever the server says: the call was done, and who uses the server cannot
 * correct it. undefined for what is no base64.
 */
function fileOf(base64: unknown, mimeType: unknown, name: string): File | undefined {
  const bytes = bytesOf(base64);
  if (bytes === undefined) return undefined;
  const { mediaType: type } = typeFrom(bytes, textOr(mimeType));
  const extension = extensions[type];
  const whole = name.includes(".") || extension === undefined ? name : `${name}.${extension}`;
  return new File([bytes], visibleText(whole), { type });
}

function bytesOf(base64: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (typeof base64 !== "string") return undefined;
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
