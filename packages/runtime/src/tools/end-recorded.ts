// How the transactions of calls end where a run is recorded: what outlives the process is committed with its record.
import type { Run } from "../run.ts";
import { endTransaction, rollback } from "../transactions/ending.ts";
import type { Transaction } from "../transactions/transaction.ts";

/** What outlives the process is committed between two entries of the run's record; undefined: nothing is waited for. */
export function endRecorded(run: Run, transaction: Transaction): Promise<void> | undefined {
  const committing = run.tape?.committing(run, transaction);
  return committing === undefined ? endTransaction(transaction) : commitRecorded(run, transaction, committing);
}

/** Ends a transaction inside the common one; that it is committed is recorded when the last of them has ended. */
export async function endInside(run: Run, transaction: Transaction, ended: Transaction[]): Promise<void> {
  const committing = run.tape?.committing(run, transaction);
  await (committing === undefined ? endTransaction(transaction) : endKept(transaction, committing));
  ended.push(transaction);
}

async function commitRecorded(run: Run, transaction: Transaction, committing: Promise<void>): Promise<void> {
  await endKept(transaction, committing);
  await run.tape?.committed(run, transaction);
}

/** Ends a transaction when it is kept that it will; what cannot be recorded does not count. */
async function endKept(transaction: Transaction, committing: Promise<void>): Promise<void> {
  try {
    await committing;
  } catch (fault) {
    await rollback(transaction);
    await endTransaction(transaction);
    throw fault;
  }
  await endTransaction(transaction);
}
