import { DefinitionError, RevokedError, UnusableError, type Resources, type Session } from "@proviso/core";
import { noUsage } from "@proviso/core/internal";
import { errorOf, failure, isFailure, type Failure } from "./failures.ts";
import { BegunEvaluations } from "./transactions/begun-evaluations.ts";
import type { ResourceContext } from "./resources/asking.ts";
import { contextOf } from "./resources/context.ts";
import type { StorePosition } from "./resources/store.ts";
import type { SessionMark } from "./session/concurrent-changes.ts";
import { coreOf, type SessionCore } from "./session/session-core.ts";
import { currentTransaction, runAsPartOf } from "./transactions/async-context.ts";
import { endTransaction, othersInside, restoreSavepoints, rollback } from "./transactions/ending.ts";
import { LockFault } from "./transactions/endless-wait.ts";
import { assertMayBegin, enclosing, noEnclosing, originOf, type Enclosing } from "./transactions/session-view.ts";
import { assertUsable, takeSavepoints, type Savepoint } from "./transactions/snapshots.ts";
import { viewsOf, type TransactionViews } from "./transaction-views.ts";
import { beginTransaction, type Transaction, type TransactionHost } from "./transactions/transaction.ts";

/** Session and resources as one; errors name the tag. */
export interface Snapshot {
  /** The label that it was made with. */
  readonly tag: string | undefined;
}

/** What is undone together. */
export interface TransactionScope {
  /** The session that takes part. */
  readonly session: Session;
  /** What `openResources` opened. */
  readonly resources: Resources;
  /** A label that errors name. */
  readonly tag?: string | undefined;
}

interface Snapshotted {
  readonly core: SessionCore;
  readonly context: ResourceContext;
  readonly mark: SessionMark;
  readonly position: StorePosition;
  readonly savepoints: readonly Savepoint[];
}
const snapshots = new WeakMap<Snapshot, Snapshotted>();

/**
 * Session and resources as they are now. It waits for the calls that use them. A resource that is not made yet has no state
 * to keep: one whose data outlives it, a folder for example, has to be bound `eager`, or else restoring the snapshot does not
 * undo what was done to it.
 * @throws {DefinitionError} for a session or resources of other making.
 * @throws {UnusableError} for a session or a resource that cannot be used any more.
 * @throws {DeadlockError} inside a tool call that holds them: its changes are undone when it fails.
 */
export async function createSnapshot(scope: TransactionScope): Promise<Snapshot> {
  return locked(scope, "locks", async ({ core, context }) => {
    const savepoints = await takeSavepoints(context.participants());
    const snapshot: Snapshot = Object.freeze({ tag: scope.tag });
    snapshots.set(snapshot, { core, context, mark: core.mark(), position: context.position(), savepoints });
    return snapshot;
  });
}

/**
 * Restores session and resources, as often as wanted, and closes resources that were made since, as they are. Events that were delivered
 * stay delivered, log slices keep their entries. In the body of a transaction it is undone with that. What a close throws is
 * what closing the resources rejects with; the restore does not reject for it.
 * @throws {DefinitionError} for a snapshot of another session or of other resources.
 * @throws {UnusableError} for a session or a resource that cannot be used any more, before anything is restored; and when a
 * resource cannot be restored: the session is unusable from then on.
 */
export async function restoreSnapshot(scope: TransactionScope, snapshot: Snapshot): Promise<void> {
  const known = snapshots.get(snapshot);
  if (known?.core !== coreOf(scope.session) || known.context !== contextOf(scope.resources)) {
    throw new DefinitionError(`The snapshot ${nameOf(snapshot.tag)} is not of this session and these resources.`);
  }
  await locked(scope, "locks", async ({ core, context, transaction: own }) => {
    for (const { resource } of known.savepoints) assertUsable(resource);
    core.restore(known.mark, own.parent && originOf(own.parent));
    await restoreSavepoints(own, known.savepoints, `the snapshot ${nameOf(snapshot.tag)} could not be restored`);
    const removed = context.removeSince(known.position);
    // The transaction around may fail yet: then they are there again.
    if (own.parent === undefined) await removed.close().catch((error: unknown) => context.rememberFailedClose(error));
    else own.removed.push(removed);
    core.assertUsable();
  });
}

