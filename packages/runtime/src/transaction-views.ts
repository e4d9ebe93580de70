// Session and resources as the body of a transaction is given them.
import {
  RevokedError,
  type AppEvent,
  type CallGuard,
  type DispatchResult,
  type Resources,
  type Session,
} from "@proviso/core";
import type { Calling, ResourceContext } from "./resources/asking.ts";
import { rememberContext } from "./resources/context.ts";
import { coreOf, withCore } from "./session/session-core.ts";
import { originOf, rememberBody } from "./transactions/session-view.ts";
import type { Transaction } from "./transactions/transaction.ts";

/** Session and resources as the body of a transaction uses them. */
export interface TransactionViews {
  /** What is dispatched through it is undone with the transaction. */
  readonly session: Session;
  /** What is first made through it is undone with the transaction. */
  readonly resources: Resources;
}

export function viewsOf(session: Session, context: ResourceContext, own: Transaction): TransactionViews {
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
