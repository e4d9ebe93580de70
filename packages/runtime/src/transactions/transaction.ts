// Sessions and resources are locked, snapshotted, restored, released and made unusable in this folder alone: here is how a
// transaction begins and what it is joined by, in ending.ts how it ends (rules 2 to 5), in snapshots.ts what it keeps.
//
// 1. Before its body runs, a transaction holds the locks of its session and resources and, unless it only "locks", has a
//    snapshot of each that may change; unless it commits, all are restored. A resource that joins later is locked and snapshotted before anyone gets it.
// 2. Locks are held until the snapshots are released, also where a rollback goes on after the evaluation has ended.
// 3. A rollback or a commit that fails is reported, and makes the session and the resource unusable.
// 4. Every snapshot is released once, after the commit or the rollback: until then a crash undoes the transaction.
// 5. What is made inside a transaction is closed when the outermost one has ended: until then it may have to be restored.
import { DefinitionError, RevokedError, type AppEvent, type StreamEvent } from "@proviso/core";
import { abortedFailure, isFailure, type Failure, type LimitFailure, type OnStop } from "../failures.ts";
import type { SessionMark } from "../session/concurrent-changes.ts";
import type { ObservedCalls } from "./observed-calls.ts";
import type { BegunEvaluations } from "./begun-evaluations.ts";
import type { SessionCore } from "../session/session-core.ts";
import { endlessAmong, endlessWait, LockFault, type NamedLock } from "./endless-wait.ts";
import { releaseAll, tryAcquire, waitInLine } from "./lock.ts";
import { firstAt, type Blocked, type LockMode, type LockOwner } from "./lock-state.ts";
import { lockOf, takeSnapshots, type Participant, type Taken } from "./snapshots.ts";

export interface Transaction extends LockOwner {
  /** Session events with this evaluation id, and of evaluations inside it, are what it does. */
  readonly id: string;
  readonly parent: Transaction | undefined;
  startedIn: Transaction | undefined;
  readonly core: SessionCore;
  readonly snapshots: Taken[];
  /** Application events that were reduced and that listeners have not received yet, with the call that did it. */
  readonly pendingEvents: PendingEvent[];
  readonly made: Made[];
  /** What a restored snapshot took out of the scope: it is closed when the transaction commits, else put back. */
  readonly removed: Removed[];
  /** Each closes something that was made in it, or in a transaction inside it. */
  readonly closings: (() => Promise<void> | undefined)[];
  /** Restores and releases, its own and of those inside it, that may go on after the evaluation has ended; none rejects. */
  readonly settling: Promise<void>[];
  readonly host: TransactionHost;
  /** The evaluations that begin in the body; undefined in a call, where `context.evaluate` begins them. */
  evaluations: BegunEvaluations | undefined;
  mark: SessionMark | undefined;
  undone: boolean;
  /** "closing": what begins now is no part of it. "sealed": no resource joins, for what is there is restored or released. */
  stage: "open" | "closing" | "sealed";
  /** Whether `inside` of its parent counts it. */
  begun: boolean;
  /** How many inside it have not ended. */
  inside: number;
  /** Called when none is left. */
  onIdle: (() => void) | undefined;
}

export interface PendingEvent {
  readonly event: AppEvent;
  /** The evaluation whose stream and observers receive it. */
  readonly by: {
    readonly watch: ((event: StreamEvent) => void) | undefined;
    readonly observing: { app(event: AppEvent): void } | undefined;
  };
  readonly callId: string;
  /** The number of the framework's event before which it was reduced, and the turn that it had among others there. */
  readonly before: number;
  readonly order: number;
}

/** What was made while the transaction ran, and goes with it when it fails. */
export interface Made {
  readonly instance: unknown;
  /** Whether code outside the transaction has asked for it: it stays then. */
  readonly isShared: boolean;
  /** Takes it out of its scope, at once; returns what closes it. undefined: there is nothing to close here. */
  takeOut(): (() => Promise<void>) | undefined;
}

/** Resources that are no longer in their store, and not closed yet. */
export interface Removed {
  putBack(): void;
  /** Last first. @throws {AggregateError} when closing failed somewhere; everything was tried. */
  close(): Promise<void>;
}

