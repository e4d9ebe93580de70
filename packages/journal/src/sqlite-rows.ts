// 1. Each function is one transaction, but for what is appended inside one.
// 2. Names of the tables begin with proviso_: tables of an application may be in the same file.
import { inTransaction, rollBack } from "@proviso/node/internal";
import type { DatabaseSync } from "node:sqlite";
import { isOfOtherRun } from "./check-frames.ts";
import type { Frame } from "./store.ts";

/** What a store of frames does to its file. Each function throws what SQLite throws. */
export interface FrameRows {
  append(frames: readonly Frame[]): readonly ("kept" | "fenced")[];
  /** Appends in the transaction that is open. */
  appendInside(frame: Frame): "kept" | "fenced";
  /** The number that the file has for a run. A run that was removed and begun again has another one. */
  keyOf(run: string): number | undefined;
  /** Some frames of a run that end behind the entry, in order; none: there are no more. */
  page(key: number, run: string, from: number): readonly Frame[];
  /** The numbers of all runs, last changed first. */
  keys(): readonly number[];
  /** undefined: it was removed meanwhile. */
  summary(key: number): { readonly run: string; readonly summary: string } | undefined;
  remove(runs: readonly string[]): void;
  /** Removes those whose newest summary is this one, and returns how many. */
  removeUnchanged(runs: readonly { readonly run: string; readonly summary: string }[]): number;
  /** Keeps the frames of a whole run where there is none; false: there is one. */
  appendRun(run: string, frames: readonly Frame[]): boolean;
}

/** The tables of a file. A run's number is never given again, so that a reader does not go on in another run of the same id. */
export const tables = `
  CREATE TABLE proviso_runs (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL UNIQUE,
    length INTEGER NOT NULL,
    changed INTEGER NOT NULL UNIQUE
  ) STRICT;
  CREATE TABLE proviso_frames (
    key INTEGER NOT NULL,
    first INTEGER NOT NULL,
    count INTEGER NOT NULL,
    writer TEXT NOT NULL,
    body TEXT NOT NULL,
    sum INTEGER NOT NULL,
    summary TEXT NOT NULL,
    PRIMARY KEY (key, first)
  ) STRICT;
`;

/** Frames that are read at once. Between two pages other work has its turn, and no lock is held. */
export const pageSize = 64;

interface RunRow {
  readonly key: number;
  readonly length: number;
  /** Whether no run was changed after it: 0 or 1. */
  readonly isLast: number;
  /** The writer of its first frame. */
  readonly begunBy: string;
}

/** Transactions that are made again and again: their statements are prepared once. */
function transactions(database: DatabaseSync): <T>(work: () => T) => T {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  return (work) => {
    begin.run();
    try {
      const result = work();
      commit.run();
      return result;
    } catch (error) {
      rollBack(database);
      throw error;
    }
  };
}

