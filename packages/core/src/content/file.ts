// An image, document, recording or film as messages, events and session JSON hold it: a reference, never bytes.
import { DefinitionError } from "../errors.ts";
import { isRecord } from "../values.ts";
import { checkOptionNames } from "../option-names.ts";

/** What is known of a file, wherever its bytes are. */
interface FileFacts {
  /** Shown to the model where the file stands: "[image photo.png]". 1 to 255 characters, no control characters. */
  readonly name: string;
  /** `type/subtype`, lower case, without parameters. */
  readonly mediaType: string;
  /** How closely an image is looked at, where the provider lets one choose. Default: the provider's own. */
  readonly detail?: "low" | "high" | "auto";
}

/** A file whose bytes are in a blob store, or still with this object in the process that made it. */
export interface StoredFile extends FileFacts {
  readonly kind: "stored";
  /** The SHA-256 of the bytes, hexadecimal. */
  readonly hash: string;
  /** How many bytes it has. */
  readonly bytes: number;
  /** The width in pixels, of an image whose header states it. */
  readonly width?: number;
  /** The height in pixels, of an image whose header states it. */
  readonly height?: number;
}

/** A file that the provider fetches by itself. It is never fetched here. */
export interface LinkedFile extends FileFacts {
  readonly kind: "link";
  /** An address that begins with `http:` or `https:`. */
  readonly url: string;
}

/** A file that is at the provider already. */
export interface UploadedFile extends FileFacts {
  readonly kind: "uploaded";
  /** The file's id by provider: `{ openai: "file-abc", anthropic: "file_011" }`. */
  readonly ids: Readonly<Record<string, string>>;
}

/** A file as messages, events and session JSON hold it: plain JSON, never bytes. */
export type FileRef = StoredFile | LinkedFile | UploadedFile;

/** What a param or a tool's result may hold: the platform's `File`, or a reference. */
export type FileLike = File | FileRef;

/** A file and where it stands in its message's text. */
export interface PlacedFile {
  /** The UTF-16 offset in `text`, right behind the file's label. */
  readonly at: number;
  /** The file that stands there. */
  readonly file: FileRef;
}

/**
 * Makes a reference to a file that the provider fetches. The name is the last part of the path where none is given.
 * @throws {DefinitionError} unless the address is `http:` or `https:`, and for a malformed media type or name.
 */
export function linkedFile(
  url: string,
  facts: { readonly mediaType: string; readonly name?: string; readonly detail?: FileFacts["detail"] },
): LinkedFile {
  checkOptionNames("linkedFile", facts, { mediaType: true, name: true, detail: true });
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === "data:") throw new DefinitionError("A data: address is no link: give the bytes as a File.");
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    throw new DefinitionError("The address of a linked file must begin with http: or https:.");
  }
  const name = facts.name ?? cleanName(lastPartOf(parsed.pathname));
  const { mediaType, detail } = facts;
  return checked({ kind: "link", name, mediaType, url, ...(detail === undefined ? {} : { detail }) });
}

/**
 * Makes a reference to a file that is at the provider already.
 * @throws {DefinitionError} without an id, and for a malformed media type or name.
 */
export function uploadedFile(
  ids: Readonly<Record<string, string>>,
  facts: { readonly mediaType: string; readonly name: string },
): UploadedFile {
  checkOptionNames("uploadedFile", facts, { mediaType: true, name: true });
  return checked({ kind: "uploaded", name: facts.name, mediaType: facts.mediaType, ids: Object.freeze({ ...ids }) });
}

function checked<F extends FileRef>(file: F): F {
  const fault = fileFault(file);
  if (fault !== undefined)
    throw new DefinitionError(`This is no reference to a file: ${fault.path.slice(1)} ${fault.problem}.`);
  return Object.freeze(file);
}

function lastPartOf(path: string): string {
  const part = path.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A name that a label can show: without control characters, of 1 to 255 UTF-16 units. */
export function cleanName(name: string): string {
  const clean = name
    .replace(/\p{Cc}/gu, "_")
    .slice(0, longestName)
    .toWellFormed();
  return clean === "" ? "file" : clean;
}

/** Whether the value is a reference to a file, by its shape. A `File` is none. */
export function isFileRef(value: unknown): value is FileRef {
  return isRecord(value) && fileFault(value) === undefined;
}

/** Whether the value is a file of the platform or a reference to one. */
export function isFileLike(value: unknown): value is FileLike {
  return isPlatformFile(value) || isFileRef(value);
}

/** Whether it is the platform's `File`. */
export function isPlatformFile(value: unknown): value is File {
  return typeof File === "function" && value instanceof File;
}

/** What the model reads where the file stands. */
export function labelOf(file: FileLike): string {
  const type = isPlatformFile(file) ? file.type : file.mediaType;
  const kind = /^(image|audio|video)\//i.exec(type)?.[1]?.toLowerCase() ?? "file";
  return `[${kind} ${cleanName(file.name)}]`;
}

const longestName = 255;
const mediaTypes = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/;
const details = ["low", "high", "auto"];

/** What is wrong with a reference, and where; undefined: nothing is. */
export function fileFault(value: unknown): { readonly path: string; readonly problem: string } | undefined {
  if (!isRecord(value)) return { path: "", problem: "must be an object" };
  const { kind, name, mediaType, detail } = value;
  if (typeof name !== "string" || name === "" || name.length > longestName || /\p{Cc}/u.test(name)) {
    return {
      path: ".name",
      problem: `must be a text of 1 to ${longestName} characters, none of them a control character`,
    };
  }
  if (typeof mediaType !== "string" || !mediaTypes.test(mediaType)) {
    return { path: ".mediaType", problem: "must be a media type in lower case, without parameters" };
  }
  if (detail !== undefined && !details.includes(detail as string)) {
    return { path: ".detail", problem: 'must be "low", "high" or "auto"' };
  }
  if (kind === "stored") return storedFault(value);
  if (kind === "link") {
    const isLink = typeof value["url"] === "string" && /^https?:\/\//i.test(value["url"]);
    return isLink ? undefined : { path: ".url", problem: "must begin with http: or https:" };
  }
  if (kind === "uploaded") return idsFault(value["ids"]);
  return { path: ".kind", problem: 'must be "stored", "link" or "uploaded"' };
}

function storedFault(value: Readonly<Record<string, unknown>>): ReturnType<typeof fileFault> {
  const { hash, bytes } = value;
  if (typeof hash !== "string" || !/^[0-9a-f]{64}$/.test(hash)) {
    return { path: ".hash", problem: "must be a SHA-256 in hexadecimal" };
  }
  if (!isCount(bytes)) return { path: ".bytes", problem: "must be a whole number from 0" };
  const side = (["width", "height"] as const).find((key) => value[key] !== undefined && !isCount(value[key]));
  return side && { path: `.${side}`, problem: "must be a whole number from 0" };
}

function idsFault(ids: unknown): ReturnType<typeof fileFault> {
  const given = isRecord(ids) ? Object.values(ids) : [];
  const isGood = given.length > 0 && given.every((id) => typeof id === "string" && id !== "");
  return isGood ? undefined : { path: ".ids", problem: "must name an id, as text, for at least one provider" };
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
