// 1. The owner is who made the lock of the highest number. A lock is made whole, with its owner in it, or not at all.
// 2. Who takes a dead owner's place makes the next number, so that of several only one does, and then looks whether the
//    dead one's lock is still there: else the place was taken and left again meanwhile.
import { FilesystemError } from "@proviso/core";
import { isRecord, parseJson } from "@proviso/core/provider";
import { readdirSync, readlinkSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { reservedName, decodeText } from "@proviso/runtime/internal";
import { lacksDescriptors, lacksRoom, system, systemError } from "./faults.ts";
import { identityOf, readOwn, statOf, type Folder } from "./folders.ts";
import { patientlyNow } from "./patience.ts";
import { lifeOf, thisProcess, type Owner } from "./owner.ts";
import { withRoomOf } from "./undo-reserve.ts";

const prefix = "lock-";

export function isLock(name: string): boolean {
  return name.startsWith(prefix);
}

function lockName(number: number): string {
  return `${prefix}${number}`;
}

/** A lock of this process. */
export interface Lock {
  readonly name: string;
  /** Distinguishes the lock from those of other folders. */
  readonly key: string;
}

/** Locks of this process that nothing holds any more, and that could not be deleted. */
const abandoned = new Set<string>();

/**
 * Makes a lock. Returns undefined where another process was quicker: look again then.
 * @throws {FilesystemError} "busy" when another process uses the folder, or may use it.
 */
export function takeLock(store: Folder, hasLog: boolean, takeOver: boolean): Lock | undefined {
  const held = highestLock(store);
  if (held === undefined) return undefined;
  const { device, inode } = identityOf(store);
  const lockOf = (number: number): Lock => ({ name: lockName(number), key: `${device} ${inode} ${number}` });
  const text = held === 0 ? undefined : readLock(store, held);
  if (held > 0 && text === undefined) return undefined;
  const owner = text === undefined ? undefined : ownerIn(text);
  const without = text === undefined && !hasLog ? "dead" : "unknown";
  const isAbandoned = text === ownText() && abandoned.has(lockOf(held).key);
  const life = isAbandoned ? "dead" : owner === undefined ? without : lifeOf(owner);
  if (life === "alive" || (life === "unknown" && !takeOver)) throw busy(owner, life);
  if (!withRoomOf(store, () => makeLock(store, held + 1))) return undefined;
  const made = lockOf(held + 1);
  try {
    if (held === 0 || readLock(store, held) === text) return made;
  } catch (error) {
    dropLock(store, made);
    throw error;
  }
  dropLock(store, made);
  return undefined;
}

/** Never fails: where it cannot be deleted, this process may take its place. */
export function dropLock(store: Folder, lock: Lock): void {
  try {
    patientlyNow(() => unlinkSync(store.at(lock.name)));
  } catch {
    abandonLock(lock);
  }
}

/** The folder cannot be reached: this process may take the lock's place. */
export function abandonLock({ key }: Lock): void {
  abandoned.add(key);
}

function ownText(): string {
  return JSON.stringify(thisProcess());
}

/** 0: there is none; undefined: the folder is gone. */
function highestLock(store: Folder): number | undefined {
  try {
    return Math.max(0, ...readdirSync(store.at(".")).filter(isLock).map(numberOf));
  } catch {
    return undefined;
  }
}

function numberOf(name: string): number {
  return Number(name.slice(prefix.length)) || 0;
}

function makeLock(store: Folder, number: number): boolean {
  const text = ownText();
  try {
    symlinkSync(text, store.at(lockName(number)));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The folder itself may be gone.
    if (code === "EEXIST" || code === "ENOENT") return false;
    if (lacksRoom(error) || lacksDescriptors(error)) throw systemError(reservedName, error);
    // No links here.
    system(reservedName, () => writeFileSync(store.at(lockName(number)), text, { flag: "wx" }));
  }
  return true;
}

const longestLock = 4_096;

/** undefined: there is none. @throws {FilesystemError} when it is neither a link nor a file. */
function readLock(store: Folder, number: number): string | undefined {
  const name = lockName(number);
  const stats = statOf(store, name);
  // Not looked at again: it may be made meanwhile.
  if (stats === undefined) return undefined;
  if (!stats.isSymbolicLink()) {
    const bytes = readOwn(store, name, longestLock);
    return bytes === undefined ? undefined : decodeText(bytes);
  }
  try {
    return readlinkSync(store.at(name));
  } catch {
    return undefined;
  }
}

function ownerIn(text: string): Owner | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok || !isRecord(parsed.value)) return undefined;
  const { host, boot, space, pid, startedAt } = parsed.value as Partial<Owner>;
  const hasTexts = [host, boot, space, startedAt].every((value) => typeof value === "string");
  return hasTexts && Number.isSafeInteger(pid) ? (parsed.value as unknown as Owner) : undefined;
}

function busy(owner: Owner | undefined, life: "alive" | "unknown"): FilesystemError {
  const who = owner === undefined ? "an owner that left no name" : `process ${owner.pid} on ${owner.host}`;
  const message =
    life === "alive"
      ? `The root is being changed by another filesystem, of ${who}: one at a time. Try again when that is done.`
      : `The root has unfinished changes of ${who}, which cannot be looked for from here. If that is gone, open the filesystem with { takeOver: true } to undo them.`;
  return new FilesystemError(message, { reason: "busy", path: reservedName });
}
