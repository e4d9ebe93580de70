import { FilesystemError } from "@proviso/core";

const longestNameBytes = 255;
export const deepest = 64;
/** A folder of this name is a filesystem's own, at any depth and on every filesystem. */
export const reservedName = ".proviso-undo";
const encoder = new TextEncoder();

/**
 * The names of a relative POSIX path; [] is the root.
 * @throws {FilesystemError} for an absolute path, `..`, NUL, a reserved name, a name over 255 bytes, more than 64 levels.
 */
export function pathNames(path: string): readonly string[] {
  const refuse = (rule: string): never => {
    throw new FilesystemError(`The path ${JSON.stringify(path)} ${rule}.`, { reason: "invalid_path", path });
  };
  if (typeof path !== "string") return refuse("is not text");
  if (!path.isWellFormed()) return refuse("is not well-formed text");
  if (path.includes("\0")) return refuse("contains NUL");
  if (path.startsWith("/")) return refuse("is absolute; give one relative to the root");
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..")) return refuse('contains ".."; paths stay below the root');
  if (names.length > deepest) return refuse(`is deeper than ${deepest} levels`);
  if (names.some(isReserved)) return refuse(`has the name ${reservedName}, which is kept for undoing changes`);
  const long = names.find((name) => encoder.encode(name).length > longestNameBytes);
  return long === undefined ? names : refuse(`has a name longer than ${longestNameBytes} bytes`);
}

/** Some systems do not tell upper from lower case. */
export function isReserved(name: string): boolean {
  return name.length === reservedName.length && name.toLowerCase() === reservedName;
}

export function notFound(path: string): FilesystemError {
  return new FilesystemError(`${path === "" ? "The root" : path} does not exist.`, { reason: "not_found", path });
}

export function notAFile(path: string): FilesystemError {
  return new FilesystemError(`${path} is a folder, not a file.`, { reason: "not_a_file", path });
}

export function notADirectory(path: string): FilesystemError {
  return new FilesystemError(`${path} is a file, not a folder.`, { reason: "not_a_directory", path });
}
