import { DefinitionError, type Resources, type Session } from "@proviso/core";
import { messageOf } from "./failures.ts";
import { contextOf, type ResourceContext, type ResourceMark } from "./resources/context.ts";
import { coreOf, type SessionCore } from "./session/session.ts";
import type { SessionMark } from "./session/slices.ts";

/** Session and resources as one; the tag is for logs and errors. */
export interface Snapshot {
  readonly tag: string | undefined;
}

/** What is undone together. */
export interface TransactionScope {
  readonly session: Session;
  /** What `openResources` opened. */
  readonly resources: Resources;
  readonly tag?: string | undefined;
}

interface Marked {
  readonly core: SessionCore;
  readonly context: ResourceContext;
  readonly session: SessionMark;
  readonly resources: ResourceMark;
}
const marked = new WeakMap<Snapshot, Marked>();

/**
 * Session and resources as they are now.
 * @throws {DefinitionError} for a session or resources of other making, or a session that is unusable.
 */
export async function createSnapshot(scope: TransactionScope): Promise<Snapshot> {
  return take(scope, true);
}

/** A savepoint can be restored as long as somebody holds it; else it has to be released, and a crash goes back to it. */
async function take(scope: TransactionScope, savepoint: boolean): Promise<Snapshot> {
  const core = coreOf(scope.session);
  const context = contextOf(scope.resources);
  core.assertUsable();
  const resources = await context.mark({ savepoint });
  const snapshot: Snapshot = Object.freeze({ tag: scope.tag });
  marked.set(snapshot, { core, context, session: core.mark(), resources });
  return snapshot;
}

/**
 * Puts session and resources back, as often as wanted. Events that were told stay told, log slices keep their entries.
 * @throws {DefinitionError} for a snapshot of another session or of other resources; and when a resource cannot be
 * restored: the session is unusable then, and each later use of it says why.
 */
export async function restoreSnapshot(scope: TransactionScope, snapshot: Snapshot): Promise<void> {
  const core = coreOf(scope.session);
  const context = contextOf(scope.resources);
  const mark = marked.get(snapshot);
  core.assertUsable();
  if (mark?.core !== core || mark.context !== context) {
    throw new DefinitionError(`The snapshot ${nameOf(snapshot.tag)} is not of this session and these resources.`);
  }
  core.rollback(mark.session);
  try {
    await context.rollback(mark.resources);
  } catch (cause) {
    core.poison(
      new Error(`the snapshot ${nameOf(snapshot.tag)} could not be restored: ${messageOf(cause)}`, { cause }),
    );
    core.assertUsable();
  }
}

/**
 * Undoes what the body did to session and resources when it throws, or calls `rollback` and goes on.
 * What it dispatches is heard at once.
 * @throws what the body throws; {DefinitionError} when a resource cannot be put back or cannot commit: the session is
 * unusable then, and each later use of it says why.
 */
export async function transaction<T>(
  scope: TransactionScope,
  body: (rollback: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const snapshot = await take(scope, false);
  const release = (): Promise<void> | undefined => {
    const mark = marked.get(snapshot);
    return mark?.context.release(mark.resources);
  };
  let result: T;
  try {
    result = await body(() => restoreSnapshot(scope, snapshot));
  } catch (error) {
    await restoreSnapshot(scope, snapshot);
    await release();
    throw error;
  }
  try {
    await release();
  } catch (cause) {
    const why = `the changes of the transaction ${nameOf(scope.tag)} could not be committed: ${messageOf(cause)}`;
    const core = coreOf(scope.session);
    core.poison(new Error(why, { cause }));
    core.assertUsable();
  }
  return result;
}

function nameOf(tag: string | undefined): string {
  return tag === undefined ? "without a tag" : `"${tag}"`;
}
