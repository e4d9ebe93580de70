// The tables of an SQLite file of attempts, and the statements on them.
import { DefinitionError, type Usage } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import {
  columnsOf,
  inTransaction,
  lifeOf,
  makePrivate,
  pragmaOf,
  sqliteModule,
  thisProcess,
  useWriteAheadLog,
} from "@proviso/node/internal";
import type { Owner } from "@proviso/node/internal";
import type { DatabaseSync } from "node:sqlite";
import type { AttemptKey, AttemptRecord, Fingerprint } from "../results.ts";
import { ByKey } from "../run/by-key.ts";
import { currentScores } from "../run/memory-store.ts";
import { Begun } from "./begun.ts";
import { parsed, parsedAttempt } from "./sqlite-eval-json.ts";
import type { KeptResult } from "./sqlite-eval-results.ts";

/** "PvEv" in the file's header. Source: https://www.sqlite.org/fileformat2.html#application_id */
export const applicationId = 0x50764576;
const version = 1;
/** Milliseconds that opening a file waits for a lock of another process, which may prepare the file at the same time. */
const openingTimeoutMs = 5_000;
/** Attempts that are read at once. */
const pageSize = 500;
/**
 * Attempts have no index: their keys come in no order, and each of them would be one more page to write. What a run has in
 * flight is one row, with the sum of what that spends at most. A result is NULL until the run has ended.
 */
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
    record TEXT NOT NULL
  ) STRICT;
  CREATE TABLE eval_begun (
    run INTEGER PRIMARY KEY REFERENCES eval_runs (id),
    worst_case TEXT NOT NULL
  ) STRICT;
  CREATE TABLE eval_results (
    run INTEGER PRIMARY KEY REFERENCES eval_runs (id),
    started_at TEXT NOT NULL,
    result TEXT
  ) STRICT;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${version};
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
  /** The next attempts of an eval, the oldest first; undefined: there are no more. */
  reader(name: string, fingerprint: Fingerprint): () => readonly AttemptRecord[] | undefined;
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
      useWriteAheadLog(database, openingTimeoutMs);
      database.exec("PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 0;");
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
    database.exec(schema);
    return;
  }
  if (owner !== applicationId) throw refuse("is a database of something else");
  const found = pragmaOf(database, "user_version");
  if (found !== version) throw refuse(`has version ${found}; this is for version ${version}`);
  const { quick_check: fault } = database.prepare("PRAGMA quick_check(1)").get() ?? {};
  if (fault !== "ok") throw refuse(`is damaged: ${String(fault)}`);
}

