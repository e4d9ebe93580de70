// What a call changed in the file of the journal, and the record that it did, are one commit.
import { committedWithOf } from "../transactions/committed-with.ts";
import type { Transaction } from "../transactions/transaction.ts";

/** The file of a run, where resources may be in it too. */
export interface Together {
  /** The file, by its identity. */
  readonly file: object;
  /**
   * Writes all that the run has appended into the transaction that is open in the file.
   * @throws {JournalError} where it cannot be kept: then nothing of the transaction may be committed.
   */
  write(): void;
}

type Snapshots = Pick<Transaction, "snapshots">;

/** Whether the calls changed a resource in the run's own file, and that is not committed yet. */
export function isOpenIn(together: Together | undefined, { snapshots }: Snapshots): boolean {
  if (together === undefined) return false;
  return snapshots.some(({ resource }) => {
    const place = committedWithOf(resource);
    return place?.file === together.file && place.isOpen();
  });
}

/** Whether everything that outlives the process is in the run's own file. */
export function isAllIn(together: Together | undefined, { snapshots }: Snapshots): boolean {
  if (together === undefined) return false;
  return snapshots.every(
    ({ resource }) => resource.durable !== true || committedWithOf(resource)?.file === together.file,
  );
}
