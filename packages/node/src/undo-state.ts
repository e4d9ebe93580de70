// What is known of the changes of a root: see undo-log.ts.
import type { Change } from "./exchange.ts";
import { beginUndoJournal, type UndoJournal } from "./undo-folder.ts";
import { recover } from "./recovery.ts";

/** A point to go back to. */
export interface Mark {
  position: number;
  /** A crash goes back to it. */
  readonly open: boolean;
}

/** An undoing that did not end. */
export interface Stuck {
  /** The mark to go back to; undefined: only a change that failed is to be undone. */
  readonly mark: Mark | undefined;
  /** Why not. */
  readonly error: unknown;
  /** What was released meanwhile. */
  readonly released: Set<Mark>;
}

export interface UndoLog {
  readonly root: string;
  readonly takeOver: boolean;
  readonly marks: Set<Mark>;
  journal: UndoJournal | undefined;
  /** The position of the first change that is known. */
  first: number;
  /** The position of the journal's first record. */
  base: number;
  /** The position up to which the journal records that changes stay whatever happens. */
  kept: number;
  changes: Change[];
  /** Folders that are not on disk yet. */
  readonly touched: Set<string>;
  /** Names in the store that are no longer needed; the next `settle` deletes them. */
  displaced: string[];
  /** The last of the changes failed on its way. */
  hasHalf: boolean;
  /** What was released could not be let stay or be forgotten yet. */
  isUnsettled: boolean;
  /** The folder of a journal, one that is over or of a dead owner, could not be deleted yet. */
  isLeft: boolean;
  stuck: Stuck | undefined;
}

export function undoLog(root: string, takeOver: boolean): UndoLog {
  return {
    root,
    takeOver,
    marks: new Set(),
    journal: undefined,
    first: 0,
    base: 0,
    kept: 0,
    changes: [],
    touched: new Set(),
    displaced: [],
    hasHalf: false,
    isUnsettled: false,
    isLeft: false,
    stuck: undefined,
  };
}

export function mark(log: UndoLog, open: boolean, position = end(log)): Mark {
  const made = { position, open };
  log.marks.add(made);
  return made;
}

/** The position that the log has once what is stuck is undone. */
export function soundEnd(log: UndoLog): number {
  return log.stuck?.mark?.position ?? end(log) - (log.hasHalf ? 1 : 0);
}

/**
 * Returns the journal, and begins it if need be.
 * @throws {FilesystemError} "busy" when another process has one.
 */
export function journalOf(log: UndoLog): UndoJournal {
  if (log.journal === undefined) {
    // Where it fails, a folder may stay that was made for it.
    log.isLeft = true;
    log.journal = beginUndoJournal(log.root, log.takeOver);
    log.isLeft = false;
    log.base = end(log);
    log.kept = end(log);
  }
  return log.journal;
}

/** Lets stay what no open transaction can undo, and forgets what no snapshot can. What fails of it can be tried again. */
export async function settle(log: UndoLog): Promise<void> {
  log.isUnsettled = true;
  await settleJournal(log);
  log.isUnsettled = false;
  if (log.isLeft && log.journal === undefined) tidy(log);
}

/** Deletes the folder of a journal that is over. It does no harm: where that fails, the next use tries it again. */
function tidy(log: UndoLog): void {
  try {
    log.isLeft = recover(log.root, log.takeOver);
  } catch {
    // The next use tries it again.
  }
}

async function settleJournal(log: UndoLog): Promise<void> {
  const { journal } = log;
  if (journal === undefined) return;
  const oldest = lowest(log, () => true);
  if (oldest === end(log)) {
    await flush(log);
    try {
      await journal.close();
    } finally {
      if (journal.isOver()) {
        log.journal = undefined;
        log.isLeft = journal.isLeft();
        [log.changes, log.first, log.displaced] = [[], oldest, []];
      }
    }
    return;
  }
  await recordKept(log, lowest(log, isOpen));
  const gone = log.changes.splice(0, oldest - log.first);
  log.first = oldest;
  const names = [...log.displaced, ...namesOnlyIn(gone, log.changes)];
  log.displaced = [];
  if (names.length > 0) await journal.forget(names);
}

/** The names in the store that none of the changes which are left goes by: one that is undone and done again keeps its name. */
function namesOnlyIn(gone: readonly Change[], left: readonly Change[]): readonly string[] {
  if (gone.length === 0) return [];
  const needed = new Set(left.flatMap(namesInStore));
  return [...new Set(gone.flatMap(namesInStore))].filter((name) => !needed.has(name));
}

function namesInStore({ was, now = was }: Change): readonly string[] {
  return [was, now];
}

/** Writes down how many changes there are, and how many of them stay whatever happens. */
export async function recordKept(log: UndoLog, kept: number): Promise<void> {
  const journal = journalOf(log);
  // The changes have to be on disk before it is forgotten how to undo them.
  if (log.touched.size > 0) await flush(log);
  await journal.keep(kept - log.base);
  log.kept = kept;
  await journal.cut(end(log) - log.base);
}

export async function flush(log: UndoLog): Promise<void> {
  await journalOf(log).flush(log.touched);
  log.touched.clear();
}

export function end({ first, changes }: UndoLog): number {
  return first + changes.length;
}

export function isOpen({ open }: Mark): boolean {
  return open;
}

/** The lowest position of the marks that fit; where there is none, the end. */
export function lowest(log: UndoLog, fits: (mark: Mark) => boolean): number {
  return Math.min(end(log), ...[...log.marks].filter(fits).map(({ position }) => position));
}