function evalFile(database: DatabaseSync, file: string): EvalFile {
  const forgetRun = database.prepare("DELETE FROM eval_begun WHERE run = ?");
  const setBegun = database.prepare("INSERT OR REPLACE INTO eval_begun VALUES (?, ?)");
  const addAttempt = database.prepare(
    "INSERT INTO eval_attempts (run, name, row_id, variant, repetition, record) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const results = resultsOf(database);
  const runs = new Map<number, WrittenRun>();
  const forget = (run: number): void => {
    forgetRun.run(run);
    const written = runs.get(run);
    if (written !== undefined) written.begun = new Begun();
  };
  return {
    begin: (given, at) =>
      inTransaction(database, () => {
        const lost = lostIn(database, given.name);
        const run = addRun(database, given);
        results.begin(run, at);
        runs.set(run, { name: given.name, begun: new Begun(), made: new ByKey() });
        return { run, lost };
      }),
    end(run, result) {
      inTransaction(database, () => {
        results.end(run, result);
        // The report says what was spent on what the run cut short.
        forget(run);
      });
    },
    write(run, changes) {
      const written = runs.get(run) as WrittenRun;
      const { name, begun, made } = written;
      const records = newRecords(changes, made);
      const inFlight = begun.after(changes);
      inTransaction(database, () => {
        for (const record of records) {
          const { rowId, variant, repetition } = record;
          addAttempt.run(run, name, rowId, variant, repetition, JSON.stringify(record));
        }
        if (inFlight.size === 0) forgetRun.run(run);
        else setBegun.run(run, JSON.stringify(inFlight.worstCase));
      });
      for (const record of records) made.set(record, true);
      written.begun = inFlight;
    },
    reader: (name, fingerprint) => attemptsOf(database, file, name, fingerprint),
    forget(all) {
      inTransaction(database, () => all.forEach(forget));
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

/** What runs of processes that ended had begun and not finished; it is forgotten. */
function lostIn(database: DatabaseSync, name: string): readonly Usage[] {
  const others = database.prepare(
    "SELECT r.id, r.owner, b.worst_case FROM eval_runs r JOIN eval_begun b ON b.run = r.id WHERE r.name = ?",
  );
  const forget = database.prepare("DELETE FROM eval_begun WHERE run = ?");
  const lost: Usage[] = [];
  for (const { id, owner, worst_case: worst } of others.all(name)) {
    if (lifeOf(parsed<Owner>(owner)) !== "dead") continue;
    lost.push(parsed<Usage>(worst));
    forget.run(id as number);
  }
  return lost;
}

/** Returns the number of the new run. */
function addRun(database: DatabaseSync, { name, runId, fingerprint }: Parameters<EvalFile["begin"]>[0]): number {
  const add = database.prepare("INSERT INTO eval_runs (name, run_id, scorers, owner) VALUES (?, ?, ?, ?)");
  const scorers = JSON.stringify(Object.entries(fingerprint.scorers));
  return Number(add.run(name, runId, scorers, JSON.stringify(thisProcess())).lastInsertRowid);
}

/** A run that this process writes. */
interface WrittenRun {
  readonly name: string;
  begun: Begun;
  /** What it has made: the first record of a key stays. */
  readonly made: ByKey<true>;
}

/** The records whose keys are new to the run. */
function newRecords(changes: readonly Change[], made: ByKey<true>): readonly AttemptRecord[] {
  const records = new ByKey<AttemptRecord>();
  for (const change of changes) {
    if (!("record" in change)) continue;
    const { record } = change;
    if (made.get(record) === undefined && records.get(record) === undefined) records.set(record, record);
  }
  return [...records.values()];
}

/** Reads the attempts of an eval that are there now in pages, the oldest first. */
function attemptsOf(
  database: DatabaseSync,
  file: string,
  name: string,
  fingerprint: Fingerprint,
): () => readonly AttemptRecord[] | undefined {
  const page = database.prepare(
    `SELECT id, run, row_id, variant, repetition, record FROM eval_attempts
     WHERE name = ? AND id > ? AND id <= ? ORDER BY id LIMIT ${pageSize}`,
  );
  const last = columnsOf(database.prepare("SELECT max(id) FROM eval_attempts").get() ?? {})[0] ?? 0;
  const scorersOf = new Map<number, ReadonlyMap<string, string>>();
  for (const { id, scorers } of database.prepare("SELECT id, scorers FROM eval_runs WHERE name = ?").all(name)) {
    scorersOf.set(id as number, new Map(parsed<[string, string][]>(scorers)));
  }
  let after = 0;
  return () => {
    const rows = page.all(name, after, last as number) as unknown as readonly AttemptRow[];
    after = rows.at(-1)?.id ?? after;
    if (rows.length === 0) return undefined;
    return rows.map(({ run, row_id: rowId, variant, repetition, record }) => {
      const attempt = parsedAttempt(record, file, [repetition, rowId, variant]);
      return currentScores(attempt, scorersOf.get(run) ?? none, fingerprint);
    });
  };
}

const none: ReadonlyMap<string, string> = new Map();

interface AttemptRow {
  readonly id: number;
  readonly run: number;
  readonly row_id: string;
  readonly variant: string;
  readonly repetition: number;
  readonly record: string;
}
