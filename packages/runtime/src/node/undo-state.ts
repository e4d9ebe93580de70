// What is known of the changes of a root: see undo-log.ts.
import type { Change } from "./exchange.ts";
import { beginJournal, type Journal } from "./journal.ts";

/** A point to go back to. */
export interface Mark {
  position: number;
  /** A crash goes back to it. */
  readonly open: boolean;
}

/** An undoing that did not end. */
export interface Stuck {
  /** To where; undefined: only a change that failed is to be undone. */
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
  journal: Journal | undefined;
  /** The position of the first change that is known. */
  first: number;
  /** The position of the journal's first record. */
  base: number;
  /** The position up to which the journal says that changes stay whatever happens. */
  kept: number;
  changes: Change[];
  /** Folders that are not on disk yet. */
  readonly touched: Set<string>;
  /** In the journal for nothing. */
  displaced: string[];
  /** The last of the changes failed on its way. */
  hasHalf: boolean;
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
    stuck: undefined,
  };
}

export function mark(log: UndoLog, open: boolean): Mark {
  const made = { position: end(log), open };
  log.marks.add(made);
  return made;
}

/** Begun if need be. @throws {FilesystemError} "busy" when somebody else has one. */
export function journalOf(log: UndoLog): Journal {
  if (log.journal === undefined) {
    log.journal = beginJournal(log.root, log.takeOver);
    log.base = end(log);
    log.kept = end(log);
  }
  return log.journal;
}

/** Lets stay what no open transaction can undo, and forgets what no snapshot can. */
export async function settle(log: UndoLog): Promise<void> {
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
        [log.changes, log.first, log.displaced] = [[], oldest, []];
      }
    }
    return;
  }
  await tell(log, lowest(log, isOpen));
  const gone = log.changes.splice(0, oldest - log.first);
  log.first = oldest;
  const names = [...log.displaced, ...gone.map(({ was }) => was)];
  log.displaced = [];
  if (names.length > 0) await journal.forget(names);
}

/** Writes down how many changes there are, and how many of them stay whatever happens. */
export async function tell(log: UndoLog, kept: number): Promise<void> {
  const journal = journalOf(log);
  // On disk before it is forgotten how to undo it.
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
