// How a transaction ends: by a rollback, then or without it by the release of its snapshots and locks.
import { messageOf } from "@proviso/core/internal";
import { isUnusable, isUsedByOthers, participle, releaseSnapshots, restore, type Savepoint } from "./snapshots.ts";
import { leave, type Transaction } from "./transaction.ts";

/**
 * Session first, at once; then the resources, which may take their time. `calls`: only what these calls did in the session
 * is undone.
 */
export async function rollback(transaction: Transaction, calls?: ReadonlySet<string>): Promise<void> {
  const { snapshots, made } = transaction;
  undoInSession(transaction, calls);
  transaction.undone = true;
  // The body of a transaction may go on after it.
  if (transaction.scope === undefined) transaction.stage = "sealed";
  for (const { putBack } of transaction.removed.splice(0)) putBack();
  if (snapshots.length + made.length + transaction.settling.length === 0) return;
  // What was inside may still be released: it is restored after that.
  const restoring = Promise.all(transaction.settling).then(() => restoreAll(transaction));
  waitFor(transaction, restoring);
  await transaction.host.withinGrace(restoring, (error) => fail(transaction, "rollback", error));
}

/** Undoes what these calls did in the session, and no more; all where no calls are given. */
export function undoInSession({ core, mark, pendingEvents, host }: Transaction, calls?: ReadonlySet<string>): void {
  if (mark !== undefined) core.rollback(mark, calls);
  const others = calls === undefined ? [] : pendingEvents.filter(({ callId }) => !calls.has(callId));
  const undone = pendingEvents.splice(0, pendingEvents.length, ...others).filter((each) => !others.includes(each));
  if (undone.length > 0) host.undone?.(undone);
}

/** The transaction, and those around it, end and restore after this work. */
function waitFor(transaction: Transaction | undefined, work: Promise<unknown>): void {
  const settled: Promise<void> = work.then(
    () => forget(),
    () => forget(),
  );
  const waiting: Transaction[] = [];
  for (let one = transaction; one !== undefined; one = one.parent) waiting.push(one);
  const forget = (): void => waiting.forEach((one) => void one.settling.splice(one.settling.indexOf(settled), 1));
  for (const one of waiting) one.settling.push(settled);
}

/** The last taken first; tries all of them, then discards what was made. @throws {AggregateError} */
async function restoreAll(transaction: Transaction): Promise<void> {
  const errors: unknown[] = [];
  // What was being taken when the call ended, of a resource that joined late, is there first.
  await allTaken(transaction);
  for (const taken of transaction.snapshots.toReversed()) {
    await restore(taken, transaction.host).catch((cause: unknown) => errors.push(cause));
  }
  for (const made of transaction.made.splice(0).toReversed()) {
    const { instance } = made;
    // Other transactions may use it meanwhile: it was restored to the state in which it was made.
    if (made.isShared || isUsedByOthers(transaction, instance)) continue;
    // Here the decision is made: from now on no caller gets it, and no transaction takes a snapshot of it.
    const close = made.takeOut();
    if (close === undefined) continue;
    await forgetSnapshots(transaction, instance);
    // A close that hangs keeps the locks no longer than the evaluation's end.
    await transaction.host.withinGrace(close(), (error) => transaction.host.warn("resource.close.failed", error));
  }
  if (errors.length > 0) throw new AggregateError(errors, errors.map(messageOf).join("; "));
}

/** What is about to be closed is restored no more, here and in the transactions around. */
async function forgetSnapshots(transaction: Transaction, instance: unknown): Promise<void> {
  for (let one: Transaction | undefined = transaction; one !== undefined; one = one.parent) {
    const at = one.snapshots.findIndex(({ resource }) => resource === instance);
    const [taken] = at === -1 ? [] : one.snapshots.splice(at, 1);
    // What could not be restored is not released: a resource that outlives the process may restore it yet.
    if (taken === undefined || isUnusable(taken.resource)) continue;
    try {
      await taken.taking;
      await taken.resource.release?.(taken.snapshot);
    } catch (error) {
      one.host.warn("transaction.release.failed", error);
    }
  }
}

