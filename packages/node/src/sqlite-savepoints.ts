// 1. A mark costs nothing until something is run after it: then SQLite gets a transaction, within one a savepoint.
// 2. A mark at level n stands for the state in which the n-th of them begins; where fewer are open, for the state as it
//    is. So a mark that was taken after one that is restored stands for the same state from then on.
// 3. What is run between the first mark and the release of the last one is committed there, and not before.
// 4. What a mark notes of changes begins with the first statement after it, and anew where its state is the present one.
// 5. Only what may write takes marks, so the transaction is one that may write, also where what runs the first statement in
//    it only reads: a policy's check, or an evaluation inside the call.
// 6. When SQLite has taken the transaction back by itself, nothing more is run until the last mark is released.
import { NotSupportedError, type ResourceChange, type Snapshotable } from "@proviso/core";
import type { DatabaseSync } from "node:sqlite";
import { noteChanges, type NotedChanges } from "./sqlite-changes.ts";
import { isReadOnlyFault, SqliteError, sqliteError } from "./sqlite-error.ts";

interface SavepointMark {
  readonly level: number;
  readonly isObserved: boolean;
  /** undefined: nothing has been run since. */
  noted: NotedChanges | undefined;
}

export interface Savepoints extends Snapshotable<object> {
  /** Whether something is to be undone when it fails: a call is under way. */
  isMarked(): boolean;
  /**
   * Call this before each statement.
   * @throws {SqliteError} when another connection holds the lock, or an earlier transaction was lost.
   */
  begin(): void;
  /** Call this after a statement that failed. Returns why the transaction is lost, if it is. */
  lost(cause: unknown): SqliteError | undefined;
}

/** How the transaction around all savepoints begins and ends. */
export interface Outermost {
  /** @throws SQLite's error, also where another connection has the lock. */
  begin(): void;
  /** @throws SQLite's error. */
  commit(): void;
  /** Also where SQLite has ended it by itself. */
  rollBack(): void;
}

/** The connection's own. */
function outermostOf(database: DatabaseSync): Outermost {
  return {
    begin: () => beginTransaction(database),
    commit: () => database.exec("COMMIT"),
    rollBack() {
      if (isInTransaction(database)) database.exec("ROLLBACK");
    },
  };
}

export function savepoints(database: DatabaseSync, outermost: Outermost = outermostOf(database)): Savepoints {
  const marks = new Set<SavepointMark>();
  const levels = levelsOf(database, outermost);
  let loss: SqliteError | undefined;
  let fault: SqliteError | undefined;

  const assertWhole = (): void => {
    if ((fault ?? loss) !== undefined) throw fault ?? loss;
  };
  return {
    isMarked: () => marks.size > 0,
    begin() {
      assertWhole();
      levels.openTo(highest(marks) + 1);
      for (const mark of marks) if (mark.isObserved) mark.noted ??= noteChanges(database);
    },
    lost(cause) {
      if (levels.count() === 0 || isInTransaction(database)) return undefined;
      levels.forget();
      outermost.rollBack();
      forgetNoted(marks, 0);
      const why = sqliteError(cause);
      const message = `SQLite has taken back all changes of the call. ${why.message}`;
      loss = new SqliteError(message, { reason: "undone", cause });
      return new SqliteError(message, { reason: why instanceof SqliteError ? why.reason : "undone", cause });
    },
    snapshot({ savepoint: isSavepoint = false, observed: isObserved = false } = {}) {
      assertWhole();
      if (isSavepoint) throw new NotSupportedError("A snapshot of a SQLite database that outlives its transaction");
      if (marks.size === 0 && isInTransaction(database)) throw notOurs();
      const mark: SavepointMark = { level: levels.count(), isObserved, noted: undefined };
      marks.add(mark);
      return mark;
    },
    restore(snapshot) {
      const mark = snapshot as SavepointMark;
      if (!marks.has(mark)) throw released();
      try {
        levels.undoTo(mark.level);
        forgetNoted(marks, mark.level);
      } catch (cause) {
        throw sqliteError(cause, "The changes of the call could not be undone");
      }
    },
    changesSince: (snapshot) => changesNoted(marks, snapshot as SavepointMark),
    release(snapshot) {
      const mark = snapshot as SavepointMark;
      if (!marks.delete(mark)) return;
      forgetNoted([mark], 0);
      if (marks.size === 0) loss = undefined;
      try {
        levels.keepTo(highest(marks) + 1);
      } catch (cause) {
        fault = notCommitted(cause);
        // The lock is let go at least.
        outermost.rollBack();
        levels.forget();
        throw fault;
      }
    },
  };
}

interface Levels {
  /** How many are open. */
  count(): number;
  openTo(count: number): void;
  undoTo(count: number): void;
  /** What was run in those above belongs to the last one that is left; with none left it is committed. */
  keepTo(count: number): void;
  forget(): void;
}

function levelsOf(database: DatabaseSync, outermost: Outermost): Levels {
  let open = 0;
  return {
    count: () => open,
    openTo(count) {
      for (; open < count; open++) {
        if (open === 0) outermost.begin();
        else database.exec(`SAVEPOINT ${nameOf(open)}`);
      }
    },
    undoTo(count) {
      if (count >= open) return;
      if (count === 0) outermost.rollBack();
      else database.exec(`ROLLBACK TO ${nameOf(count)}; RELEASE ${nameOf(count)}`);
      open = count;
    },
    keepTo(count) {
      if (count >= open) return;
      if (count === 0) outermost.commit();
      else database.exec(`RELEASE ${nameOf(count)}`);
      open = count;
    },
    forget: () => void (open = 0),
  };
}

function changesNoted(marks: ReadonlySet<SavepointMark>, mark: SavepointMark): readonly ResourceChange[] | undefined {
  if (!mark.isObserved || !marks.has(mark)) return undefined;
  return mark.noted === undefined ? [] : mark.noted.changes();
}

/** The marks from this level on stand for the present state. */
function forgetNoted(marks: Iterable<SavepointMark>, level: number): void {
  for (const mark of marks) {
    if (mark.level < level) continue;
    mark.noted?.close();
    mark.noted = undefined;
  }
}

function highest(marks: ReadonlySet<SavepointMark>): number {
  let level = -1;
  for (const mark of marks) level = Math.max(level, mark.level);
  return level;
}

function nameOf(level: number): string {
  return `proviso_${level}`;
}

/**
 * Begins a transaction that locks out all other connections at once; otherwise its commit could fail after the call was
 * reported as done. A database that cannot be written to has no such lock.
 */
function beginTransaction(database: DatabaseSync): void {
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    if (!isReadOnlyFault(error)) throw error;
    database.exec("BEGIN");
  }
}

/** Asks SQLite itself, because Node has `isTransaction` from 22.16 on only. */
function isInTransaction(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN");
  } catch {
    return true;
  }
  database.exec("ROLLBACK");
  return false;
}

function notOurs(): SqliteError {
  const message = "The database has a transaction open that is not the runtime's: end it before tools are called.";
  return new SqliteError(message, { reason: "refused" });
}

function released(): SqliteError {
  const message = "What is to be restored is no snapshot of this database, or was released.";
  return new SqliteError(message, { reason: "failed" });
}

function notCommitted(cause: unknown): SqliteError {
  const message = `The changes of a call that was reported as done could not be committed: ${sqliteError(cause).message}`;
  return new SqliteError(message, { reason: "failed", cause });
}
