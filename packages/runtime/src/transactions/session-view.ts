// The transaction that a change of a session belongs to, or what begins in the code of a body or a call.
import type { Session } from "@proviso/core";
import type { Origin } from "../session/concurrent-changes.ts";
import type { SessionCore } from "../session/session-core.ts";
import { currentTransaction } from "./async-context.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Returns the transaction whose body is running, as the origin of a change of its session. What listeners and handlers of
 * an evaluation in the body do belongs to it, too. A tool call dispatches through its context, and is not found here.
 */
export function originIn(core: SessionCore): Origin | undefined {
  let transaction = currentTransaction()?.transaction;
  for (; transaction !== undefined; transaction = transaction.parent) {
    if (transaction.scope !== undefined && !transaction.ended && transaction.core === core)
      return originOf(transaction);
  }
  return undefined;
}

const transactions = new WeakMap<Session, Transaction>();

/** Records that the body of a transaction is given this view of its session. */
export function rememberBody(view: Session, transaction: Transaction): void {
  transactions.set(view, transaction);
}

/** Returns the transaction whose body received this session. */
function transactionOf(session: Session): Transaction | undefined {
  return transactions.get(session);
}

/** Returns the transaction as the origin of an event. */
export function originOf({ id, parent }: TransactionOrigin): Origin {
  return parent === undefined
    ? { evaluationId: id }
    : { evaluationId: id, parent: { evaluationId: parent.id, callId: "" } };
}

interface TransactionOrigin {
  readonly id: string;
  readonly parent: { readonly id: string } | undefined;
}

/** The transaction in whose code an evaluation or another transaction begins; outside of all transactions it has neither. */
export interface Enclosing {
  /** The transaction of the body of `transaction()`: what begins there is part of it. */
  readonly parent: Transaction | undefined;
  /**
   * The transaction of a tool call, or of the body of a `transaction()` in a tool call in which `context.evaluate` is
   * called: it may wait for what begins there, which is no part of it.
   */
  readonly startedIn: Transaction | undefined;
}

/** The value for what begins outside of all transactions. */
export const noEnclosing: Enclosing = { parent: undefined, startedIn: undefined };

/** Known by the asynchronous context, or by the session that the body of a transaction was given. */
export function enclosing(session: Session | undefined): Enclosing {
  const current = currentTransaction();
  const isLive = current !== undefined && !current.transaction.ended;
  if (isLive && current.guard !== undefined) return { parent: undefined, startedIn: current.transaction };
  const body = isLive ? current.transaction : session && transactionOf(session);
  return body === undefined || body.ended || body.stage !== "open"
    ? noEnclosing
    : { parent: body, startedIn: undefined };
}

/**
 * Returns the enclosing transaction of an evaluation inside a call, which is part of that call. Where the evaluation
 * begins in the body of a `transaction()`, that may wait for it.
 */
export function enclosingOfNested(call: Transaction): Enclosing {
  const current = currentTransaction()?.transaction;
  if (current === undefined || current === call || current.ended || current.stage !== "open") return noEnclosing;
  return { parent: undefined, startedIn: current };
}