/** What a transaction needs of the code that begins it. */
export interface TransactionHost extends ObservedCalls {
  /** The work, or the limit that ends the wait for it. */
  within<T>(work: Promise<T>, onStop?: OnStop): Promise<T | LimitFailure>;
  /** Waits for work, but not past the evaluation's end: then it continues in the background. Never rejects. */
  withinGrace(work: Promise<unknown>, onError: (error: unknown) => void): Promise<void>;
  /** Returns the value without the secrets. */
  redact<T>(value: T): T;
  /** A rollback or a commit failed. */
  report(operation: "rollback" | "commit", message: string, cause: unknown): void;
  /** Events that were dispatched are undone. Left out: nothing has to know. */
  undone?(events: readonly PendingEvent[]): void;
  /** A failure that changes nothing any more. */
  warn(message: string, error: unknown): void;
}

export interface TransactionOptions {
  readonly id: string;
  /** The name in words: `the call of publish (call_1)`. */
  readonly name: string;
  readonly core: SessionCore;
  /** "none": the transaction around holds it, and nothing inside has asked for it yet. */
  readonly sessionMode: LockMode | "none";
  readonly resources: readonly (Participant & { readonly mode: LockMode })[];
  /** How it holds resources that join later. */
  readonly mode: LockMode;
  readonly parent: Transaction | undefined;
  readonly startedIn: Transaction | undefined;
  /** "locks": nothing is to be undone. Default "snapshots". */
  readonly takes?: "snapshots" | "locks";
  /** The body of a `transaction()`: the scope that it is over, and the evaluations that begin in it. */
  readonly scope?: object;
  readonly evaluations?: BegunEvaluations;
  readonly host: TransactionHost;
}

/** Why a transaction could not begin: a limit, a wait without end, or what was thrown. */
export type NotBegun = Failure | { readonly error: unknown };

/** Begins synchronously where nothing has to be waited for. Where it cannot begin, nothing is held any more. */
export function beginTransaction(
  options: TransactionOptions,
): Transaction | NotBegun | Promise<Transaction | NotBegun> {
  const transaction = newTransaction(options);
  // Counted while it waits, too: the one around does not end before.
  transaction.begun = true;
  if (transaction.parent !== undefined) transaction.parent.inside += 1;
  const failed = (error: unknown): Promise<NotBegun> => abandon(transaction).then(() => ({ error }));
  const held = (stop: Failure | undefined): Transaction | Promise<NotBegun> =>
    stop === undefined ? opened(transaction, options) : abandon(transaction).then(() => stop);
  try {
    const waiting = holdAll(transaction, options);
    return waiting === undefined
      ? opened(transaction, options)
      : waiting.then<Transaction | NotBegun>(held).catch(failed);
  } catch (error) {
    return failed(error);
  }
}

/** Waits for the locks, then takes the snapshots. After each wait it begins again: what is held by then stays as it is. */
function holdAll(transaction: Transaction, options: TransactionOptions): Promise<Failure | undefined> | undefined {
  const { core, resources, host, takes = "snapshots" } = options;
  core.assertUsable();
  const locks = inOrder(options);
  for (const wanted of locks) {
    const blocked = tryAcquire(transaction, wanted);
    if (blocked === undefined) continue;
    const endless = endlessAmong(transaction, locks);
    if (endless !== undefined) return Promise.resolve(endless);
    return waitUntilHeld(transaction, blocked, wanted).then((stop) => stop ?? holdAll(transaction, options));
  }
  for (const participant of takes === "snapshots" ? resources : []) {
    const taking = takeSnapshots(transaction, participant);
    if (taking === undefined) continue;
    return host.within(taking).then((stop) => (isFailure(stop) ? stop : holdAll(transaction, options)));
  }
  return undefined;
}

function opened(transaction: Transaction, { core, takes = "snapshots" }: TransactionOptions): Transaction {
  if (takes === "locks") return transaction;
  transaction.mark = core.mark();
  // An evaluation says by its events what it is inside of; a body may dispatch nothing by itself.
  const { parent, scope } = transaction;
  core.open(transaction.mark, transaction.id, scope && parent && { evaluationId: parent.id, callId: "" });
  return transaction;
}

/** Holds nothing yet. */
export function newTransaction(options: TransactionOptions): Transaction {
  const { id, name, core, mode, parent, startedIn, host, scope, evaluations } = options;
  return {
    id,
    name,
    parent,
    startedIn,
    core,
    mode,
    scope,
    holds: [],
    waits: [],
    places: [],
    snapshots: [],
    pendingEvents: [],
    made: [],
    removed: [],
    closings: [],
    settling: [],
    host,
    evaluations,
    mark: undefined,
    undone: false,
    stage: "open",
    begun: false,
    ended: false,
    inside: 0,
    onIdle: undefined,
  };
}

