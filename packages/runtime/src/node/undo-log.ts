// 1. A position is a number of changes since the filesystem was made; a snapshot is a position. To go back to one, the
//    changes after it are undone, the last first.
// 2. Undoing is a change too where a newer snapshot still lives, so that one can go forward again; else what is undone
//    is forgotten.
// 3. A crash undoes what came after the oldest transaction that is still open, and nothing else.
// 4. What no living snapshot can lead back to is deleted: without snapshots there is no journal.
// 5. Everything here happens one after the other: whoever calls it sees to that.
import { FilesystemError } from "@proviso/core";
import { messageOf } from "../failures.ts";
import { isThere, putBack, type Change } from "./exchange.ts";
import { statOf, type Folder } from "./folders.ts";
import { beginJournal, folderOf, type Journal } from "./journal.ts";

/** A point to go back to. */
export interface Mark {
  position: number;
  /** A crash goes back to it. */
  readonly open: boolean;
}

export interface UndoLog {
  readonly root: string;
  readonly takeOver: boolean;
  readonly marks: Set<Mark>;
  journal: Journal | undefined;
  /** The position of the first change that is known. */
  first: number;
  /** The position of the journal's first record. */
  base: number;
  changes: Change[];
  /** How many changes the journal counts, and how many of these stay whatever happens. */
  written: { readonly length: number; readonly kept: number };
  /** Folders that are not on disk yet. */
  readonly touched: Set<string>;
  /** In the journal for nothing. */
  displaced: string[];
  /** Where undoing got stuck: until it can be ended, nothing else is changed, and nothing is forgotten. */
  stuck: { readonly mark: Mark; readonly error: unknown } | undefined;
}

export function undoLog(root: string, takeOver: boolean): UndoLog {
  return {
    root,
    takeOver,
    marks: new Set(),
    journal: undefined,
    first: 0,
    base: 0,
    changes: [],
    written: { length: 0, kept: 0 },
    touched: new Set(),
    displaced: [],
    stuck: undefined,
  };
}

export function mark(log: UndoLog, open: boolean): Mark {
  const made = { position: end(log), open };
  log.marks.add(made);
  return made;
}

/** It is not gone back to any more. */
export async function release(log: UndoLog, taken: Mark): Promise<void> {
  if (log.stuck !== undefined) return;
  log.marks.delete(taken);
  await settle(log);
}

/** Runs the work as a transaction of its own, unless one is open; then lets stay, and forgets, what it can. */
export async function within(log: UndoLog, work: () => Promise<void>): Promise<void> {
  assertNotStuck(log);
  const isOpen = [...log.marks].some(({ open }) => open);
  const own = isOpen ? undefined : mark(log, true);
  try {
    await work();
  } finally {
    if (own !== undefined) log.marks.delete(own);
    await settle(log);
  }
}

/** Begun if need be. @throws {FilesystemError} "busy" when somebody else has one. */
export function journalOf(log: UndoLog): Journal {
  if (log.journal === undefined) {
    log.journal = beginJournal(log.root, log.takeOver);
    log.base = end(log);
    log.written = { length: 0, kept: 0 };
  }
  return log.journal;
}

/**
 * Writes the change down, then lets it happen. The work is synchronous, and says when it has begun: if it fails then,
 * it is undone.
 */
export async function perform(
  log: UndoLog,
  store: Folder,
  change: Change,
  work: (begun: () => void) => void,
): Promise<void> {
  await journalOf(log).write(change);
  log.written = { ...log.written, length: log.written.length + 1 };
  log.changes.push(change);
  log.touched.add(folderOf(change));
  let hasBegun = false;
  try {
    work(() => void (hasBegun = true));
  } catch (error) {
    if (hasBegun) undo(log, store, change);
    log.changes.pop();
    log.displaced.push(change.was);
    throw error;
  }
}

