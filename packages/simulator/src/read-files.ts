import { createHash } from "node:crypto";
import { isMarked, objectAt, textAt } from "./check.ts";
import { badRequest } from "./refusal.ts";
import type { JsonObject, SimulatedFile } from "./types.ts";

/** The content of a message: its text, and its files where it has any. */
export interface ReadContent {
  readonly text: string;
  readonly files?: readonly SimulatedFile[];
}

/** A content of parts; `textOf` reads a part that is no file. */
export function readParts(
  content: readonly unknown[],
  path: string,
  textOf: (part: JsonObject, path: string) => string,
): ReadContent {
  const files: SimulatedFile[] = [];
  const texts: string[] = [];
  for (const [index, part] of content.entries()) {
    const at = `${path}[${index}]`;
    const given = objectAt(part, at);
    const file = fileIn(given, at);
    if (file === undefined) texts.push(textOf(given, at));
    else files.push(file);
  }
  return {
    text: texts.join(isMarked(content) || files.length > 0 ? "" : "\n"),
    ...(files.length === 0 ? {} : { files }),
  };
}

/** The file of a part of either API; undefined for a part of text. @throws {Refusal} for what the real service refuses. */
function fileIn(part: JsonObject, path: string): SimulatedFile | undefined {
  switch (part["type"]) {
    case "input_image":
      return located(part, { id: "file_id", address: "image_url" }, path, pictures);
    case "input_file":
      return located(part, { id: "file_id", address: "file_url", data: "file_data" }, path, documents);
    case "image_url":
      return located(
        objectAt(part["image_url"], `${path}.image_url`),
        { address: "url" },
        `${path}.image_url`,
        pictures,
      );
    case "file":
      return located(
        objectAt(part["file"], `${path}.file`),
        { id: "file_id", data: "file_data" },
        `${path}.file`,
        documents,
      );
    case "input_audio": {
      const given = objectAt(part["input_audio"], `${path}.input_audio`);
      const format = textAt(given, "format", `${path}.input_audio.`);
      if (format !== "wav" && format !== "mp3")
        throw badRequest(`Invalid value: '${format}'.`, `${path}.input_audio.format`);
      return bytesIn(
        textAt(given, "data", `${path}.input_audio.`),
        format === "wav" ? "audio/wav" : "audio/mpeg",
        path,
      );
    }
    default:
      return undefined;
  }
}

const pictures = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const documents = ["application/pdf"];

function located(
  given: JsonObject,
  keys: { readonly id?: string; readonly address?: string; readonly data?: string },
  path: string,
  types: readonly string[],
): SimulatedFile {
  const at = (key: string | undefined): string | undefined => {
    const value = key === undefined ? undefined : given[key];
    return value === undefined || value === null ? undefined : textAt(given, key ?? "", `${path}.`);
  };
  const named = at("filename");
  const name = named === undefined ? {} : { name: named };
  const [id, address, data] = [at(keys.id), at(keys.address), at(keys.data)];
  if ([id, address, data].filter((one) => one !== undefined).length !== 1) {
    throw badRequest("A file must be given in one way: by its id, its address or its data.", path);
  }
  if (id !== undefined) return { ...name, id };
  if (address !== undefined && !address.startsWith("data:")) {
    if (!/^https?:/.test(address)) throw badRequest("Failed to download a file: its address is no web address.", path);
    return { ...name, url: address };
  }
  const found = /^data:([^;,]+);base64,(.*)$/s.exec(data ?? address ?? "");
  const [, mediaType = "", base64 = ""] = found ?? [];
  if (!types.includes(mediaType)) {
    throw badRequest(`You uploaded an unsupported file of the type '${mediaType}'.`, path, "unsupported_file");
  }
  if (data !== undefined && named === undefined) throw badRequest("A file with data needs a filename.", path);
  return { ...name, ...bytesIn(base64, mediaType, path) };
}

/** The bytes of a file, counted and hashed. @throws {Refusal} for what is no base64. */
export function bytesIn(base64: string, mediaType: string, path: string): SimulatedFile {
  const bytes = Buffer.from(base64, "base64");
  if (bytes.length === 0 || bytes.toString("base64") !== base64) {
    throw badRequest("The data of a file is not valid base64.", path, "invalid_base64");
  }
  return { mediaType, bytes: bytes.length, hash: createHash("sha256").update(bytes).digest("hex") };
}