/**
 * Undoes what the body did to session and resources when it throws, or calls `rollback` and goes on. Calls of other
 * evaluations, and other transactions, over the same session or resources wait until it has ended. What the body dispatches
 * is delivered to listeners at once. Where the runtime has no AsyncLocalStorage, only what goes through the views is the
 * body's.
 *
 * An evaluation that the body begins is part of it, awaited or not. When the body returns, those that still run are waited
 * for, however long: give them a deadline. When it throws, or calls `rollback`, they are aborted, and the undoing begins when
 * their calls have ended, and their handlers, which are waited for at most 5 seconds. Then nothing begins over the session or the resources in what the body left: it is
 * refused with a RevokedError.
 * @example
 * ```ts
 * import { Filesystem, provide } from "@proviso/core";
 * import { createSession, memoryFilesystem, openResources, transaction } from "@proviso/runtime";
 *
 * const session = createSession();
 * await using resources = await openResources([provide(Filesystem, memoryFilesystem())]);
 * const files = resources.get(Filesystem);
 * await transaction({ session, resources }, async () => {
 *   await files.write("draft.txt", "Half a sentence");
 *   throw new Error("no more ideas");
 * }).catch(() => {});
 * console.log(await files.exists("draft.txt")); // false
 * ```
 * @throws what the body throws.
 * @throws {UnusableError} when a resource cannot be restored or cannot commit: the session is unusable from then on.
 * @throws {DeadlockError} inside a tool call that holds the session or a resource of it.
 */
export async function transaction<T>(
  scope: TransactionScope,
  body: (rollback: () => Promise<void>, views: TransactionViews) => Promise<T>,
): Promise<T> {
  if (typeof body !== "function")
    throw new DefinitionError("transaction needs a body: transaction(scope, async () => {}).");
  const work = async ({ core, context, transaction: own }: Locked): Promise<T> => {
    try {
      const views = viewsOf(scope.session, context, own);
      const undo = (): Promise<void> => undoSoFar(scope, own);
      // What the body returns may begin its work only when it is awaited, as queries of databases do.
      const result = await runAsPartOf({ transaction: own, guard: undefined }, async () => await body(undo, views));
      await bodyEnded(own);
      own.undone = false;
      return result;
    } catch (error) {
      own.evaluations?.abort(new RevokedError(`${own.name} is undone: its body has thrown.`));
      await bodyEnded(own);
      await rollback(own);
      throw withThrown(core, error);
    }
  };
  return locked(scope, "snapshots", work, { evaluations: new BegunEvaluations() });
}

/** Nothing begins in the body any more, and what began in it and was left ends before the transaction does. */
async function bodyEnded(own: Transaction): Promise<void> {
  own.stage = "closing";
  await own.evaluations?.settled();
  await othersInside(own);
}

/**
 * The undoing aborts the evaluations that run, whose calls it undoes, and waits for calls inside; no call begins before it
 * is done. Where it could never have its locks it is refused, and they go on.
 */
async function undoSoFar(scope: TransactionScope, own: Transaction): Promise<void> {
  if (own.stage !== "open") throw new DefinitionError(`${own.name} is over: it cannot be rolled back any more.`);
  const call = callIn(own);
  if (call !== undefined) throw typed(waitsForItself(own.name, call.name), scope);
  let ended: Promise<void> | undefined;
  const abort = (): void => {
    if (ended !== undefined) return;
    const undone = own.evaluations;
    own.evaluations = new BegunEvaluations();
    undone?.abort(new RevokedError(`${own.name} is rolled back.`));
    ended = undone?.settled();
  };
  const undo = async (): Promise<void> => {
    abort();
    await ended;
    await rollback(own);
  };
  await locked(scope, "locks", undo, { around: inBodyOf(own, scope.session), onWait: abort });
}

