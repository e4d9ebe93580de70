// What a call changed in the file of the journal, and the record that it did, are one commit. Meanwhile nothing else of
// the journal is written.
import type { Failure } from "../failures.ts";
import { committedWithOf } from "../transactions/committed-with.ts";
import { endlessWaitForFile } from "../transactions/endless-wait.ts";
import { waitBeside } from "../transactions/lock.ts";
import { isAround, type LockOwner } from "../transactions/lock-state.ts";
import { lockOf } from "../transactions/snapshots.ts";
import type { Transaction } from "../transactions/transaction.ts";

/** The file of a run, where resources may be in it too. */
export interface Together {
  /** The file, by its identity. */
  readonly file: object;
  /** Resolves when no call has a transaction open in the file; undefined: none has. */
  free(): Promise<void> | undefined;
  /**
   * Writes all that the run has appended into the transaction that is open in the file.
   * @throws {JournalError} where it cannot be kept: then nothing of the transaction may be committed.
   */
  write(): void;
}

/** A run, as waits for its file see it. */
interface RunInFile {
  readonly id: string;
  readonly together?: Together | undefined;
  readonly hasFailed?: boolean | undefined;
  readonly signal: AbortSignal;
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

/** Whether the body of a `transaction()` has a transaction open in the file: what a call changes there is committed with it. */
export function isOpenInBody(together: Together | undefined): boolean {
  if (together?.free() === undefined) return false;
  return lockOf(together.file).holds.some(({ owner }) => owner.scope !== undefined);
}

/** Whether everything that outlives the process is in the run's own file. */
export function isAllIn(together: Together | undefined, { snapshots }: Snapshots): boolean {
  if (together === undefined) return false;
  return snapshots.every(
    ({ resource }) => resource.durable !== true || committedWithOf(resource)?.file === together.file,
  );
}

/** Why a transaction would wait for ever for the file of a run; undefined: the file is free, or will be. */
export function endlessWaitFor(run: RunInFile, by: LockOwner | undefined): Failure | undefined {
  const together = waitedFor(run);
  if (by === undefined || together?.free() === undefined) return undefined;
  const holder = lockOf(together.file).holds.find(({ owner }) => isAround(owner, by))?.owner;
  return holder && endlessWaitForFile(run.id, holder.name);
}

/** Resolves when the file of a run is free. The wait is seen by those that would wait for the transaction in turn. */
export function whenFree(run: RunInFile, by: LockOwner | undefined): Promise<void> | undefined {
  const together = waitedFor(run);
  const free = together?.free();
  if (free === undefined || together === undefined || by === undefined || by.ended) return free;
  return free.finally(waitBeside(by, lockOf(together.file)));
}

/** The file that a run waits for; undefined: it writes no more, and waits for nothing. */
function waitedFor({ together, hasFailed = false, signal }: RunInFile): Together | undefined {
  return hasFailed || signal.aborted ? undefined : together;
}
