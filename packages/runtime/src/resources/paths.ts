import { FilesystemError } from "@proviso/core";

const longestNameBytes = 255;
/** How many levels of folders a path has at most, on every filesystem. */
export const deepest = 64;
/** A folder of this name is a filesystem's own, at any depth and on every filesystem. */
export const reservedName = ".proviso-undo";
const encoder = new TextEncoder();

/**
 * The names of a relative POSIX path; [] is the root. What Windows would take for something else is refused on every
 * system, so that the same path means the same everywhere.
 * @throws {FilesystemError} for an absolute path, `..`, NUL, a reserved name, a name over 255 bytes, more than 64
 *   levels, a backslash, a colon, a name that ends with a dot or a space, and the name of a device of Windows.
 */
export function pathNames(path: string): readonly string[] {
  const names = storedNames(path);
  const rule = names.map(whyNotPortable).find((found) => found !== undefined);
  return rule === undefined ? names : refuse(path, rule);
}

/** Like `pathNames`, but also takes the names of files that other programs made. */
export function storedNames(path: string): readonly string[] {
  if (typeof path !== "string") return refuse(path, "is not text");
  if (!path.isWellFormed()) return refuse(path, "is not well-formed text");
  if (path.includes("\0")) return refuse(path, "contains NUL");
  if (path.startsWith("/")) return refuse(path, "is absolute; give one relative to the root");
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..")) return refuse(path, 'contains ".."; paths stay below the root');
  if (names.length > deepest) return refuse(path, `is deeper than ${deepest} levels`);
  if (names.some(isReserved)) return refuse(path, `has the name ${reservedName}, which is kept for undoing changes`);
  const long = names.find((name) => encoder.encode(name).length > longestNameBytes);
  return long === undefined ? names : refuse(path, `has a name longer than ${longestNameBytes} bytes`);
}

function refuse(path: string, rule: string): never {
  throw new FilesystemError(`The path ${JSON.stringify(path)} ${rule}.`, { reason: "invalid_path", path });
}

/** Whether a path can have this name: what has another one is not shown. */
export function isName(name: string): boolean {
  return whyNotPortable(name) === undefined && !isReserved(name);
}

/** Also with an extension, and with the superscript digits that Windows takes for digits. */
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\.|$)/i;

function whyNotPortable(name: string): string | undefined {
  if (name.includes("\\")) return 'has a backslash; folders are separated by "/"';
  if (name.includes(":")) return "has a colon, which names a drive or a stream on Windows";
  if (/[. ]$/.test(name)) return "has a name that ends with a dot or a space, which Windows drops";
  return device.test(name) ? "has a name that is a device on Windows" : undefined;
}

/** The short form of the reserved name on Windows. */
const shortName = /^provis~\d$/;

/**
 * Whether a name is reserved. Some systems do not distinguish upper from lower case, or a letter from a variant of it,
 * and ignore letters that do not show.
 */
export function isReserved(name: string): boolean {
  const visible = name.replace(/\p{Default_Ignorable_Code_Point}/gu, "").normalize("NFKC");
  // The text is converted to upper case first, because "\u017f" becomes "s" and "\u0131" becomes "i" by that.
  const folded = visible.toUpperCase().toLowerCase();
  return folded === reservedName || shortName.test(folded);
}

/** The error for a path at which nothing is. */
export function notFound(path: string): FilesystemError {
  return new FilesystemError(`${path === "" ? "The root" : path} does not exist.`, { reason: "not_found", path });
}

/** The error for a folder where a file is needed. */
export function notAFile(path: string): FilesystemError {
  return new FilesystemError(`${path} is a folder, not a file.`, { reason: "not_a_file", path });
}

/** The error for a file where a folder is needed. */
export function notADirectory(path: string): FilesystemError {
  return new FilesystemError(`${path} is a file, not a folder.`, { reason: "not_a_directory", path });
}
