import type { Run } from "../run.ts";
import type { Transaction } from "../transactions/transaction.ts";

/** The tool call around a nested evaluation. */
export interface Nesting {
  readonly run: Run;
  readonly callId: string;
  /** Fires when the call ends, however it does. */
  readonly signal: AbortSignal;
  readonly transaction: Transaction;
  /** The tool is declared to change nothing, so nothing inside it may change anything. */
  readonly readOnly: boolean;
  /** @throws {RevokedError} when the call is over. */
  assertLive(): void;
}
