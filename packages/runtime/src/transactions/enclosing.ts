import type { Session } from "@proviso/core";
import { currentTransaction } from "./async-context.ts";
import { transactionOf } from "./session-view.ts";
import type { Transaction } from "./transaction.ts";

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
