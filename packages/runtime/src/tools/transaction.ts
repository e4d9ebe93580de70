// 1. Before the body runs, session and resources are marked; unless it commits, both are put back.
// 2. What the body dispatches is reduced at once and heard by listeners only after the commit.
// 3. A rollback or a commit that fails poisons the session: it is never apart from the resources.
// 4. One transaction at a time changes session and resources; a rollback that goes on behind still holds them. What
//    others dispatch to the session meanwhile stands.
// 5. Every mark is released once, after the commit or the rollback: until then a crash undoes the call.
import type { AppEvent, ToolCall } from "@proviso/core";
import { isFailure, messageOf, type Failure } from "../failures.ts";
import type { ResourceContext, ResourceMark } from "../resources/context.ts";
import type { Run } from "../run.ts";
import type { SessionMark } from "../session/slices.ts";
import { createGate, enterAll, type Gate, type Leave } from "../gate.ts";

export interface Transaction {
  readonly tag: string;
  readonly session: SessionMark;
  /** Those of the evaluation, and of evaluations inside it. */
  readonly resources: { readonly context: ResourceContext; readonly mark: ResourceMark }[];
  /** Reduced, not yet heard. */
  readonly unheard: { readonly event: AppEvent; readonly by: Run }[];
  /** Work that may end after the evaluation has; false where it failed. */
  readonly restoring: Promise<boolean>[];
  readonly leave: Leave;
  ended: boolean;
  undone: boolean;
  /** Transactions within it go one at a time. */
  readonly inside: Gate;
}

/** A transaction, or why none can begin: a limit, or a snapshot that failed. */
export async function beginTransaction(
  run: Run,
  tag: string,
): Promise<Transaction | Failure | { readonly error: unknown }> {
  const leave = await enter(run);
  if (isFailure(leave)) return leave;
  try {
    run.core.assertUsable();
    const taking = run.resources.mark();
    const mark = taking instanceof Promise ? await run.limits.race(taking, "tool") : taking;
    if (!isFailure(mark)) {
      const session = run.core.mark();
      run.core.open(session, run.evaluationId);
      const resources = [{ context: run.resources, mark }];
      return {
        tag,
        session,
        resources,
        unheard: [],
        restoring: [],
        leave,
        ended: false,
        undone: false,
        inside: createGate(),
      };
    }
    // A snapshot may come yet.
    Promise.resolve(taking)
      .then((late) => run.resources.release(late))
      .catch(() => {});
    leave();
    return mark;
  } catch (error) {
    leave();
    return { error };
  }
}

async function enter(run: Run): Promise<Leave | Failure> {
  const entering = enterAll(run.gates);
  if (!(entering instanceof Promise)) return entering;
  const entered = await run.limits.race(entering, "tool");
  // It is let in after all: nobody is there any more.
  if (isFailure(entered)) void entering.then((leave) => leave());
  return entered;
}

/** Takes resources of a nested evaluation in: they are put back with the rest. */
export async function include(transaction: Transaction, context: ResourceContext): Promise<void> {
  const mark = await context.mark();
  if (transaction.ended) await context.release(mark);
  else transaction.resources.push({ context, mark });
}

/** Tells the listeners what the call did; what they throw is logged and undoes nothing. */
export function commit(run: Run, transaction: Transaction): void {
  const { nesting } = run;
  if (nesting !== undefined) {
    // It is part of the enclosing call, and heard when that commits.
    nesting.transaction.unheard.push(...transaction.unheard);
    return;
  }
  for (const { event, by } of transaction.unheard) {
    for (const error of run.core.notify(event)) {
      run.log("error", { type: event.type, error: messageOf(error) }, "session.listener.failed");
    }
    by.watch?.({ type: "app", event });
  }
}

/** Session first, at once: what these calls did in it; then the resources, which may take their time. */
export async function rollback(run: Run, transaction: Transaction, calls: readonly ToolCall[]): Promise<void> {
  run.core.rollback(transaction.session, new Set(calls.map(({ id }) => id)));
  transaction.unheard.length = 0;
  transaction.undone = true;
  const pending = [...transaction.restoring];
  const restoring =
    pending.length === 0 ? restoreAll(transaction) : Promise.all(pending).then(() => restoreAll(transaction));
  const done = restoring.then(
    () => true,
    () => false,
  );
  transaction.restoring.push(done);
  for (let around = run.nesting; around !== undefined; around = around.run.nesting)
    around.transaction.restoring.push(done);
  await run.withinGrace(restoring, (error) => {
    const why = `the changes of ${transaction.tag} could not be undone: ${messageOf(error)}`;
    run.core.poison(new Error(why, { cause: error }));
    run.log("error", { tag: transaction.tag, error: messageOf(error) }, "transaction.restore.failed");
  });
}

/** The last taken first; tries all of them. */
async function restoreAll({ resources }: Transaction): Promise<void> {
  const errors: unknown[] = [];
  for (const { context, mark } of resources.toReversed()) {
    await context.rollback(mark).catch((error: unknown) => errors.push(error));
  }
  if (errors.length > 0) throw new AggregateError(errors, errors.map(messageOf).join("; "));
}

/**
 * What stands now stays, even when the process dies; then the next one may begin. What could not be put back is not
 * let go: a resource that outlives the process may put it back yet.
 */
export async function end(run: Run, transaction: Transaction): Promise<void> {
  const { restoring, leave, tag } = transaction;
  transaction.ended = true;
  run.core.close(transaction.session);
  const ending = restoring.length === 0 ? releaseAll(transaction) : releaseLater(transaction);
  if (ending === undefined) {
    leave();
    return;
  }
  void ending.catch(() => {}).then(leave);
  await run.withinGrace(ending, (error) => {
    run.log("error", { tag, error: messageOf(error) }, "transaction.release.failed");
    if (transaction.undone) return;
    const why = `the changes of ${tag} could not be committed: ${messageOf(error)}`;
    run.core.poison(new Error(why, { cause: error }));
  });
}

async function releaseLater(transaction: Transaction): Promise<void> {
  const restored = await Promise.all(transaction.restoring);
  if (!restored.includes(false)) await releaseAll(transaction);
}

function releaseAll({ resources }: Transaction): Promise<void> | undefined {
  const releasing = resources.toReversed().flatMap(({ context, mark }) => context.release(mark) ?? []);
  return releasing.length === 0 ? undefined : Promise.all(releasing).then(() => {});
}
