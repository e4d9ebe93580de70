import { ProvisoError } from "@proviso/core";

/** Why a database refused; the `reason` of a SqliteError. */
export type SqliteFault =
  | "refused"
  | "busy"
  | "full"
  | "constraint"
  | "read_only"
  | "not_a_database"
  | "cannot_open"
  | "newer"
  | "undone"
  | "failed";

/** A database refused or failed; a tool that lets it pass shows its message to the model. */
export class SqliteError extends ProvisoError {
  readonly code = "sqlite";
  override readonly name = "SqliteError";
  /**
   * refused: a statement that a call may not run, or a file whose schema may not be changed · busy: another connection
   * holds the lock, nothing was changed · full: no room · constraint: one of the schema's · read_only: it was opened so ·
   * not_a_database, cannot_open: the file · newer: its schema is of a later program · undone: SQLite took the call's
   * changes back by itself · failed: all else, wrong SQL included.
   */
  readonly reason: SqliteFault;
  constructor(message: string, details: { readonly reason: SqliteFault; readonly cause?: unknown }) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.reason = details.reason;
  }
}

/** Primary result codes. Source: https://www.sqlite.org/rescode.html */
const faults: ReadonlyMap<number, readonly [SqliteFault, string]> = new Map([
  [5, ["busy", "The database is locked by another connection: nothing was changed, try again later"]],
  [6, ["busy", "A table is locked: nothing was changed, try again later"]],
  [8, ["read_only", "The database can only be read"]],
  [13, ["full", "The database is full"]],
  [14, ["cannot_open", "The database cannot be opened"]],
  [19, ["constraint", "The database refuses the change"]],
  [26, ["not_a_database", "The file is no SQLite database"]],
]);

/** SQLite's own error with its kind; errors of ours as they are. */
export function sqliteError(cause: unknown, doing?: string): Error {
  if (cause instanceof ProvisoError) return cause;
  const { errcode, errstr, message } = cause as { errcode?: unknown; errstr?: unknown; message?: unknown };
  // The low byte is the primary code; the others are details.
  const known = typeof errcode === "number" ? faults.get(errcode & 0xff) : undefined;
  const [reason, text] = known ?? (["failed", "The database failed"] as const);
  const why = String(message ?? errstr ?? cause);
  return new SqliteError(`${doing === undefined ? "" : `${doing}: `}${text} (${why}).`, { reason, cause });
}

/** SQLITE_READONLY: a change where `query_only` is on. */
export function isReadOnlyFault(error: unknown): boolean {
  const { errcode } = error as { errcode?: unknown };
  return typeof errcode === "number" && (errcode & 0xff) === 8;
}