/** The last taken first; where one cannot be restored, session and resource are unusable. */
export async function restoreSavepoints(
  transaction: Transaction,
  savepoints: readonly Savepoint[],
  failed: string,
): Promise<void> {
  for (const savepoint of savepoints.toReversed()) {
    await restore(savepoint, transaction.host).catch((cause: unknown) => {
      transaction.core.poison("rollback", `${failed}: ${messageOf(cause)}`, cause);
    });
  }
}

function fail({ name, core, host }: Transaction, operation: "rollback" | "commit", error: unknown): void {
  const cause = host.redact(error);
  const message = `the changes of ${name} could not be ${participle[operation]}: ${messageOf(cause)}`;
  core.poison(operation, message, cause);
  host.report(operation, message, cause);
}

/**
 * Makes the current state permanent, even if the process dies; then waiting transactions may begin. What could not be
 * restored is not released: a resource that outlives the process may restore it yet. Returns undefined where nothing
 * has to be waited for.
 */
export function endTransaction(transaction: Transaction): Promise<void> | undefined {
  const { core, mark, parent, settling, host } = transaction;
  transaction.stage = "sealed";
  if (mark !== undefined) core.close(mark);
  // Restored as a whole with the transaction around.
  if (parent?.ended === false) {
    parent.made.push(...transaction.made.splice(0));
    parent.removed.push(...transaction.removed.splice(0));
    parent.closings.push(...transaction.closings.splice(0));
  }
  if (transaction.removed.length > 0) {
    transaction.closings.push(...transaction.removed.splice(0).map(({ close }) => close));
  }
  const isQuiet = settling.length === 0 && transaction.inside === 0;
  const ending = isQuiet ? releaseAndClose(transaction) : releaseLater(transaction);
  if (ending === undefined) {
    leave(transaction);
    return undefined;
  }
  waitFor(parent, ending);
  void ending.catch(() => {}).then(() => leave(transaction));
  return host.withinGrace(ending, (error) => {
    if (transaction.undone) host.warn("transaction.release.failed", error);
    else fail(transaction, "commit", error);
  });
}

/** What is inside may still release its snapshots, or run where a body did not wait for it. */
export async function othersInside(transaction: Transaction): Promise<void> {
  if (transaction.inside === 0) return;
  await new Promise<void>((resolve) => {
    const before = transaction.onIdle;
    transaction.onIdle = () => {
      before?.();
      resolve();
    };
  });
}

async function releaseLater(transaction: Transaction): Promise<void> {
  await Promise.all(transaction.settling);
  await othersInside(transaction);
  await releaseAndClose(transaction);
}

/** undefined where no snapshot is still being taken; one that cannot be taken is no longer in the list then. */
function allTaken({ snapshots }: Transaction): Promise<unknown> | undefined {
  if (snapshots.length === 0) return undefined;
  const pending = snapshots.flatMap(({ taking }) => (taking === undefined ? [] : [taking]));
  return pending.length === 0 ? undefined : Promise.allSettled(pending);
}

function releaseAndClose(transaction: Transaction): Promise<void> | undefined {
  const pending = allTaken(transaction);
  if (pending !== undefined) return pending.then(() => releaseAndClose(transaction));
  const releasing = releaseSnapshots(transaction);
  if (releasing === undefined) return closeAll(transaction);
  return releaseThenClose(transaction, releasing);
}

async function releaseThenClose(transaction: Transaction, releasing: Promise<void>): Promise<void> {
  try {
    await releasing;
  } finally {
    await closeAll(transaction);
  }
}

/**
 * Closes in reverse order, one after another; returns undefined where nothing has to be waited for. A close that hangs
 * holds the locks no longer than the evaluation's end.
 */
function closeAll({ closings, host }: Transaction): Promise<void> | undefined {
  if (closings.length === 0) return undefined;
  const closing = closings.splice(0).toReversed();
  const all = (async () => {
    for (const close of closing) {
      try {
        await close();
      } catch (error) {
        host.warn("resource.close.failed", error);
      }
    }
  })();
  return host.withinGrace(all, () => {});
}
