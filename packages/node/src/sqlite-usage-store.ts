// 1. A file that is not known to be ours is read, never written.
// 2. A sample is in the file when `record` returns. Those that are too old go later, and are never read.
// 3. Every error names the file.
import { DefinitionError } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { dirname, resolve } from "node:path";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { samplesKept, type UsageQuery, type UsageSample, type UsageStore } from "@proviso/estimation";
import { messageOf, describeValue } from "@proviso/core/internal";
import { makeFolder } from "./make-folder.ts";
import { rollBack } from "./sqlite-rows.ts";
import { sqliteError } from "./sqlite-error.ts";
import { sqliteModule } from "./sqlite-module.ts";
import { useWriteAheadLog } from "./sqlite-wal.ts";

/** Statistics of usage in a file, for several processes. */
export interface SqliteUsageStore extends UsageStore {
  /** The samples that the query asks for, newest first. */
  samples(query: UsageQuery): readonly UsageSample[];
  /** Ends the use of the file; a second time it does nothing. */
  close(): void;
  [Symbol.dispose](): void;
}

/** What `sqliteUsageStore` takes beside the path. */
export interface SqliteUsageOptions {
  /**
   * How long another process's write is waited for, in milliseconds; nothing else runs in this process meanwhile, no
   * deadline and no abort. Default 50, as long as `sqliteResource` waits: `usageStatistics` keeps what could not be
   * written and writes it with the next. Opening the file waits 5,000 at least.
   */
  readonly busyTimeoutMs?: number | undefined;
}

/** "PvUs" in the file's header. Source: https://www.sqlite.org/fileformat2.html#application_id */
const applicationId = 0x50765573;
const version = 1;
/** Milliseconds that opening a file waits for a lock of another process, which may prepare the file at the same time. */
const openingTimeoutMs = 5_000;
/** Samples of one prompt on a model between two clearings; each is a walk over those that are kept. */
const pruneEvery = 64;

const columns = [
  "characters",
  "inputTokens",
  "cachedInputTokens",
  "outputTokens",
  "largestOutputTokens",
  "turns",
  "durationMs",
  "costUsd",
] as const satisfies readonly (keyof UsageSample)[];

const schema = `
  CREATE TABLE usage_samples (
    id INTEGER PRIMARY KEY,
    prompt TEXT NOT NULL,
    model TEXT NOT NULL,
    ${columns.map((name) => `${name} REAL${name === "costUsd" ? "" : " NOT NULL"}`).join(",\n    ")}
  ) STRICT;
  CREATE INDEX usage_samples_of_prompt ON usage_samples (prompt, model, id);
  CREATE INDEX usage_samples_of_model ON usage_samples (model, id);
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${version};
`;

/**
 * Keeps samples in an SQLite file: the newest 512 of each prompt on a model. Several processes may write at once. What
 * is recorded outlives the process; a power cut may take the last of it. The folder is made where there is none.
 * @throws {DefinitionError} for a file that is damaged, of a newer version or of something else; it is left alone.
 * Later, a SqliteError where the file cannot be written or read: it is full, or another connection holds the lock for
 * too long.
 */
export function sqliteUsageStore(path: string, options: SqliteUsageOptions = {}): SqliteUsageStore {
  checkOptionNames("sqliteUsageStore", options, { busyTimeoutMs: true });
  const { busyTimeoutMs = 50 } = options;
  if (!Number.isSafeInteger(busyTimeoutMs) || busyTimeoutMs < 0) {
    throw new DefinitionError(
      `busyTimeoutMs has to be a whole number of milliseconds, not ${describeValue(busyTimeoutMs)}.`,
    );
  }
  if (typeof path !== "string" || path === "" || path === ":memory:") {
    throw new DefinitionError("sqliteUsageStore takes the path of a file; memoryUsageStore() keeps samples in memory.");
  }
  // The process may go elsewhere later.
  const file = resolve(path);
  const { statements, ...opened } = openFile(file, busyTimeoutMs);
  let database: DatabaseSync | undefined = opened.database;
  const live = (): DatabaseSync => {
    if (database === undefined) throw new DefinitionError(`The usage file ${file} is closed.`);
    return database;
  };
  const close = (): void => {
    const closing = database;
    database = undefined;
    if (closing !== undefined) named(file, "Closing", () => closing.close());
  };
  return Object.freeze({
    record(sample: UsageSample) {
      const to = live();
      named(file, "Writing", () => inTransaction(to, () => write(statements, sample)));
    },
    samples(query: UsageQuery) {
      live();
      return named(file, "Reading", () => read(statements, query));
    },
    close,
    [Symbol.dispose]: close,
  });
}

