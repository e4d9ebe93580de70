// A session as the body of a transaction uses it, and which transaction a change of a session belongs to.
import { RevokedError, type AppEvent, type DispatchResult, type Session } from "@proviso/core";
import type { Origin } from "../session/concurrent-changes.ts";
import { coreOf, withCore, type SessionCore } from "../session/session-core.ts";
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

/** Makes a view of the session for the body of a transaction: what is dispatched through it is undone with the transaction. */
export function sessionWithin(session: Session, transaction: Transaction): Session {
  const core = coreOf(session);
  const dispatch = (event: AppEvent): DispatchResult => {
    if (transaction.ended) throw new RevokedError(`${transaction.name} is over: its session cannot be used any more.`);
    return core.dispatch(event, originOf(transaction));
  };
  const view: Session = { ...session, dispatch };
  transactions.set(view, transaction);
  return withCore(view, core);
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

/** The transaction in whose code something begins. */
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
