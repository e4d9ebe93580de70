// The folder of the root in which what undoing needs is kept: the log, a lock, and under numbers what changes displaced.
import { FilesystemError } from "@proviso/core";
import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";
import { reservedName } from "@proviso/runtime/internal";
import { isPassing, system } from "./faults.ts";
import { openFolder, specialFile, statOf, type Folder } from "./folders.ts";
import { patientlyNow } from "./patience.ts";
import { roomName } from "./undo-reserve.ts";
import { abandonLock, dropLock, isLock, type Lock } from "./undo-lock.ts";

export const logName = "log";
const ignoreName = ".gitignore";
/** What is there before the first change. */
const ownNames = [logName, roomName];

/** @throws {FilesystemError} "not_found" where none is. */
export function openStore(root: string): Folder {
  return openFolder(root, [reservedName]);
}

/** undefined where no such folder is. */
export function storeIfThere(root: string): Folder | undefined {
  try {
    return openStore(root);
  } catch (error) {
    if (error instanceof FilesystemError && error.reason === "not_found") return undefined;
    throw error;
  }
}

export function makeStore(root: string): void {
  using top = openFolder(root, []);
  const there = statOf(top, reservedName);
  if (there === undefined) {
    system(reservedName, () => mkdirSync(top.at(reservedName), { mode: 0o700, recursive: true }));
  } else if (!there.isDirectory()) {
    const message = `${reservedName} is in the way: a folder of that name is needed to undo changes. Move it elsewhere.`;
    throw new FilesystemError(message, { reason: "failed", path: reservedName });
  }
}

/** Tools that look at the folder from outside are asked to pass it over. */
export function askToIgnore(store: Folder): void {
  try {
    writeFileSync(store.at(ignoreName), "*\n", { flag: "wx" });
  } catch {
    // A wish only.
  }
}

/**
 * Gives up a folder in which no change is written down, and deletes it unless another process has begun one meanwhile.
 * Never fails.
 * @returns whether it is deleted.
 */
export function leaveStore(root: string, lock: Lock): boolean {
  try {
    using store = openStore(root);
    using top = openFolder(root, []);
    for (const name of ownNames) tryTo(() => unlinkSync(store.at(name)));
    return leaveOpened(top, store, lock);
  } catch {
    abandonLock(lock);
    return false;
  }
}

function tryTo(work: () => void): boolean {
  try {
    patientlyNow(work);
    return true;
  } catch {
    // The folder is not there, another process uses it by now, or it stays: it does no harm.
    return false;
  }
}

/** Like `leaveStore`, where both folders are held open and nothing else is in the store. */
export function leaveOpened(top: Folder, store: Folder, lock: Lock): boolean {
  tryTo(() => unlinkSync(store.at(ignoreName)));
  dropLock(store, lock);
  return tryTo(() => rmdirSync(top.at(reservedName)));
}

export function namesInStore(store: Folder): readonly string[] {
  return system(reservedName, () => readdirSync(store.at(".")));
}

/** What is there to be deleted when nothing has to be undone any more. */
export function leftovers(store: Folder): readonly string[] {
  return namesInStore(store).filter((name) => !isLock(name) && name !== ignoreName);
}

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;

/**
 * Opens the log to write.
 * @throws {FilesystemError} "special_file" when it is no file: another program put it there.
 */
export function openLog(store: Folder): number {
  const there = statOf(store, logName);
  if (there?.isFile() === false) throw specialFile(`${reservedName}/${logName}`);
  // A pipe that is put there meanwhile would block without O_NONBLOCK.
  const flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
  const fd = system(reservedName, () => openSync(store.at(logName), flags, 0o600));
  if (system(reservedName, () => fstatSync(fd)).isFile()) return fd;
  closeSync(fd);
  throw specialFile(`${reservedName}/${logName}`);
}

export function writeAt(fd: number, bytes: Uint8Array, position: number): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at, position + at);
}

export const flushFile = promisify(fsync);

/** Resolves when a folder is on disk, where the system can be asked for that. */
export async function flushFolder({ fd }: Folder): Promise<void> {
  if (fd !== undefined) await flushFile(fd);
}

export function flushFolderNow({ fd }: Folder): void {
  if (fd !== undefined) fsyncSync(fd);
}

/** A folder of the tree; undefined where it is not there any more, or cannot be opened for good. */
export function folderIfThere(root: string, path: string): Folder | undefined {
  try {
    return openFolder(root, path === "" ? [] : path.split("/"));
  } catch (error) {
    if (!(error instanceof FilesystemError) || isPassing(error)) throw error;
    return undefined;
  }
}
