// The tables of an SQLite file of attempts, and the statements on them.
import { DefinitionError, type Usage } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { inTransaction, lifeOf, makePrivate, pragmaOf, sqliteModule, thisProcess } from "@proviso/node/internal";
import type { Owner } from "@proviso/node/internal";
import type { DatabaseSync } from "node:sqlite";
import type { AttemptKey, AttemptRecord, Fingerprint } from "../results.ts";
import { currentScores } from "../run/memory-store.ts";
import { parsed, parsedAttempt } from "./sqlite-eval-json.ts";
import type { KeptResult } from "./sqlite-eval-results.ts";

/** "PvEv" in the file's header. Source: https://www.sqlite.org/fileformat2.html#application_id */
export const applicationId = 0x50764576;
const version = 1;
/** Milliseconds that opening a file waits for a lock of another process, which may prepare the file at the same time. */
const openingTimeoutMs = 5_000;
/** Attempts that are read at once. */
const pageSize = 500;
const schema = `
  CREATE TABLE eval_runs (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    run_id TEXT NOT NULL,
    scorers TEXT NOT NULL,
    owner TEXT NOT NULL
  ) STRICT;
  CREATE TABLE eval_attempts (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES eval_runs (id),
    name TEXT NOT NULL,
    row_id TEXT NOT NULL,
    variant TEXT NOT NULL,
    repetition INTEGER NOT NULL,
    record TEXT NOT NULL,
    UNIQUE (name, row_id, variant, repetition, run)
  ) STRICT;
  CREATE TABLE eval_begun (
    run INTEGER NOT NULL REFERENCES eval_runs (id),
    row_id TEXT NOT NULL,
    variant TEXT NOT NULL,
    repetition INTEGER NOT NULL,
    worst_case TEXT NOT NULL,
    PRIMARY KEY (run, row_id, variant, repetition)
  ) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${version};
`;

/** What runs came to; files of earlier releases get it when they are opened. */
const resultsSchema = `
  CREATE TABLE IF NOT EXISTS eval_results (
    run INTEGER PRIMARY KEY REFERENCES eval_runs (id),
    started_at TEXT NOT NULL,
    result TEXT
  ) STRICT;
`;

/** What is written of an attempt. */
export type Change = { readonly begins: AttemptKey; readonly worstCase: Usage } | { readonly record: AttemptRecord };

/** A file of attempts that is open. */
export interface EvalFile {
  /** Begins a run; returns its number and what runs of processes that ended had begun and not finished. */
  begin(
    run: { readonly name: string; readonly runId: string; readonly fingerprint: Fingerprint },
    at: string,
  ): {
    readonly run: number;
    readonly lost: readonly Usage[];
  };
  /** Keeps what a run came to. */
  end(run: number, result: KeptResult): void;
  /** Writes all of the changes, or none. */
  write(run: number, changes: readonly Change[]): void;
  /** The newest attempts by key, after the one of that number. */
  page(
    name: string,
    after: number,
    fingerprint: Fingerprint,
  ): readonly { readonly id: number; readonly record: AttemptRecord }[];
  /** Forgets what the runs had begun. */
  forget(runs: readonly number[]): void;
  close(): void;
}