/** The call of an evaluation of the body, in whose code this is: what waits for that evaluation waits for itself. */
function callIn(own: Transaction): Transaction | undefined {
  let call: Transaction | undefined;
  let around = currentTransaction()?.transaction;
  for (; around !== undefined && around !== own; around = around.parent ?? around.startedIn) {
    if (around.scope === undefined && !around.ended) call ??= around;
  }
  return around === undefined ? undefined : call;
}

function waitsForItself(waitedFor: string, heldBy: string): Failure {
  const message = `${heldBy} cannot roll back ${waitedFor}, which would wait for that call: throw in the body, or call rollback there.`;
  return failure({ stop: "deadlock", phase: "tool", waitedFor, heldBy, message });
}

/** Part of the body, also where a call or a transaction inside it begins this: that one may wait for it. */
function inBodyOf(own: Transaction, session: Session): Enclosing {
  const { parent, startedIn = parent } = enclosing(session);
  return { ...noEnclosing, parent: own, startedIn: startedIn === own ? undefined : startedIn };
}

/** A rollback that failed does not hide why the body had thrown. */
function withThrown(core: SessionCore, thrown: unknown): unknown {
  try {
    core.assertUsable();
  } catch (error) {
    if (!(error instanceof UnusableError)) return error;
    const { message, what, id, operation, cause } = error;
    const both = new AggregateError([cause, thrown], "The rollback failed; the body had thrown before.");
    return new UnusableError(message, { what, id, operation, cause: both });
  }
  return thrown;
}

interface Locked {
  readonly core: SessionCore;
  readonly context: ResourceContext;
  readonly transaction: Transaction;
}

interface LockedOptions {
  readonly around?: Enclosing;
  readonly evaluations?: BegunEvaluations;
  /** Called when it begins to wait for a lock. */
  readonly onWait?: () => void;
}

let begun = 0;

/** Runs the work while the session and all resources of the scope are locked. */
async function locked<T>(
  scope: TransactionScope,
  takes: "snapshots" | "locks",
  work: (all: Locked) => Promise<T>,
  { around = enclosing(scope.session), evaluations, onWait }: LockedOptions = {},
): Promise<T> {
  const core = coreOf(scope.session);
  const context = contextOf(scope.resources);
  assertMayBegin(around, core, [context]);
  const own = await beginTransaction({
    id: `transaction ${++begun}`,
    name: `the transaction ${nameOf(scope.tag)}`,
    core,
    sessionMode: "write",
    resources: context.participants().map((participant) => ({ ...participant, mode: "write" as const })),
    mode: "write",
    parent: around.parent,
    startedIn: around.startedIn,
    takes,
    scope: context,
    ...(evaluations && { evaluations }),
    host: hostOf(context, onWait),
  });
  if ("error" in own) throw own.error;
  if (isFailure(own)) throw typed(own, scope);
  let result: T;
  try {
    result = await work({ core, context, transaction: own });
  } catch (error) {
    await endTransaction(own);
    // What the work asked for late could never be had.
    throw error instanceof LockFault ? typed(error.failure, scope) : error;
  }
  await endTransaction(own);
  // A commit that failed: what the work has changed is lost.
  core.assertUsable();
  return result;
}

function typed(failure: Failure, { tag }: TransactionScope): Error {
  return errorOf(failure, { promptName: tag ?? "", usage: noUsage, messages: [], toolResults: [] });
}

/**
 * Makes the host of a `transaction()`: it has no limits. A failed rollback or commit makes the session unusable, which the
 * caller learns at once; a close or a release that failed is what closing the scope rejects with.
 */
function hostOf(context: ResourceContext, onWait: (() => void) | undefined): TransactionHost {
  return {
    within(work) {
      onWait?.();
      return work;
    },
    withinGrace: async (work, onError) => void (await work.catch(onError)),
    redact: (value) => value,
    report() {},
    warn: (_, error) => context.rememberFailedClose(error),
  };
}

function nameOf(tag: string | undefined): string {
  return tag === undefined ? "without a tag" : `"${tag}"`;
}
