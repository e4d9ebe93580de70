import { ProvisoError } from "./errors.ts";

/** Why a journal refused or failed; the `reason` of a JournalError. */
export type JournalFault =
  | "damaged"
  | "newer"
  | "foreign"
  | "busy"
  | "full"
  | "fenced"
  | "not_found"
  | "exists"
  | "token"
  | "closed"
  | "failed";

/** A journal, or the store under it, refused or failed. */
export class JournalError extends ProvisoError {
  readonly code = "journal";
  override readonly name = "JournalError";
  /**
   * damaged, newer, foreign: the file or the record, which is left alone · busy: another process has the lock, nothing was
   * changed · full: no room · fenced: another writer has taken the run over · not_found, exists: the run · token: unknown,
   * used or expired · closed: the journal was closed before · failed: all else, see `cause`.
   */
  readonly reason: JournalFault;
  /** The id of the run; undefined where the error is about the whole journal. */
  readonly run: string | undefined;
  constructor(
    message: string,
    details: { readonly reason: JournalFault; readonly run?: string | undefined; readonly cause?: unknown },
  ) {
    super(message, details);
    this.reason = details.reason;
    this.run = details.run;
  }
}
