// 1. Before the body runs, session and resources are marked; unless it commits, both are put back.
// 2. What the body dispatches is reduced at once and heard by listeners only after the commit.
// 3. A rollback that fails poisons the session: it is never half restored.
import type { AppEvent } from "@proviso/core";
import { messageOf } from "../failures.ts";
import type { ResourceMark } from "../resources/context.ts";
import type { Run } from "../run.ts";
import type { SessionMark } from "../session/slices.ts";

export interface Transaction {
  readonly session: SessionMark;
  readonly resources: ResourceMark;
  /** Reduced, not yet heard. */
  readonly unheard: AppEvent[];
  readonly tag: string;
}

/** @throws {DefinitionError} when the session was poisoned: on what is half restored nothing is built. */
export async function beginTransaction(run: Run, tag: string): Promise<Transaction> {
  run.core.assertUsable();
  const taken = run.resources.mark();
  const resources = taken instanceof Promise ? await taken : taken;
  return { session: run.core.mark(), resources, unheard: [], tag };
}

/** Tells the listeners what the call did; what they throw is logged and undoes nothing. */
export function commit(run: Run, transaction: Transaction): void {
  for (const event of transaction.unheard) {
    for (const error of run.core.notify(event)) {
      run.log("error", { type: event.type, error: messageOf(error) }, "session.listener.failed");
    }
  }
}

/** Session first, at once; then the resources, which may take their time. */
export async function rollback(run: Run, transaction: Transaction): Promise<void> {
  run.core.rollback(transaction.session);
  transaction.unheard.length = 0;
  await run.withinGrace(run.resources.rollback(transaction.resources), (error) => {
    const why = `the changes of ${transaction.tag} could not be undone: ${messageOf(error)}`;
    run.core.poison(new Error(why, { cause: error }));
    run.log("error", { tag: transaction.tag, error: messageOf(error) }, "transaction.restore.failed");
  });
}
