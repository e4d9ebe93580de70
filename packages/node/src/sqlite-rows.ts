import type { DatabaseSync } from "node:sqlite";

/**
 * Returns a row's values in order. The application may have opened the database with rows as arrays and numbers as
 * bigint.
 */
export function columnsOf(row: object): readonly unknown[] {
  return Object.values(row);
}

/** A setting that is a number. */
export function pragmaOf(database: DatabaseSync, name: string): number {
  const [value] = columnsOf(database.prepare(`PRAGMA ${name}`).get() ?? [0]);
  return Number(value);
}

/**
 * Whether the file is one of this framework's stores: conversations, usage, a journal, attempts. The application_id of
 * each is "Pv" and two more letters.
 */
export function isOfStore(database: DatabaseSync): boolean {
  return pragmaOf(database, "application_id") >>> 16 === 0x5076;
}

/** Runs it in one transaction that begins as a writer's: what is read in it stays true until it is written. */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

/** Rolls back. The transaction may be over already; the first error counts. */
export function rollBack(database: DatabaseSync): void {
  try {
    database.exec("ROLLBACK");
  } catch {}
}