/** When it fails, nothing can be changed until it is asked for again and ends well. */
export async function restore(log: UndoLog, taken: Mark): Promise<void> {
  if (log.stuck?.mark === taken) log.stuck = undefined;
  assertNotStuck(log);
  if (taken.position === end(log)) return;
  try {
    using store = journalOf(log).open();
    const hasNewer = [...log.marks].some(({ position }) => position > taken.position);
    if (hasNewer) await within(log, () => goBackAndKeep(log, store, taken));
    else await goBack(log, store, taken.position);
  } catch (error) {
    log.stuck = { mark: taken, error };
    throw error;
  }
  await settle(log);
}

function assertNotStuck({ stuck }: UndoLog): void {
  if (stuck === undefined) return;
  const why = messageOf(stuck.error);
  const message = `Nothing can be changed: earlier changes could not be undone. ${why} Restore the same snapshot again.`;
  throw new FilesystemError(message, { reason: "failed", path: "", cause: stuck.error });
}

async function goBack(log: UndoLog, store: Folder, position: number): Promise<void> {
  // A crash from here on ends it: half of it would be neither before nor after.
  const kept = Math.min(position, lowest(log, isOpen));
  await writeCounts(log, kept);
  while (end(log) > position) {
    const change = log.changes.at(-1) as Change;
    assertKept(store, change);
    undo(log, store, change);
    log.changes.pop();
    // One is told to be undone before the next one is: it could not be told apart any more.
    await writeCounts(log, kept);
  }
}

async function goBackAndKeep(log: UndoLog, store: Folder, taken: Mark): Promise<void> {
  for (const change of log.changes.slice(taken.position - log.first).toReversed()) {
    assertKept(store, change);
    // What is in its place goes home, so that older changes find it there.
    const { path, was, now = journalOf(log).fresh() } = change;
    const inverse = { path, had: isThere(log.root, change), was: now, now: was };
    await perform(log, store, inverse, (begun) => {
      begun();
      putBack(log.root, store, change, now);
    });
  }
  taken.position = end(log);
}

/** What is in its place goes where it came from, or can be deleted. */
function undo(log: UndoLog, store: Folder, change: Change): void {
  const { now = journalOf(log).fresh() } = change;
  if (change.now === undefined) log.displaced.push(now);
  log.touched.add(folderOf(change));
  putBack(log.root, store, change, now);
}

/** Lets stay what no open transaction can undo, and forgets what no snapshot can. */
async function settle(log: UndoLog): Promise<void> {
  if (log.journal === undefined) return;
  const oldest = lowest(log, () => true);
  if (oldest === end(log)) {
    await flush(log);
    await log.journal.close();
    log.journal = undefined;
    [log.changes, log.first, log.displaced] = [[], oldest, []];
    return;
  }
  await writeCounts(log, lowest(log, isOpen));
  const gone = log.changes.splice(0, oldest - log.first);
  log.first = oldest;
  const names = [...log.displaced, ...gone.map(({ was }) => was)];
  log.displaced = [];
  if (names.length > 0) await log.journal.forget(names);
}

async function writeCounts(log: UndoLog, kept: number): Promise<void> {
  const counts = { length: end(log) - log.base, kept: kept - log.base };
  if (counts.length === log.written.length && counts.kept === log.written.kept) return;
  // On disk before it is forgotten how to undo it.
  await flush(log);
  await journalOf(log).write(counts);
  log.written = counts;
}

async function flush(log: UndoLog): Promise<void> {
  await journalOf(log).flush(log.touched);
  log.touched.clear();
}

function end({ first, changes }: UndoLog): number {
  return first + changes.length;
}

function isOpen({ open }: Mark): boolean {
  return open;
}

/** The lowest position of the marks that fit; where there is none, the end. */
function lowest(log: UndoLog, fits: (mark: Mark) => boolean): number {
  return Math.min(end(log), ...[...log.marks].filter(fits).map(({ position }) => position));
}

/** @throws {FilesystemError} when the journal lost it: nothing is undone that could not be wholly undone. */
function assertKept(store: Folder, { path, had, was }: Change): void {
  if (!had || statOf(store, was) !== undefined) return;
  throw new FilesystemError(`${path} cannot be put back: what was there is gone from the journal.`, {
    reason: "failed",
    path,
  });
}
