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

/** Rolls back. The transaction may be over already; the first error counts. */
export function rollBack(database: DatabaseSync): void {
  try {
    database.exec("ROLLBACK");
  } catch {}
}
