import {
  DefinitionError,
  RevokedError,
  UnusableError,
  type AppEvent,
  type CallGuard,
  type DispatchResult,
  type Resources,
  type Session,
} from "@proviso/core";
import { noUsage } from "@proviso/core/internal";
import { errorOf, isFailure, type Failure } from "./failures.ts";
import type { Calling, ResourceContext } from "./resources/asking.ts";
import { contextOf, rememberContext } from "./resources/context.ts";
import type { StorePosition } from "./resources/store.ts";
import type { SessionMark } from "./session/concurrent-changes.ts";
import { coreOf, withCore, type SessionCore } from "./session/session-core.ts";
import { runAsPartOf } from "./transactions/async-context.ts";
import { endTransaction, othersInside, restoreSavepoints, rollback } from "./transactions/ending.ts";
import { enclosing, originOf, rememberBody, type Enclosing } from "./transactions/session-view.ts";
import { assertUsable, takeSavepoints, type Savepoint } from "./transactions/snapshots.ts";
import { beginTransaction, LockFault, type Transaction, type TransactionHost } from "./transactions/transaction.ts";

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

/** Session and resources as the body of a transaction uses them. */
export interface TransactionViews {
  /** What is dispatched through it is undone with the transaction. */
  readonly session: Session;
  /** What is first made through it is undone with the transaction. */
  readonly resources: Resources;
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
 * here: bind what outlives its instance, a folder for example, `eager`.
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
 * evaluations, and other transactions, over the same session or resources wait until it has ended; an evaluation that the
 * body begins is part of it. What the body dispatches is delivered to listeners at once. Where the runtime has no
 * AsyncLocalStorage, only what goes through the views is the body's.
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
  return locked(scope, "snapshots", async ({ core, context, transaction: own }) => {
    // The undoing waits for calls inside, and no call begins before it is done.
    const undo = (): Promise<void> => {
      if (own.stage !== "open") throw new DefinitionError(`${own.name} is over: it cannot be rolled back any more.`);
      return locked(scope, "locks", () => rollback(own), inBodyOf(own, scope.session));
    };
    try {
      const views = viewsOf(scope, context, own);
      const result = await runAsPartOf({ transaction: own, guard: undefined }, () => body(async () => undo(), views));
      await bodyEnded(own);
      own.undone = false;
      return result;
    } catch (error) {
      await bodyEnded(own);
      await rollback(own);
      throw withThrown(core, error);
    }
  });
}

/** Evaluations that the body has begun may still be in a call. */
async function bodyEnded(own: Transaction): Promise<void> {
  own.stage = "closing";
  await othersInside(own);
}

/** Part of the body, also where a call or a transaction inside it begins this: that one may wait for it. */
function inBodyOf(own: Transaction, session: Session): Enclosing {
  const { parent, startedIn = parent } = enclosing(session);
  return { parent: own, startedIn: startedIn === own ? undefined : startedIn };
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

let begun = 0;

/** Runs the work while the session and all resources of the scope are locked. */
async function locked<T>(
  scope: TransactionScope,
  takes: "snapshots" | "locks",
  work: (all: Locked) => Promise<T>,
  around = enclosing(scope.session),
): Promise<T> {
  const core = coreOf(scope.session);
  const context = contextOf(scope.resources);
  const own = await beginTransaction({
    id: `transaction ${++begun}`,
    name: `the transaction ${nameOf(scope.tag)}`,
    core,
    sessionMode: "write",
    resources: context.participants().map((participant) => ({ ...participant, mode: "write" as const })),
    mode: "write",
    ...around,
    takes,
    scope: context,
    host: hostOf(context),
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
function hostOf(context: ResourceContext): TransactionHost {
  return {
    within: (work) => work,
    withinGrace: async (work, onError) => void (await work.catch(onError)),
    redact: (value) => value,
    report() {},
    warn: (_, error) => context.rememberFailedClose(error),
  };
}

function viewsOf({ session }: TransactionScope, context: ResourceContext, own: Transaction): TransactionViews {
  const calling: Calling = { transaction: own, guard: bodyGuard(own), mode: () => "write", assertMayAsk() {} };
  const { resources } = context.forCall(calling);
  rememberContext(resources, context);
  return { session: sessionWithin(session, own), resources };
}

/** The views end with the body: what is used later would be part of nothing. */
function bodyGuard(own: Transaction): CallGuard {
  return {
    isReadOnly: () => false,
    assertLive() {
      if (own.ended) throw new RevokedError(`${own.name} is over: its views cannot be used any more.`);
    },
    assertMayChange() {},
    fail() {},
  };
}

function nameOf(tag: string | undefined): string {
  return tag === undefined ? "without a tag" : `"${tag}"`;
}

/** Makes a view of the session for the body of a transaction: what is dispatched through it is undone with the transaction. */
function sessionWithin(session: Session, transaction: Transaction): Session {
  const core = coreOf(session);
  const dispatch = (event: AppEvent): DispatchResult => {
    if (transaction.ended) throw new RevokedError(`${transaction.name} is over: its session cannot be used any more.`);
    return core.dispatch(event, originOf(transaction));
  };
  const view: Session = { ...session, dispatch };
  rememberBody(view, transaction);
  return withCore(view, core);
}
