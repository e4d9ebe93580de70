// 1. The journal is a folder of the root, there as long as there is something to undo: the log, a lock, and under
//    numbers what the changes displaced.
// 2. A change is in the log, on disk, before it happens. Without a log there is nothing to undo: deleting the log is
//    what makes changes stay.
// 3. What undoing needs is there before a change happens: the log and the folder are held open, and room and
//    descriptors are set aside.
import { FilesystemError } from "@proviso/core";
import { closeSync, ftruncateSync, unlinkSync } from "node:fs";
import { reservedName } from "@proviso/runtime/internal";
import type { Change } from "./exchange.ts";
import { systemAsync } from "./faults.ts";
import { identityOf, openFolder, sameThing, statOf, type Folder, type Identity } from "./folders.ts";
import { patiently } from "./patience.ts";
import { claim, type Claim } from "./recovery.ts";
import { encodeChange, encodeHeader, encodeKept } from "./undo-records.ts";
import { reserveIn, type Reserve } from "./undo-reserve.ts";
import {
  askToIgnore,
  flushFile,
  flushFolder,
  folderIfThere,
  leaveOpened,
  leaveStore,
  leftovers,
  logName,
  openLog,
  openStore,
  writeAt,
} from "./undo-store.ts";
import { wipe } from "./wipe.ts";

export interface UndoJournal {
  /** Held open: not to be closed. @throws {FilesystemError} when it is not in its place any more. */
  store(): Folder;
  /** A name that nothing in the folder has. */
  fresh(): string;
  /** Resolves when it is on disk, and all that undoing it may need is set aside. */
  write(change: Change): Promise<void>;
  /** Records that no more than so many of the changes happened; needs no room. Resolves when that is on disk. */
  cut(length: number): Promise<void>;
  /** Records that so many of the changes stay whatever happens; needs no room. Resolves when that is on disk. */
  keep(count: number): Promise<void>;
  /** Runs a step of undoing, where it has to be with what was set aside: it may be run twice. */
  undoing<T>(step: () => T): T;
  /** Resolves when these folders of the tree are on disk. */
  flush(folders: Iterable<string>): Promise<void>;
  /** Deletes what was displaced and is not needed any more, as far as it can be. */
  forget(names: readonly string[]): Promise<void>;
  /** Makes all changes stay and takes the folder away. */
  close(): Promise<void>;
  /** All changes stay: nothing can be written down any more. */
  isOver(): boolean;
  /** Whether the journal is over and its folder could not be deleted. */
  isLeft(): boolean;
}

/**
 * Begins a journal; what a dead owner left is undone first.
 * @throws {FilesystemError} "busy" when another process has one.
 */
export function beginUndoJournal(root: string, takeOver: boolean): UndoJournal {
  const claimed = claim(root, takeOver);
  const begun: Disposable[] = [];
  try {
    const store = openStore(root);
    begun.push(store);
    askToIgnore(store);
    const fd = openLog(store);
    begun.push({ [Symbol.dispose]: () => closeSync(fd) });
    const reserve = reserveIn(store, reservedName);
    begun.push({ [Symbol.dispose]: reserve.close });
    reserve.fill();
    return journalOf(root, { ...claimed, store, reserve, fd, identity: identityOf(store) });
  } catch (error) {
    for (const each of begun) each[Symbol.dispose]();
    // Nothing was changed: who comes next deletes what is in it.
    leaveStore(root, claimed.lock);
    throw error;
  }
}

interface Parts extends Claim {
  readonly store: Folder;
  readonly reserve: Reserve;
  /** The descriptor of the log file. */
  readonly fd: number;
  readonly identity: Identity;
}

