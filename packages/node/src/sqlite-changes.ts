// SQLite notes the rows that a call changes while a session of its session extension is open.
// Source: https://www.sqlite.org/sessionintro.html. A session sees only tables that declare a primary key, and it compares
// what it noted with what is there when it is asked: what was changed back has not changed.
import type { ResourceChange } from "@proviso/core";
import { firstChanges } from "@proviso/core/internal";
import type { DatabaseSync } from "node:sqlite";
import { changedRows } from "./sqlite-changeset.ts";
import { columnsOf, pragmaOf } from "./sqlite-rows.ts";

/** What is noted from now on. */
export interface NotedChanges {
  /** undefined: it is not known. */
  changes(): readonly ResourceChange[] | undefined;
  close(): void;
}

/** Begins to note. */
export function noteChanges(database: DatabaseSync): NotedChanges {
  // Not every runtime that has node:sqlite has sessions.
  if (typeof database.createSession !== "function") return { changes: () => undefined, close() {} };
  const session = database.createSession();
  const [version, rows] = [schemaVersion(database), totalChanges(database)];
  return {
    changes() {
      // Rows of tables that were made or dropped are not all noted.
      if (schemaVersion(database) !== version) return undefined;
      if (totalChanges(database) === rows) return [];
      if (hasTablesWithoutKey(database)) return undefined;
      return firstChanges(changedRows(session.changeset()));
    },
    close() {
      // A database that was closed has closed it.
      try {
        session.close();
      } catch {}
    },
  };
}

function schemaVersion(database: DatabaseSync): number {
  return pragmaOf(database, "schema_version");
}

/** How many rows were ever changed by this connection, also by triggers and what a foreign key does. */
function totalChanges(database: DatabaseSync): number {
  const [total] = columnsOf(database.prepare("SELECT total_changes()").get() ?? [0]);
  return Number(total);
}

/** Tables of SQLite itself, and those of the owner of a lent file, are not what calls change. */
function hasTablesWithoutKey(database: DatabaseSync): boolean {
  const sql = `SELECT 1 FROM pragma_table_list AS tables
    WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'proviso\\_%' ESCAPE '\\'
      AND NOT EXISTS (SELECT 1 FROM pragma_table_info(tables.name) WHERE pk > 0) LIMIT 1`;
  return database.prepare(sql).get() !== undefined;
}
