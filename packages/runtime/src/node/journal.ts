// 1. The journal is a folder of the root, there as long as there is something to undo: the log, a lock, and under
//    numbers what the changes displaced.
// 2. A change is in the log, on disk, before it happens. Without a log there is nothing to undo: deleting the log is
//    what makes changes stay.
// 3. Who comes after a dead owner undoes, in reverse order, what that one's log says; a crash meanwhile does no harm.
import { FilesystemError } from "@proviso/core";
import {
  closeSync,
  constants,
  fsync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";
import { reservedName } from "../resources/paths.ts";
import { putBack, type Change } from "./exchange.ts";
import { openFolder, statOf, system, type Folder } from "./folders.ts";
import { isLock, lockName, takeLock } from "./undo-lock.ts";
import { encodeRecord, header, readHistory, type UndoHistory, type UndoRecord } from "./undo-records.ts";
import { wipe } from "./wipe.ts";

/** The folder that a change is made in. */
export function folderOf({ path }: Pick<Change, "path">): string {
  return path.split("/").slice(0, -1).join("/");
}

export interface Journal {
  /** Holds the folder open. */
  open(): Folder;
  /** A name that nothing in the folder has. */
  fresh(): string;
  /** Resolves when it is on disk. */
  write(record: UndoRecord): Promise<void>;
  /** Resolves when these folders of the tree are on disk. */
  flush(folders: Iterable<string>): Promise<void>;
  /** Deletes what was displaced and is not needed any more. */
  forget(names: readonly string[]): Promise<void>;
  /** Makes all changes stay and takes the folder away. */
  close(): Promise<void>;
}

const log = "log";
const { O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
const flush = promisify(fsync);

/**
 * Begins a journal; what a dead owner left is undone first.
 * @throws {FilesystemError} "busy" when somebody else has one.
 */
export function beginJournal(root: string, takeOver: boolean): Journal {
  const { fresh, lock } = claim(root, takeOver);
  let size = 0;
  const open = (): Folder => openStore(root);
  const append = async (bytes: Uint8Array): Promise<void> => {
    using store = open();
    const fd = openLog(store);
    try {
      writeAt(fd, bytes, size);
      await Promise.all([flush(fd), flushFolder(store)]);
      size += bytes.length;
    } catch (error) {
      // What it told of does not happen.
      ftruncateSync(fd, size);
      throw error;
    } finally {
      closeSync(fd);
    }
  };
  return {
    open,
    fresh,
    async write(record) {
      if (size === 0) {
        await append(header);
        for (const top of openFolders(root, [""])) await flushFolder(top);
      }
      await append(encodeRecord(record));
    },
    async flush(folders) {
      for (const folder of openFolders(root, folders)) await flushFolder(folder);
    },
    async forget(names) {
      using store = open();
      await inSteps(wipe(store, names, fresh), store);
    },
    async close() {
      using store = open();
      if (size > 0) unlinkSync(store.at(log));
      await flushFolder(store);
      // What cannot be deleted now does no harm, and is tried again next time.
      await inSteps(wipe(store, leftovers(store), fresh), store).catch(() => {});
      leave(root, store, lock);
    },
  };
}

function openLog(store: Folder): number {
  return system(log, () => openSync(store.at(log), O_WRONLY | O_CREAT | O_NOFOLLOW, 0o600));
}

function writeAt(fd: number, bytes: Uint8Array, position: number): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at, position + at);
}

/** Undoes what a dead owner left; one that lives is let alone. @throws {FilesystemError} */
export function recover(root: string, takeOver: boolean): void {
  if (!isReachable(root)) return;
  using found = storeIfThere(root);
  if (found === undefined) return;
  try {
    const { lock } = claim(root, takeOver);
    using store = openStore(root);
    leave(root, store, lock);
  } catch (error) {
    if (!(error instanceof FilesystemError && error.reason === "busy")) throw error;
  }
}

function openStore(root: string): Folder {
  return openFolder(root, [reservedName]);
}

/** Whoever uses a root that is not is told then. */
function isReachable(root: string): boolean {
  try {
    using top = openFolder(root, []);
    return statOf(top, ".") !== undefined;
  } catch {
    return false;
  }
}

/** undefined where no such folder is. */
function storeIfThere(root: string): Folder | undefined {
  try {
    return openStore(root);
  } catch (error) {
    if (error instanceof FilesystemError && error.reason === "not_found") return undefined;
    throw error;
  }
}

const mostTries = 20;

