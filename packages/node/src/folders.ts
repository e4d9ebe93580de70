// 1. A folder is opened component by component, each relative to the one before and none through a link. What is
//    reached through it lies in that very folder, whatever its name leads to by now.
// 2. On Linux the relation is the open folder itself (/proc/self/fd/<fd>/<name>). Elsewhere Node has no such means: the
//    components are looked at right before a name is used, in the same synchronous stretch, and again after a read.
import { FilesystemError } from "@proviso/core";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
  type Stats,
} from "node:fs";
import { join } from "node:path";
import { notAFile, notFound } from "@proviso/runtime/internal";
import { codeOf, system, systemError } from "./faults.ts";

export interface Folder extends Disposable {
  /** How a child is reached. */
  at(name: string): string;
  /** undefined where folders cannot be held open. */
  readonly fd: number | undefined;
  /** Notices that something was put in its place meanwhile; nothing to do where it is held open. */
  assertSame(): void;
}

/** Raw descriptors of folders, reached through /proc: only where it is mounted. */
const byDescriptor = process.platform === "linux" && existsSync("/proc/self/fd");
// Windows lacks some: undefined counts as 0.
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * The folder at the end of the names, to be closed.
 * @throws {FilesystemError} "not_found" also where a file is in the way, "outside_root" for a link, "special_file".
 */
export function openFolder(root: string, names: readonly string[], path = names.join("/")): Folder {
  return byDescriptor ? openDescriptor(root, names, path) : lookedAt(root, names, path);
}

function openDescriptor(root: string, names: readonly string[], path: string): Folder {
  let folder = held(system("", () => openSync(root, O_RDONLY | O_DIRECTORY)));
  try {
    const expected = [descriptorPath(folder), ...names].join("/").replace(/^\/\//, "/");
    for (const name of names) {
      if (lookAt(folder, name, path)?.isDirectory() !== true) throw notFound(path);
      const inner = held(system(path, () => openSync(folder.at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)));
      folder[Symbol.dispose]();
      folder = inner;
    }
    // The folder may have been moved away as a whole, or deleted.
    const found = names.length > 0 ? descriptorPath(folder) : expected;
    if (found !== expected) throw found === `${expected} (deleted)` ? notFound(path) : replaced(path);
    return folder;
  } catch (error) {
    folder[Symbol.dispose]();
    throw error;
  }
}

function held(fd: number): Folder & { readonly fd: number } {
  return {
    fd,
    at: (name) => `/proc/self/fd/${fd}/${name}`,
    assertSame: () => {},
    [Symbol.dispose]: () => closeSync(fd),
  };
}

function descriptorPath({ fd }: { readonly fd?: number | undefined }): string {
  const at = `/proc/self/fd/${fd}`;
  return system(at, () => readlinkSync(at));
}

function lookedAt(root: string, names: readonly string[], path: string): Folder {
  const walk = (): { readonly absolute: string; readonly stats: Stats } => {
    let absolute = system("", () => realpathSync(root));
    let stats = system(path, () => lstatSync(absolute));
    for (const name of names) {
      const looked = lookAt({ at: (child) => join(absolute, child) }, name, path);
      if (looked?.isDirectory() !== true) throw notFound(path);
      stats = looked;
      absolute = join(absolute, name);
    }
    return { absolute, stats };
  };
  const { absolute, stats } = walk();
  return {
    fd: undefined,
    at: (name) => join(absolute, name),
    assertSame() {
      if (!sameThing(walk().stats, stats)) throw replaced(path);
    },
    [Symbol.dispose]: () => {},
  };
}

/**
 * What has that name: a file, a folder, or undefined.
 * @throws {FilesystemError} for a link and for a special file.
 */
export function lookAt(folder: Pick<Folder, "at">, name: string, path: string): Stats | undefined {
  const stats = statOf(folder, name, path);
  if (stats?.isSymbolicLink() === true) {
    throw new FilesystemError(`${path} leads through a symbolic link; links are not followed.`, {
      reason: "outside_root",
      path,
    });
  }
  if (stats !== undefined && !stats.isFile() && !stats.isDirectory()) throw specialFile(path);
  return stats;
}

/** What has that name, of whatever kind. */
export function statOf(folder: Pick<Folder, "at">, name: string, path = name): Stats | undefined {
  return system(path, () => lstatSync(folder.at(name), { throwIfNoEntry: false }));
}

/** What is at the path. @throws {FilesystemError} as `openFolder` does. */
export function locate(root: string, names: readonly string[], path: string): Stats {
  using folder = openFolder(root, names.slice(0, -1), path);
  const name = names.at(-1);
  const stats = name === undefined ? system(path, () => statSync(folder.at("."))) : lookAt(folder, name, path);
  if (stats === undefined) throw notFound(path);
  return stats;
}

export interface OpenFile extends Disposable {
  readonly fd: number;
  readonly size: number;
  assertSame(): void;
}

/** A file to read, to be closed. @throws {FilesystemError} */
export function openFile(root: string, names: readonly string[], path: string): OpenFile {
  const name = names.at(-1);
  using folder = openFolder(root, names.slice(0, -1), path);
  const looked = name === undefined ? undefined : lookAt(folder, name, path);
  if (name === undefined || looked?.isDirectory() === true) throw notAFile(path);
  if (looked === undefined) throw notFound(path);
  // A pipe put there meanwhile would block without O_NONBLOCK.
  const fd = system(path, () => openSync(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  const { assertSame } = folder;
  const file: OpenFile = { fd, size: looked.size, assertSame, [Symbol.dispose]: () => closeSync(fd) };
  try {
    if (!system(path, () => fstatSync(fd)).isFile()) throw specialFile(path);
    assertSame();
    return file;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * Reads the first bytes of a file that this filesystem keeps for itself; undefined where there is none.
 * @throws {FilesystemError} "special_file" when it is no file: another program put it there.
 */
export function readOwn(folder: Folder, name: string, most: number): Uint8Array | undefined {
  // A pipe would block without O_NONBLOCK.
  const open = (): number => openSync(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const stats = statOf(folder, name);
  if (stats === undefined) return undefined;
  if (!stats.isFile()) throw specialFile(name);
  let fd: number;
  try {
    fd = open();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw systemError(name, error);
  }
  try {
    return system(name, () => {
      const { size } = fstatSync(fd);
      if (!fstatSync(fd).isFile()) throw specialFile(name);
      const bytes = new Uint8Array(Math.min(most, size));
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read) {
        read = readSync(fd, bytes, length, bytes.length - length, length);
      }
      return bytes.subarray(0, length);
    });
  } finally {
    closeSync(fd);
  }
}

/** The numbers that distinguish a folder from a copy of it. */
export interface Identity {
  readonly device: string;
  readonly inode: string;
}

export function identityOf(folder: Folder): Identity {
  const { dev, ino } = system(".", () => statSync(folder.at("."), { bigint: true }));
  return { device: String(dev), inode: String(ino) };
}

export function sameThing(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev;
}

function replaced(path: string): FilesystemError {
  return new FilesystemError(`${path} was replaced while it was opened.`, { reason: "outside_root", path });
}

export function specialFile(path: string): FilesystemError {
  return new FilesystemError(`${path} is a special file.`, { reason: "special_file", path });
}