/** @throws {DefinitionError} for a file that is damaged, of a newer version or of something else; it is left alone. */
export function openEvalFile(file: string): EvalFile {
  try {
    makePrivate(file);
    const database = new (sqliteModule().DatabaseSync)(file);
    try {
      database.exec(`PRAGMA busy_timeout = ${openingTimeoutMs}`);
      inTransaction(database, () => prepare(database, file));
      // The first change to a file that was there already. From here on no statement waits for a lock.
      database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 0;");
      return evalFile(database, file);
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (cause) {
    if (cause instanceof DefinitionError) throw cause;
    throw new DefinitionError(`The file of attempts ${file} cannot be opened: ${messageOf(cause)}.`, { cause });
  }
}

function prepare(database: DatabaseSync, file: string): void {
  const refuse = (why: string): DefinitionError =>
    new DefinitionError(`The file of attempts ${file} ${why}. It was left alone.`);
  const owner = pragmaOf(database, "application_id");
  if (owner === 0 && database.prepare("SELECT name FROM sqlite_schema LIMIT 1").get() === undefined) {
    database.exec(schema + resultsSchema);
    return;
  }
  if (owner !== applicationId) throw refuse("is a database of something else");
  const found = pragmaOf(database, "user_version");
  if (found !== version) throw refuse(`has version ${found}; this is for version ${version}`);
  const { quick_check: fault } = database.prepare("PRAGMA quick_check(1)").get() ?? {};
  if (fault !== "ok") throw refuse(`is damaged: ${String(fault)}`);
  database.exec(resultsSchema);
}

const newestAttempts = `
  SELECT a.id, a.record, r.scorers, a.row_id, a.variant, a.repetition FROM eval_attempts a JOIN eval_runs r ON r.id = a.run
  WHERE a.name = ? AND a.id > ? AND NOT EXISTS (
    SELECT 1 FROM eval_attempts b WHERE b.name = a.name AND b.row_id = a.row_id AND b.variant = a.variant
      AND b.repetition = a.repetition AND b.id > a.id)
  ORDER BY a.id LIMIT ${pageSize}`;

function evalFile(database: DatabaseSync, file: string): EvalFile {
  const addRun = database.prepare("INSERT INTO eval_runs (name, run_id, scorers, owner) VALUES (?, ?, ?, ?)");
  const others = database.prepare(
    "SELECT DISTINCT r.id, r.owner FROM eval_runs r JOIN eval_begun b ON b.run = r.id WHERE r.name = ?",
  );
  const begunOf = database.prepare("SELECT worst_case FROM eval_begun WHERE run = ?");
  const forgetRun = database.prepare("DELETE FROM eval_begun WHERE run = ?");
  const addBegun = database.prepare("INSERT OR REPLACE INTO eval_begun VALUES (?, ?, ?, ?, ?)");
  const dropBegun = database.prepare(
    "DELETE FROM eval_begun WHERE run = ? AND row_id = ? AND variant = ? AND repetition = ?",
  );
  // The first record of a key stays in a run; of several runs the newest counts.
  const addAttempt = database.prepare(
    `INSERT INTO eval_attempts (run, name, row_id, variant, repetition, record)
       SELECT id, name, ?, ?, ?, ? FROM eval_runs WHERE id = ? ON CONFLICT DO NOTHING`,
  );
  const results = resultsOf(database);
  const page = database.prepare(newestAttempts);
  return {
    begin: ({ name, runId, fingerprint }, at) =>
      inTransaction(database, () => {
        const lost: Usage[] = [];
        for (const { id, owner } of others.all(name)) {
          if (lifeOf(parsed<Owner>(owner)) !== "dead") continue;
          lost.push(...begunOf.all(id as number).map(({ worst_case: worst }) => parsed<Usage>(worst)));
          forgetRun.run(id as number);
        }
        const scorers = JSON.stringify(Object.entries(fingerprint.scorers));
        const { lastInsertRowid } = addRun.run(name, runId, scorers, JSON.stringify(thisProcess()));
        results.begin(Number(lastInsertRowid), at);
        return { run: Number(lastInsertRowid), lost };
      }),
    end: results.end,
    write(run, changes) {
      inTransaction(database, () => {
        for (const change of changes) {
          const { rowId, variant, repetition } = "record" in change ? change.record : change.begins;
          if ("record" in change) {
            dropBegun.run(run, rowId, variant, repetition);
            addAttempt.run(rowId, variant, repetition, JSON.stringify(change.record), run);
          } else addBegun.run(run, rowId, variant, repetition, JSON.stringify(change.worstCase));
        }
      });
    },
    page: (name, after, fingerprint) =>
      page.all(name, after).map(({ id, record, scorers, row_id: rowId, variant, repetition }) => {
        const kept = new Map(parsed<[string, string][]>(scorers));
        const attempt = parsedAttempt(record, file, [repetition, rowId, variant]);
        return { id: id as number, record: currentScores(attempt, kept, fingerprint) };
      }),
    forget(runs) {
      inTransaction(database, () => {
        for (const run of runs) forgetRun.run(run);
      });
    },
    close: () => database.close(),
  };
}

function resultsOf(database: DatabaseSync): Pick<EvalFile, "end"> & { begin(run: number, at: string): void } {
  const add = database.prepare("INSERT INTO eval_results (run, started_at) VALUES (?, ?)");
  const set = database.prepare("UPDATE eval_results SET result = ? WHERE run = ?");
  return {
    begin: (run, at) => void add.run(run, at),
    end: (run, result) => void set.run(JSON.stringify(result), run),
  };
}