export function frameRows(database: DatabaseSync): FrameRows {
  const keyed = database.prepare("SELECT key FROM proviso_runs WHERE run = ?");
  const found = database.prepare(
    `SELECT key, length, changed = (SELECT max(changed) FROM proviso_runs) AS isLast,
     (SELECT writer FROM proviso_frames AS f WHERE f.key = r.key AND f.first = 0) AS begunBy
     FROM proviso_runs AS r WHERE run = ?`,
  );
  const transact = transactions(database);
  const next = "(SELECT coalesce(max(changed), 0) + 1 FROM proviso_runs)";
  const begin = database.prepare(
    `INSERT INTO proviso_runs (run, length, changed) VALUES (?, ?, ${next}) RETURNING key`,
  );
  // The run that was changed last stays that: its place in the order is not written again with each of its frames.
  const grow = database.prepare("UPDATE proviso_runs SET length = ? WHERE key = ?");
  const growToLast = database.prepare(`UPDATE proviso_runs SET length = ?, changed = ${next} WHERE key = ?`);
  const insert = database.prepare(
    "INSERT INTO proviso_frames (key, first, count, writer, body, sum, summary) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const same = database.prepare("SELECT 1 FROM proviso_frames WHERE key = ? AND first = ? AND writer = ? AND sum = ?");
  // Node before 22.19 and 24.5 gives no value to a parameter with a number, such as ?1.
  const page = database.prepare(
    `SELECT first, count, writer, body, sum, summary FROM proviso_frames
     WHERE key = ? AND first >= coalesce((SELECT max(first) FROM proviso_frames WHERE key = ? AND first <= ?), 0)
     AND first + count > ? ORDER BY first LIMIT ${pageSize}`,
  );
  const keys = database.prepare("SELECT key FROM proviso_runs ORDER BY changed DESC");
  const newest = database.prepare(
    "SELECT run, summary FROM proviso_runs JOIN proviso_frames USING (key) WHERE key = ? ORDER BY first DESC LIMIT 1",
  );
  const keyOf = (run: string): number | undefined => (keyed.get(run) as { readonly key: number } | undefined)?.key;
  const appendOne = (frame: Frame): "kept" | "fenced" => {
    const { run, first, count, writer, body, sum, summary } = frame;
    const known = found.get(run) as RunRow | undefined;
    if (first !== (known?.length ?? 0) || isOfOtherRun(frame, known?.begunBy)) {
      return known !== undefined && same.get(known.key, first, writer, sum) !== undefined ? "kept" : "fenced";
    }
    const length = first + count;
    const { key } = known ?? (begin.get(run, length) as { readonly key: number });
    insert.run(key, first, count, writer, body, sum, summary);
    if (known !== undefined) (known.isLast === 1 ? grow : growToLast).run(length, key);
    return "kept";
  };
  const summaryOf = (key: number) => newest.get(key) as { readonly run: string; readonly summary: string } | undefined;
  return {
    append: (frames) => transact(() => frames.map(appendOne)),
    appendInside: appendOne,
    keyOf,
    page: (key, run, from) =>
      (page.all(key, key, from, from) as unknown as readonly Omit<Frame, "run">[]).map(
        ({ first, count, writer, body, sum, summary }) => ({ run, first, count, writer, body, sum, summary }),
      ),
    keys: () => keys.all().map((row) => (row as unknown as { readonly key: number }).key),
    summary(key) {
      const row = summaryOf(key);
      return row && { run: row.run, summary: row.summary };
    },
    ...wholeRunsOf(database, { keyOf, summaryOf, appendOne }),
  };
}

interface OneRun {
  keyOf(run: string): number | undefined;
  summaryOf(key: number): { readonly summary: string } | undefined;
  appendOne(frame: Frame): "kept" | "fenced";
}

function wholeRunsOf(
  database: DatabaseSync,
  { keyOf, summaryOf, appendOne }: OneRun,
): Pick<FrameRows, "remove" | "removeUnchanged" | "appendRun"> {
  const emptied = database.prepare("DELETE FROM proviso_frames WHERE key = ?");
  const removed = database.prepare("DELETE FROM proviso_runs WHERE key = ?");
  /** Removes those of the runs that may go, and returns how many. */
  const remove = (runs: readonly string[], mayGo: (key: number, place: number) => boolean): number =>
    inTransaction(database, () => {
      let count = 0;
      for (const [place, run] of runs.entries()) {
        const key = keyOf(run);
        if (key === undefined || !mayGo(key, place)) continue;
        emptied.run(key);
        removed.run(key);
        count += 1;
      }
      return count;
    });
  return {
    remove: (runs) => void remove(runs, () => true),
    removeUnchanged(seen) {
      const runs = seen.map(({ run }) => run);
      return remove(runs, (key, place) => summaryOf(key)?.summary === seen[place]?.summary);
    },
    appendRun: (run, frames) =>
      inTransaction(database, () => {
        if (keyOf(run) !== undefined) return false;
        for (const frame of frames) appendOne(frame);
        return true;
      }),
  };
}
