// The transaction that a change of a session belongs to, or what begins in the code of a body or a call.
import { RevokedError, type Session } from "@proviso/core";
import type { Origin } from "../session/concurrent-changes.ts";
import type { SessionCore } from "../session/session-core.ts";
import type { BegunEvaluations } from "./begun-evaluations.ts";
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
  /** The body that is over, in whose code or with whose session it begins. */
  readonly over: Transaction | undefined;
  /** The evaluations of each body around it: this one is added to all of them. */
  readonly among: readonly BegunEvaluations[];
}

/** The value for what begins outside of all transactions. */
export const noEnclosing: Enclosing = { parent: undefined, startedIn: undefined, over: undefined, among: [] };

/** Known by the asynchronous context, or by the session that the body of a transaction was given. */
export function enclosing(session: Session | undefined): Enclosing {
  const current = currentTransaction();
  if (current?.guard !== undefined && !current.transaction.ended) return startedIn(current.transaction);
  const inCode = current?.guard === undefined ? current?.transaction : undefined;
  const ofView = session && transactionOf(session);
  if (inCode === undefined && ofView === undefined) return noEnclosing;
  const bodies = [inCode, ofView].filter((body) => body !== undefined);
  // What is left of a body that is over is still code of those around it.
  const parent = bodies.find(isOpen) ?? bodies.flatMap(bodiesAround).find(isOpen);
  const among = parent === undefined ? [] : bodiesAround(parent).flatMap(({ evaluations }) => evaluations ?? []);
  return { parent, startedIn: undefined, over: bodies.find((body) => !isOpen(body)), among };
}

function startedIn(call: Transaction): Enclosing {
  return { ...noEnclosing, startedIn: call };
}

function isOpen({ ended, stage }: Transaction): boolean {
  return !ended && stage === "open";
}

/** The body and those around it: nothing else is around a body. */
function bodiesAround(body: Transaction): readonly Transaction[] {
  const all: Transaction[] = [];
  for (let one: Transaction | undefined = body; one !== undefined; one = one.parent) all.push(one);
  return all;
}

/**
 * @throws {RevokedError} in the code of a body that is over, and with its views, for what would begin over its session or
 * its scope of resources.
 */
export function assertMayBegin({ over }: Enclosing, core: SessionCore, scopes: readonly object[]): void {
  if (over?.scope === undefined || (over.core !== core && !scopes.includes(over.scope))) return;
  throw new RevokedError(
    `${over.name} is over: what its body left may begin nothing over its session or its resources any more. Await it in the body.`,
  );
}

/**
 * Returns the enclosing transaction of an evaluation inside a call, which is part of that call. Where the evaluation
 * begins in the body of a `transaction()`, that may wait for it.
 */
export function enclosingOfNested(call: Transaction): Enclosing {
  const current = currentTransaction()?.transaction;
  if (current === undefined || current === call || current.ended || current.stage !== "open") return noEnclosing;
  return startedIn(current);
}
