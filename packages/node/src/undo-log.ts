// 1. A position is a number of changes since the filesystem was made; a snapshot is a position. To go back to one, the
//    changes after it are undone, the last first.
// 2. Undoing is a change too where a newer snapshot still lives, so that one can go forward again; else what is undone
//    is forgotten.
// 3. A crash undoes what came after the oldest transaction that is still open, and nothing else.
// 4. What no living snapshot can lead back to is deleted: without snapshots there is no journal.
// 5. Where undoing gets stuck, whatever comes next tries first to end it, and changes nothing until that goes well.
// 6. Everything here happens one after the other: the callers see to that.
import { FilesystemError } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { folderOf, isThere, putBack, type Change } from "./exchange.ts";
import { systemError } from "./faults.ts";
import { statOf, type Folder } from "./folders.ts";
import { patiently } from "./patience.ts";
import {
  end,
  flush,
  isOpen,
  journalOf,
  lowest,
  mark,
  settle,
  recordKept,
  type Mark,
  type UndoLog,
} from "./undo-state.ts";

/** Releases a mark: the log never goes back to it again. */
export async function release(log: UndoLog, taken: Mark): Promise<void> {
  if (await isStuck(log)) return void log.stuck?.released.add(taken);
  log.marks.delete(taken);
  await patiently(log.root, () => settle(log));
}

/**
 * Runs the work as a transaction of its own, unless one is open; then lets stay, and forgets, what it can. Within an open
 * one a change that happened does not fail because of that: the next use tries it again.
 */
export async function within(log: UndoLog, work: () => Promise<void>): Promise<void> {
  await assertNotStuck(log);
  const hasOpen = [...log.marks].some(isOpen);
  const own = hasOpen ? undefined : mark(log, true);
  try {
    await work();
  } finally {
    if (own !== undefined) log.marks.delete(own);
    if (log.stuck === undefined) await (own === undefined ? catchUp(log) : patiently(log.root, () => settle(log)));
  }
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
  const journal = journalOf(log);
  // What a failed change left in it would count.
  await journal.cut(end(log) - log.base);
  await journal.write(change);
  log.changes.push(change);
  log.touched.add(folderOf(change));
  try {
    work(() => void (log.hasHalf = true));
    log.hasHalf = false;
  } catch (error) {
    await withdraw(log, store);
    throw error;
  }
}

/** Takes back the last change, which failed. */
async function withdraw(log: UndoLog, store: Folder): Promise<void> {
  const change = log.changes.at(-1) as Change;
  try {
    await patiently(log.root, () => {
      if (log.hasHalf) undo(log, store, change);
    });
  } catch (error) {
    log.stuck ??= { mark: undefined, error, released: new Set() };
    throw error;
  }
  log.hasHalf = false;
  log.changes.pop();
  // The name that an undoing keeps something under is one that others of the changes go by: what has it is needed.
  if (change.now === undefined) log.displaced.push(change.was);
  await recordKept(log, log.kept);
}

/** When it fails, nothing can be changed until it goes well: everything that comes next tries that first. */
export async function restore(log: UndoLog, taken: Mark): Promise<void> {
  if (log.stuck?.mark !== taken) await assertNotStuck(log);
  await undoTo(log, taken);
}

/** Also takes back a change that failed on its way. */
async function undoTo(log: UndoLog, taken: Mark | undefined): Promise<void> {
  const released = log.stuck?.released ?? new Set<Mark>();
  try {
    await patiently(log.root, async () => {
      if (log.hasHalf) await withdraw(log, journalOf(log).store());
      if (taken !== undefined && taken.position < end(log)) await goTo(log, taken, released);
      for (const mark of released) log.marks.delete(mark);
      await settle(log);
    });
    log.stuck = undefined;
  } catch (cause) {
    const error = taken === undefined ? cause : stoppedHalfway(log, taken, cause);
    log.stuck = { mark: taken, error, released };
    throw error;
  }
}

const mostNamed = 5;

/** The error with the paths that are not as they were at the mark; what is no error of the system stays as it is. */
function stoppedHalfway(log: UndoLog, { position }: Mark, cause: unknown): unknown {
  const why = systemError("", cause);
  const paths = changedPaths(log.changes.slice(position - log.first));
  if (!(why instanceof FilesystemError) || paths.length === 0) return why;
  const more = paths.length > mostNamed ? ` and ${paths.length - mostNamed} more` : "";
  const what = paths.length === 1 ? "path is" : "paths are";
  const message = `${paths.length} ${what} not restored: ${paths.slice(0, mostNamed).join(", ")}${more}. ${why.message}`;
  return new FilesystemError(message, { reason: why.reason, path: why.path, cause: why.cause });
}

