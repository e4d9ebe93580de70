import { FilesystemError } from "@proviso/core";

const longestNameBytes = 255;
export const deepest = 64;
const encoder = new TextEncoder();

/**
 * The names of a relative POSIX path; [] is the root.
 * @throws {FilesystemError} for an absolute path, `..`, NUL, a name over 255 bytes, more than 64 levels.
 */
export function pathNames(path: string): readonly string[] {
  const refuse = (rule: string): never => {
    throw new FilesystemError(`The path ${JSON.stringify(path)} ${rule}.`, { reason: "invalid_path", path });
  };
  if (typeof path !== "string") return refuse("is not text");
  if (path.includes("\0")) return refuse("contains NUL");
  if (path.startsWith("/")) return refuse("is absolute; give one relative to the root");
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..")) return refuse('contains ".."; paths stay below the root');
  if (names.length > deepest) return refuse(`is deeper than ${deepest} levels`);
  const long = names.find((name) => encoder.encode(name).length > longestNameBytes);
  return long === undefined ? names : refuse(`has a name longer than ${longestNameBytes} bytes`);
}

export function notFound(path: string): FilesystemError {
  return new FilesystemError(`${path} does not exist.`, { reason: "not_found", path });
}

export function notAFile(path: string): FilesystemError {
  return new FilesystemError(`${path} is a folder, not a file.`, { reason: "not_a_file", path });
}

export function notADirectory(path: string): FilesystemError {
  return new FilesystemError(`${path} is a file, not a folder.`, { reason: "not_a_directory", path });
}