function inOrder({ core, sessionMode, resources }: TransactionOptions): readonly NamedLock[] {
  // Always before the resources, those that join later included.
  const session: readonly NamedLock[] =
    sessionMode === "none" ? [] : [{ of: core.lock, mode: sessionMode, scope: undefined, what: "the session" }];
  if (resources.length === 0) return session;
  const others = resources.map((participant) => wantedOf(participant, participant.mode));
  return [...session, ...others.toSorted((a, b) => a.of.number - b.of.number)];
}

function wantedOf({ resource, name, scope }: Participant, mode: LockMode): NamedLock {
  return { of: lockOf(resource), mode, scope, what: `"${name}"` };
}

/** undefined: it is held now. */
async function waitUntilHeld(
  transaction: Transaction,
  first: Blocked,
  { what, ...wanted }: NamedLock,
): Promise<Failure | undefined> {
  for (let blocked: Blocked | undefined = first; blocked; blocked = tryAcquire(transaction, wanted)) {
    const waiting = waitInLine(transaction, blocked);
    if ("isEndless" in waiting) return endlessWait(what, waiting.heldBy, waiting.holder);
    const waitedFor = `It waited for ${waiting.heldBy}, which uses ${what}.`;
    const ended = await transaction.host.within(waiting.ready, (stop) => ({
      ...stop,
      message: `${stop.message} ${waitedFor}`,
    }));
    if (isFailure(ended)) {
      waiting.cancel();
      return ended;
    }
    if (transaction.ended) return abortedFailure(undefined, "tool");
  }
  return undefined;
}

/**
 * Locks and snapshots a resource that is first used, or made, while the transaction runs; at once where nothing has to be
 * waited for.
 * @throws {UnusableError} for a resource that could not be restored earlier.
 * @throws {LockFault} where a limit ends the wait, or it would never end.
 */
export function join(transaction: Transaction, participant: Participant): Promise<void> | undefined {
  assertOpen(transaction, participant);
  const wanted = wantedOf(participant, transaction.mode);
  const blocked = tryAcquire(transaction, wanted);
  if (blocked === undefined) return takeSnapshots(transaction, participant);
  return waitUntilHeld(transaction, blocked, wanted).then((stop) => {
    if (stop !== undefined) throw new LockFault(stop);
    return takeSnapshots(transaction, participant);
  });
}

/** Joins without a wait. @throws {DefinitionError} where the lock or the snapshot has to be waited for. */
export function joinAtOnce(transaction: Transaction, participant: Participant): void {
  assertOpen(transaction, participant);
  const { name } = participant;
  const blocked = tryAcquire(transaction, wantedOf(participant, transaction.mode));
  if (blocked !== undefined) {
    const holder = firstAt(blocked.lock)?.name ?? "another call";
    throw new DefinitionError(
      `"${name}" is in use by ${holder}: await resources.open(key), which waits for it, or declare the key with uses.`,
    );
  }
  const taking = takeSnapshots(transaction, participant);
  if (taking === undefined) return;
  taking.catch((error: unknown) => transaction.host.warn("transaction.snapshot.failed", error));
  throw new DefinitionError(
    `"${name}" takes its snapshot asynchronously: await resources.open(key) first, or bind it eager.`,
  );
}

/** What has ended gives nothing back any more, so it may take nothing. */
function assertOpen({ ended, name }: Transaction, { name: resource }: Participant): void {
  if (ended) throw new RevokedError(`"${resource}" is asked for after the end of ${name}.`);
}

/**
 * Gives up a transaction that did not begin: it takes no further snapshot. Its locks are held until each
 * snapshot is released, also one that is still being taken, but not past the evaluation's end.
 */
async function abandon(transaction: Transaction): Promise<void> {
  transaction.stage = "sealed";
  if (transaction.snapshots.length === 0) return leave(transaction);
  const releasing = transaction.snapshots.map((taken) =>
    Promise.resolve(taken.taking).then(() => taken.resource.release?.(taken.snapshot)),
  );
  const left = Promise.allSettled(releasing).then(() => leave(transaction));
  await transaction.host.withinGrace(left, () => {});
}

/** Gives back its locks, and lets the one around end. */
export function leave(transaction: Transaction): void {
  const { parent, begun } = transaction;
  releaseAll(transaction);
  // An evaluation that was begun in its code may outlive it by far.
  transaction.startedIn = undefined;
  if (parent !== undefined && begun && --parent.inside === 0) parent.onIdle?.();
}