function journalOf(root: string, { store, reserve, fd, identity, lock, fresh }: Parts): UndoJournal {
  const log = logIn(root, store, fd, identity);
  const internal = <T>(work: () => Promise<T>): Promise<T> => systemAsync(reservedName, work);
  const forget = async (names: readonly string[]): Promise<void> => {
    // What cannot be deleted now does no harm, and is tried again when the journal ends.
    await inSteps(wipe(store, names, fresh), store).catch(() => {});
  };
  let [isOver, isLeft] = [false, false];
  return {
    store() {
      reserve.spend(() => assertInPlace(root, store));
      return store;
    },
    fresh,
    write: (change) =>
      internal(async () => {
        // A change that is made while going back counts as undoing, although one can go forward again: it may use what
        // was set aside.
        const isUndoing = change.now !== undefined;
        if (!isUndoing) reserve.fill();
        try {
          await log.append(change);
        } catch (error) {
          if (!isUndoing || !reserve.giveWay(error)) throw error;
          await log.append(change);
        }
      }),
    cut: (length) => internal(() => log.cut(length)),
    keep: (count) => internal(() => log.keep(count)),
    undoing: (step) => reserve.spend(step),
    flush: (folders) =>
      internal(async () => {
        for (const path of folders) {
          using folder = reserve.spend(() => folderIfThere(root, path));
          if (folder !== undefined) await flushFolder(folder);
        }
      }),
    forget,
    close: () =>
      internal(async () => {
        using top = reserve.spend(() => openFolder(root, []));
        unlinkSync(store.at(logName));
        [isOver, isLeft] = [true, true];
        reserve.close();
        closeSync(fd);
        try {
          await patiently(root, () => flushFolder(store));
          await patiently(root, () => inSteps(wipe(store, leftovers(store), fresh), store)).catch(() => {});
        } finally {
          isLeft = !leaveOpened(top, store, lock);
          store[Symbol.dispose]();
        }
      }),
    isOver: () => isOver,
    isLeft: () => isLeft,
  };
}

/** Checks that the store was not moved away or deleted. */
function assertInPlace(root: string, store: Folder): void {
  const here = statOf(store, ".", reservedName);
  using top = openFolder(root, []);
  const there = statOf(top, reservedName);
  if (here !== undefined && there !== undefined && sameThing(here, there)) return;
  throw new FilesystemError(`${reservedName}, which is needed to undo changes, is not in its place any more.`, {
    reason: "failed",
    path: reservedName,
  });
}

/** The changes that are written down. Each function resolves when what it wrote is on disk. */
function logIn(
  root: string,
  store: Folder,
  fd: number,
  identity: Identity,
): Pick<UndoJournal, "cut" | "keep"> & { append(change: Change): Promise<void> } {
  /** Where each change begins. */
  const starts: number[] = [];
  let [size, turn, kept, isFlushed] = [0, 0, 0, true];
  /** Something that does not count may stand behind the end; the folder of the log may not be on disk yet. */
  let [hasTail, isNamed] = [false, false];
  const add = async (bytes: Uint8Array): Promise<void> => {
    hasTail = true;
    try {
      writeAt(fd, bytes, size);
      await Promise.all([flushFile(fd), flushFolder(store)]);
      size += bytes.length;
    } catch (error) {
      // The change does not happen.
      ftruncateSync(fd, size);
      hasTail = false;
      throw error;
    }
    hasTail = false;
  };
  const cut = async (length: number): Promise<void> => {
    const start = starts[length] ?? size;
    if (start < size || hasTail) {
      ftruncateSync(fd, start);
      [size, starts.length, isFlushed, hasTail] = [start, Math.min(length, starts.length), false, false];
    }
    if (!isFlushed) await flushFile(fd);
    isFlushed = true;
  };
  return {
    async append(change) {
      if (size === 0) await add(encodeHeader(identity));
      if (!isNamed) {
        using top = openFolder(root, []);
        await flushFolder(top);
        isNamed = true;
      }
      const start = size;
      await add(encodeChange(change));
      starts.push(start);
    },
    cut,
    async keep(count) {
      if (count === kept) return;
      const { bytes, at } = encodeKept(identity, turn + 1, count);
      writeAt(fd, bytes, at);
      await flushFile(fd);
      [turn, kept] = [turn + 1, count];
    },
  };
}

const stepsAtOnce = 200;

/** Lets others have their turn now and then. */
async function inSteps(work: Generator<void>, store: Folder): Promise<void> {
  for (let steps = 1; work.next().done !== true; steps++) {
    if (steps % stepsAtOnce === 0) await flushFolder(store);
  }
}
