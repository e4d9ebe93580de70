// 1. Who wants to change a root makes its journal folder his own first, and undoes what a dead owner left in it.
// 2. A log is believed in the very folder that it was written in: one that came with a copy, or with an archive, is not.
// 3. Undoing goes through the log from its end, and cuts off each change once it is undone; a crash meanwhile does no harm.
import { FilesystemError } from "@proviso/core";
import { closeSync, fsyncSync, ftruncateSync, unlinkSync } from "node:fs";
import { reservedName } from "@proviso/runtime/internal";
import { folderOf, putBack, type Change } from "./exchange.ts";
import { codeOf, system } from "./faults.ts";
import { identityOf, openFolder, readOwn, statOf, type Folder } from "./folders.ts";
import { patientlyNow } from "./patience.ts";
import { dropLock, takeLock, type Lock } from "./undo-lock.ts";
import { longestHeader, readHistory, readIdentity, type UndoHistory } from "./undo-records.ts";
import { withRoomOf } from "./undo-reserve.ts";
import {
  flushFolderNow,
  folderIfThere,
  leaveStore,
  logName,
  makeStore,
  namesInStore,
  openLog,
  storeIfThere,
} from "./undo-store.ts";
import { wipe } from "./wipe.ts";

/**
 * Undoes what a dead owner left; one that lives is let alone.
 * @returns whether something of it may be left: then it is to be called again.
 * @throws {FilesystemError} when it cannot be undone.
 */
export function recover(root: string, takeOver: boolean): boolean {
  return patientlyNow(() => recoverOnce(root, takeOver));
}

function recoverOnce(root: string, takeOver: boolean): boolean {
  if (!isReachable(root)) return false;
  {
    using found = storeIfThere(root);
    if (found === undefined) return false;
  }
  try {
    return !leaveStore(root, claim(root, takeOver).lock);
  } catch (error) {
    if (error instanceof FilesystemError && error.reason === "busy") return false;
    throw error;
  }
}

/**
 * Whether the root is a folder that this process may open. A root that is not fails at its first use; any other fault
 * decides nothing and is thrown.
 */
function isReachable(root: string): boolean {
  try {
    using top = openFolder(root, []);
    return statOf(top, ".") !== undefined;
  } catch (error) {
    const isFault = error instanceof FilesystemError && error.reason === "failed";
    if (isFault && !["EACCES", "EPERM"].includes(codeOf(error) ?? "")) throw error;
    return false;
  }
}

const mostTries = 20;

/** What one has who owns the folder. */
export interface Claim {
  readonly lock: Lock;
  /** A name that nothing in the folder has. */
  fresh(): string;
}

/**
 * Claims the folder: it has a lock of ours and nothing else in it then.
 * @throws {FilesystemError} "busy" when another process has it, or when its content cannot be trusted.
 */
export function claim(root: string, takeOver: boolean): Claim {
  for (let tries = 0; tries < mostTries; tries++) {
    makeStore(root);
    const claimed = lockAndUndo(root, takeOver);
    if (claimed !== undefined) return claimed;
  }
  throw busy("Too many want to change the root at the same moment.");
}

/** Takes the lock and undoes what a dead owner left; undefined where another process was quicker. */
function lockAndUndo(root: string, takeOver: boolean): Claim | undefined {
  using store = storeIfThere(root);
  if (store === undefined) return undefined;
  const lock = takeLock(store, assertOwn(store, takeOver), takeOver);
  if (lock === undefined) return undefined;
  try {
    return { lock, fresh: system(reservedName, () => undone(root, store, lock, takeOver)) };
  } catch (error) {
    dropLock(store, lock);
    throw error;
  }
}

function hasLog(store: Folder): boolean {
  return statOf(store, logName) !== undefined;
}

/**
 * Whether there is a log.
 * @throws {FilesystemError} when it was not written in this folder, or by another version.
 */
function assertOwn(store: Folder, takeOver: boolean): boolean {
  const found = readIdentity(readOwn(store, logName, longestHeader) ?? new Uint8Array());
  if (found === undefined) return false;
  if (found === "another version") {
    throw busy("The root has unfinished changes of another version of Proviso, which has to undo them.");
  }
  const { device, inode } = identityOf(store);
  // One disk may have another number after a restart.
  if (found.inode === inode && (found.device === device || takeOver)) return true;
  const way =
    found.inode === inode ? "If that is not so, open the filesystem with { takeOver: true } to undo them." : "";
  throw busy(
    `The root has a folder ${reservedName} with unfinished changes that was not made there: it was copied or unpacked from elsewhere. Delete it, or move it away, to change the root. ${way}`.trimEnd(),
  );
}

function busy(message: string): FilesystemError {
  return new FilesystemError(message, { reason: "busy", path: reservedName });
}

/**
 * Undoes what is in the log and deletes all that is left, but for the lock.
 * @returns names that are not in use and that no undoing will look for.
 */
function undone(root: string, store: Folder, lock: Lock, takeOver: boolean): () => string {
  // The folder may be another one by now.
  assertOwn(store, takeOver);
  const history = readHistory(readOwn(store, logName, Infinity) ?? new Uint8Array());
  const changes = history?.changes.map(({ change }) => change) ?? [];
  const fresh = numbersAfter(namesInStore(store), changes);
  if (history !== undefined) undoAll(root, store, history, fresh);
  if (hasLog(store)) unlinkSync(store.at(logName));
  const left = namesInStore(store).filter((name) => name !== lock.name);
  wipeNow(store, left, fresh);
  return fresh;
}

function numbersAfter(names: readonly string[], changes: readonly Change[]): () => string {
  const taken = [...names, ...changes.flatMap(({ was, now }) => [was, now])];
  let last = taken.reduce((most, name) => Math.max(most, Number(name) || 0), 0);
  return () => String(++last);
}

function undoAll(root: string, store: Folder, { changes, kept }: UndoHistory, fresh: () => string): void {
  const fd = openLog(store);
  try {
    for (const { change, at } of changes.slice(kept).toReversed()) {
      const displaced = change.now ?? fresh();
      withRoomOf(store, () => putBack(root, store, change, displaced));
      {
        using folder = folderIfThere(root, folderOf(change));
        if (folder !== undefined) flushFolderNow(folder);
      }
      // What was new gives its room back at once.
      if (change.now === undefined) wipeNow(store, [displaced], fresh);
      // Each record is cut off before the next change is undone; otherwise it would not be known which of the two is
      // undone.
      ftruncateSync(fd, at);
      fsyncSync(fd);
    }
  } finally {
    closeSync(fd);
  }
}

function wipeNow(store: Folder, names: readonly string[], fresh: () => string): void {
  try {
    for (const _ of wipe(store, names, fresh));
  } catch {
    // Does no harm, and is tried again next time.
  }
}