function named<T>(file: string, doing: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw sqliteError(error, `${doing} the usage file ${file}`);
  }
}

/** @throws {DefinitionError} */
function openFile(file: string, busyTimeoutMs: number): Opened {
  try {
    makeFolder(dirname(file));
    return open(file, busyTimeoutMs);
  } catch (cause) {
    if (cause instanceof DefinitionError) throw cause;
    throw new DefinitionError(`The usage file ${file} cannot be opened: ${messageOf(cause)}.`, { cause });
  }
}

interface Opened {
  readonly database: DatabaseSync;
  readonly statements: Statements;
}

function open(file: string, busyTimeoutMs: number): Opened {
  const database = new (sqliteModule().DatabaseSync)(file);
  try {
    database.exec(`PRAGMA busy_timeout = ${Math.max(busyTimeoutMs, openingTimeoutMs)}`);
    inTransaction(database, () => prepareFile(database, file));
    const statements = statementsOf(database);
    // The first change to a file that was there already.
    useWriteAheadLog(database, openingTimeoutMs);
    database.exec("PRAGMA synchronous = NORMAL");
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    return { database, statements };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Checks and prepares the file through SQLite alone: a descriptor that is opened and closed beside it would drop its
 * locks.
 */
function prepareFile(database: DatabaseSync, file: string): void {
  const one = (sql: string, column: string): unknown => database.prepare(sql).get()?.[column];
  const refuse = (why: string): DefinitionError =>
    new DefinitionError(`The usage file ${file} ${why}. It was left alone.`);
  const owner = one("PRAGMA application_id", "application_id");
  if (owner === 0 && one("SELECT count(*) AS tables FROM sqlite_schema", "tables") === 0) return database.exec(schema);
  if (owner !== applicationId) throw refuse("is a database of something else");
  const found = one("PRAGMA user_version", "user_version");
  if (found !== version) throw refuse(`has version ${String(found)}; this is for version ${version}`);
  const fault = one("PRAGMA quick_check(1)", "quick_check");
  if (fault !== "ok") throw refuse(`is damaged: ${String(fault)}`);
}

/** Begins as a writer, so that what is read in it stays true until it is written. */
function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    work();
    database.exec("COMMIT");
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

interface Statements {
  /** Whether the samples of that key are due to be cleared. */
  isPruneDue(prompt: string, model: string): boolean;
  readonly insert: StatementSync;
  readonly prune: StatementSync;
  /** Returns the statement for what the query asks for. */
  select(query: UsageQuery): StatementSync;
}

function statementsOf(database: DatabaseSync): Statements {
  const all = ["prompt", "model", ...columns];
  const selects = new Map<string, StatementSync>();
  const recorded = new Map<string, number>();
  return {
    isPruneDue(prompt, model) {
      const key = JSON.stringify([prompt, model]);
      const before = recorded.get(key) ?? 0;
      recorded.set(key, (before + 1) % pruneEvery);
      return before === 0;
    },
    insert: database.prepare(`INSERT INTO usage_samples (${all.join(", ")}) VALUES (${all.map(() => "?").join(", ")})`),
    prune: database.prepare(
      `DELETE FROM usage_samples WHERE prompt = ? AND model = ? AND id <= (
         SELECT id FROM usage_samples WHERE prompt = ? AND model = ? ORDER BY id DESC LIMIT 1 OFFSET ${samplesKept})`,
    ),
    select(query) {
      const where = (["prompt", "model"] as const).filter((name) => query[name] !== undefined);
      const conditions = where.map((name) => `${name} = ?`).join(" AND ");
      const sql = `SELECT ${all.join(", ")} FROM usage_samples ${conditions === "" ? "" : `WHERE ${conditions}`} ORDER BY id DESC LIMIT ${samplesKept}`;
      const known = selects.get(sql) ?? database.prepare(sql);
      selects.set(sql, known);
      return known;
    },
  };
}

function write({ insert, prune, isPruneDue }: Statements, sample: UsageSample): void {
  const { prompt, model } = sample;
  insert.run(prompt, model, ...columns.map((name): SQLInputValue => sample[name] ?? null));
  if (isPruneDue(prompt, model)) prune.run(prompt, model, prompt, model);
}

function read({ select }: Statements, query: UsageQuery): readonly UsageSample[] {
  const given = [query.prompt, query.model].filter((value) => value !== undefined);
  return select(query)
    .all(...given)
    .map(({ costUsd, ...row }) => {
      // The columns are the sample's, and the table is strict.
      const sample = { ...row } as unknown as UsageSample;
      return typeof costUsd === "number" ? { ...sample, costUsd } : sample;
    });
}
