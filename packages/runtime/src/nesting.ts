import type { Run } from "./run.ts";
import type { Gate } from "./gate.ts";
import type { Transaction } from "./tools/transaction.ts";

/** The tool call around a nested evaluation. */
export interface Nesting {
  readonly run: Run;
  readonly callId: string;
  /** Fires when the call ends, however it does. */
  readonly signal: AbortSignal;
  readonly transaction: Transaction;
  /** Between evaluations that the same call has begun. */
  readonly gate: Gate;
  /** The tool said that it changes nothing, so nothing inside it may. */
  readonly readOnly: boolean;
  /** @throws {RevokedError} when the call is over. */
  assertLive(): void;
}