/** The folder, with a lock of ours and nothing else in it. */
function claim(root: string, takeOver: boolean): { readonly lock: number; fresh(): string } {
  for (let tries = 0; tries < mostTries; tries++) {
    makeStore(root);
    const lock = lockAndUndo(root, takeOver);
    if (lock !== undefined) return lock;
  }
  throw new FilesystemError("Too many want to change the root at the same moment.", {
    reason: "busy",
    path: reservedName,
  });
}

function makeStore(root: string): void {
  using top = openFolder(root, []);
  const there = statOf(top, reservedName);
  if (there === undefined) {
    system(reservedName, () => mkdirSync(top.at(reservedName), { mode: 0o700, recursive: true }));
  } else if (!there.isDirectory()) {
    const message = `${reservedName} is in the way: a folder of that name is needed to undo changes. Move it elsewhere.`;
    throw new FilesystemError(message, { reason: "failed", path: reservedName });
  }
}

/** undefined: somebody was quicker. */
function lockAndUndo(root: string, takeOver: boolean): { readonly lock: number; fresh(): string } | undefined {
  using store = storeIfThere(root);
  if (store === undefined) return undefined;
  const hasLog = (): boolean => statOf(store, log) !== undefined;
  const lock = takeLock(store, hasLog(), takeOver);
  if (lock === undefined) return undefined;
  try {
    const history = hasLog() ? historyIn(store) : undefined;
    const fresh = numbersAfter(readdirSync(store.at(".")), history?.changes ?? []);
    if (history !== undefined) undoAll(root, store, history, fresh);
    const left = readdirSync(store.at(".")).filter((name) => name !== lockName(lock));
    try {
      for (const _ of wipe(store, left, fresh));
    } catch {
      // Does no harm, and is tried again next time.
    }
    // Tools that look at the folder from outside are asked to pass it over.
    writeFileSync(store.at(".gitignore"), "*\n");
    return { lock, fresh };
  } catch (error) {
    unlinkSync(store.at(lockName(lock)));
    throw error;
  }
}

function historyIn(store: Folder): UndoHistory {
  const history = readHistory(readFileSync(store.at(log)));
  if (history !== undefined) return history;
  const message = "The root has unfinished changes of another version of Proviso, which has to undo them.";
  throw new FilesystemError(message, { reason: "busy", path: reservedName });
}

/** Names that nobody has, or will look for. */
function numbersAfter(names: readonly string[], changes: readonly Change[]): () => string {
  const taken = [...names, ...changes.flatMap(({ was, now }) => [was, now])];
  let last = taken.reduce((most, name) => Math.max(most, Number(name) || 0), 0);
  return () => String(++last);
}

function undoAll(root: string, store: Folder, { changes, kept, size }: UndoHistory, fresh: () => string): void {
  const fd = openLog(store);
  try {
    let end = size;
    for (let length = changes.length - 1; length >= kept; length--) {
      const change = changes[length] as Change;
      putBack(root, store, change, change.now ?? fresh());
      for (const folder of openFolders(root, [folderOf(change)])) if (folder.fd !== undefined) fsyncSync(folder.fd);
      // One is told to be undone before the next one is: it could not be told apart any more.
      const record = encodeRecord({ length, kept });
      writeAt(fd, record, end);
      fsyncSync(fd);
      end += record.length;
    }
  } finally {
    closeSync(fd);
  }
  unlinkSync(store.at(log));
}

/** Also when somebody else has begun one meanwhile. */
function leave(root: string, store: Folder, lock: number): void {
  for (const name of [".gitignore", lockName(lock)]) {
    if (statOf(store, name) !== undefined) unlinkSync(store.at(name));
  }
  using top = openFolder(root, []);
  try {
    rmdirSync(top.at(reservedName));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST" && code !== "ENOENT") throw error;
  }
}

function leftovers(store: Folder): readonly string[] {
  return readdirSync(store.at(".")).filter((name) => !isLock(name) && name !== ".gitignore");
}

const stepsAtOnce = 200;

/** Lets others have their turn now and then. */
async function inSteps(work: Generator<void>, store: Folder): Promise<void> {
  for (let steps = 1; work.next().done !== true; steps++) {
    if (steps % stepsAtOnce === 0) await flushFolder(store);
  }
}

/** On disk, where the system can be asked for that. */
async function flushFolder({ fd }: Folder): Promise<void> {
  if (fd !== undefined) await flush(fd);
}

/** These folders, open, as far as they are still there. */
function* openFolders(root: string, paths: Iterable<string>): Generator<Folder> {
  for (const path of paths) {
    try {
      using folder = openFolder(root, path === "" ? [] : path.split("/"));
      yield folder;
    } catch (error) {
      if (!(error instanceof FilesystemError)) throw error;
    }
  }
}
