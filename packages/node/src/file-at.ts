import { DefinitionError, FilesystemError } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { claimedType, mediaTypeOf, notAFile } from "@proviso/runtime/internal";
import { closeSync, constants, fstatSync, openSync, readFile } from "node:fs";
import { basename, extname, resolve } from "node:path";
import { promisify } from "node:util";
import { withDescriptor } from "./descriptors.ts";
import { system, systemAsync } from "./faults.ts";
import { specialFile } from "./folders.ts";

/** What Node reads of one file. */
const largestFile = 2 ** 31 - 1;
const readOpened = promisify(readFile);
// Windows lacks one: undefined counts as 0.
const { O_NONBLOCK, O_RDONLY } = constants;

/**
 * A file of this machine as the platform's `File`, for a param or a tool's result. It is read at once. Its media type is
 * what its bytes show, else what its name says, else none. `name` is what the model reads; default: the last part of the
 * path. `mediaType` is claimed instead, and checked with the bytes when the file is used.
 * @example
 * ```ts
 * import { fileAt } from "@proviso/node";
 *
 * const file = await fileAt("package.json");
 * console.log(file.name, file.type); // package.json application/json
 * ```
 * @throws {FilesystemError} when there is none, when it is a folder, a special file or larger than 2 GiB, and what the
 * system refuses.
 * @throws {DefinitionError} for an option that is unknown or malformed.
 */
export async function fileAt(
  path: string,
  options: { readonly name?: string; readonly mediaType?: string } = {},
): Promise<File> {
  checkOptionNames("fileAt", options, { name: true, mediaType: true });
  const { name, mediaType } = options;
  if (name !== undefined && (typeof name !== "string" || name === "")) {
    throw new DefinitionError(`The name of a file has to be a text that is not empty, not ${describeValue(name)}.`);
  }
  if (mediaType !== undefined && !(typeof mediaType === "string" && /^[^/\s]+\/[^/\s]+$/.test(mediaType))) {
    throw new DefinitionError(`mediaType has to be a text such as "image/png", not ${describeValue(mediaType)}.`);
  }
  if (typeof path !== "string" || path === "") {
    throw new DefinitionError(`fileAt needs a path, not ${describeValue(path)}.`);
  }
  const bytes = await withDescriptor(() => read(path));
  return new File([bytes], name ?? basename(resolve(path)), { type: mediaType ?? typeOf(bytes, path) });
}

async function read(path: string): Promise<Uint8Array<ArrayBuffer>> {
  if (path.includes("\0")) {
    throw new FilesystemError("A path holds no zero bytes.", { reason: "invalid_path", path });
  }
  // A pipe would block without O_NONBLOCK.
  const fd = system(path, () => openSync(resolve(path), O_RDONLY | O_NONBLOCK));
  try {
    const stats = system(path, () => fstatSync(fd));
    if (stats.isDirectory()) throw notAFile(path);
    if (!stats.isFile()) throw specialFile(path);
    if (stats.size > largestFile) {
      const message = `The file ${path} has ${stats.size} bytes: at most ${largestFile} are read.`;
      throw new FilesystemError(message, { reason: "too_large", path });
    }
    return await systemAsync(path, () => readOpened(fd));
  } finally {
    closeSync(fd);
  }
}

/** Sound in a container of films is what its name says. */
function typeOf(bytes: Uint8Array, path: string): string {
  const shown = mediaTypeOf(bytes);
  const named = typesByName[extname(path).toLowerCase()] ?? "";
  const isSound = shown?.startsWith("video/") === true && named.startsWith("audio/");
  return shown === undefined || isSound ? claimedType(named) : shown;
}

const typesByName: Readonly<Record<string, string>> = {
  ".avif": "image/avif",
  ".bmp": "image/bmp",
  ".css": "text/css",
  ".csv": "text/csv",
  ".flac": "audio/flac",
  ".gif": "image/gif",
  ".heic": "image/heic",
  ".htm": "text/html",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".m4a": "audio/mp4",
  ".md": "text/markdown",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
  ".ogg": "audio/ogg",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".tif": "image/tiff",
  ".tiff": "image/tiff",
  ".txt": "text/plain",
  ".wav": "audio/wav",
  ".webm": "video/webm",
  ".webp": "image/webp",
  ".xml": "application/xml",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
};