/** The paths that the changes leave changed: one that is kept so that it can be done again takes back the one before. */
function changedPaths(changes: readonly Change[]): readonly string[] {
  const left: Change[] = [];
  for (const change of changes) {
    const last = left.at(-1);
    if (last !== undefined && last.path === change.path && last.was === change.now) left.pop();
    else left.push(change);
  }
  return [...new Set(left.map(({ path }) => path))];
}

/** What is undone is kept for newer snapshots, but not for those that were released while it was stuck. */
async function goTo(log: UndoLog, taken: Mark, released: ReadonlySet<Mark>): Promise<void> {
  const store = journalOf(log).store();
  const hasNewer = [...log.marks].some((each) => each.position > taken.position && !released.has(each));
  if (hasNewer) await goBackAndKeep(log, store, taken);
  else await goBack(log, store, taken.position);
}

/** Whether undoing is still stuck when it was tried again. */
async function isStuck(log: UndoLog): Promise<boolean> {
  if (log.stuck === undefined) return false;
  try {
    await undoTo(log, log.stuck.mark);
    return false;
  } catch {
    return true;
  }
}

/** Whether something that failed earlier is to be tried again: see `catchUp`. */
export function isBehind(log: UndoLog): boolean {
  return log.stuck !== undefined || log.isUnsettled || log.isLeft;
}

/** Tries again what failed earlier: undoing, letting changes stay, deleting the journal. Never fails. */
export async function catchUp(log: UndoLog): Promise<void> {
  if (await isStuck(log)) return;
  // What fails again is tried again at the next use.
  await patiently(log.root, () => settle(log)).catch(() => {});
}

async function assertNotStuck(log: UndoLog): Promise<void> {
  if (!(await isStuck(log))) return;
  const error = log.stuck?.error;
  const message = `Nothing can be changed: earlier changes could not be undone, and this is tried again each time. ${messageOf(error)}`;
  throw new FilesystemError(message, { reason: "failed", path: "", cause: error });
}

async function goBack(log: UndoLog, store: Folder, position: number): Promise<void> {
  const journal = journalOf(log);
  // A crash from here on ends it: half of it would be neither before nor after.
  await recordKept(log, Math.min(position, lowest(log, isOpen)));
  while (end(log) > position) {
    const change = log.changes.at(-1) as Change;
    assertKept(store, change);
    undo(log, store, change);
    log.changes.pop();
    // Each record is cut off before the next change is undone; otherwise it would not be known which of the two is
    // undone.
    await flush(log);
    // What was new gives its room back at once.
    await journal.forget(log.displaced.splice(0));
    await journal.cut(end(log) - log.base);
  }
}

async function goBackAndKeep(log: UndoLog, store: Folder, taken: Mark): Promise<void> {
  const journal = journalOf(log);
  const own = [...log.marks].some(isOpen) ? undefined : mark(log, true);
  try {
    for (const change of log.changes.slice(taken.position - log.first).toReversed()) {
      assertKept(store, change);
      // What is in its place goes home, so that older changes find it there.
      const { path, was, now = journal.fresh() } = change;
      const inverse = { path, had: isThere(log.root, change), was: now, now: was };
      await perform(log, store, inverse, (begun) => {
        begun();
        journal.undoing(() => putBack(log.root, store, change, now));
      });
    }
    taken.position = end(log);
  } finally {
    if (own !== undefined) log.marks.delete(own);
  }
}

/** What is in its place goes where it came from, or can be deleted. */
function undo(log: UndoLog, store: Folder, change: Change): void {
  const { now = journalOf(log).fresh() } = change;
  if (change.now === undefined) log.displaced.push(now);
  log.touched.add(folderOf(change));
  journalOf(log).undoing(() => putBack(log.root, store, change, now));
}

/** @throws {FilesystemError} when the journal lost it: nothing is undone that could not be wholly undone. */
function assertKept(store: Folder, { path, had, was }: Change): void {
  if (!had || statOf(store, was) !== undefined) return;
  throw new FilesystemError(`${path} cannot be put back: what was there is gone from the journal.`, {
    reason: "failed",
    path,
  });
}
