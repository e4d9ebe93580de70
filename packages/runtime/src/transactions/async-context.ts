// What the running code is part of, wherever it awaits, sets timers or calls other libraries: a transaction, and a request
// to a model. It is known where the runtime has AsyncLocalStorage (Node, Bun, Deno, workerd with nodejs_compat);
// elsewhere nothing is current.
import type { BudgetTracker, CallGuard, Pace } from "@proviso/core";
import { hostModule } from "@proviso/core/internal";
import type { Transaction } from "./transaction.ts";

/** The transaction that the running code is part of. */
export interface Current {
  readonly transaction: Transaction;
  /** The call that runs in it; undefined in the body of `transaction()`. */
  readonly guard: CallGuard | undefined;
}

interface CurrentSlot {
  /** undefined: a factory that was run in a transaction is done. */
  current: Current | undefined;
  /** The attempt of an evaluation that waits for the code, inside what is current. */
  attempt: Transaction | undefined;
}

interface Request {
  /** Whether another request that waits for the budget, or for the pace, waits for this one. */
  holds(what: BudgetTracker | Pace): boolean;
}

interface EnclosingRequest {
  readonly request: Request;
  readonly outer: EnclosingRequest | undefined;
}

interface AsyncStorage<T> {
  run<R>(value: T, body: () => R): R;
  getStore(): T | undefined;
}

const transactions = /* @__PURE__ */ asyncStorage<CurrentSlot>();
const requests = /* @__PURE__ */ asyncStorage<EnclosingRequest>();

/** undefined where the runtime has no AsyncLocalStorage. */
function asyncStorage<T>(): AsyncStorage<T> | undefined {
  const { AsyncLocalStorage } = hostModule<{ AsyncLocalStorage: new () => AsyncStorage<T> }>("async_hooks") ?? {};
  return AsyncLocalStorage === undefined ? undefined : new AsyncLocalStorage();
}

/** Runs the body, and what it begins, as part of the transaction. */
export function runAsPartOf<R>(current: Current, body: () => R): R {
  return transactions === undefined ? body() : transactions.run({ current, attempt: undefined }, body);
}

/**
 * Runs an attempt, which waits for all that its code begins and awaits: approvers, models, checkers. That code is no part of
 * the attempt, and stays part of what is current.
 */
export async function runAttempt<R>(attempt: Transaction, body: () => Promise<R>): Promise<R> {
  if (transactions === undefined) return body();
  const place: CurrentSlot = { current: currentTransaction(), attempt };
  try {
    return await transactions.run(place, body);
  } finally {
    place.attempt = undefined;
  }
}

/** Calls what no attempt waits for, such as listeners: what they begin may wait for the attempt. */
export function outsideAttempt(body: () => void): void {
  if (transactions === undefined || currentAttempt() === undefined) body();
  else transactions.run({ current: currentTransaction(), attempt: undefined }, body);
}

/**
 * Runs a factory as part of what is current. Once `end` is called, nothing that it has begun is part of it any more: the
 * work of a singleton goes on for others.
 */
export function runFactory<R>(create: (end: () => void) => R): R {
  const place: CurrentSlot = { current: currentTransaction(), attempt: currentAttempt() };
  const end = (): void => void (place.current = place.attempt = undefined);
  return (place.current ?? place.attempt) === undefined || transactions === undefined
    ? create(end)
    : transactions.run(place, () => create(end));
}

/** Also while the transaction is over already: see `transaction.ended`. */
export function currentTransaction(): Current | undefined {
  return transactions?.getStore()?.current;
}

/** The attempt that waits for the running code; undefined where it is over. */
export function currentAttempt(): Transaction | undefined {
  const attempt = transactions?.getStore()?.attempt;
  return attempt?.stage === "open" ? attempt : undefined;
}

/** Runs the body, and what it begins, as part of the request. */
export function runInRequest<R>(request: Request, body: () => R): R {
  return requests === undefined ? body() : requests.run({ request, outer: requests.getStore() }, body);
}

/**
 * Whether the running code is part of a request that holds something of the budget, or has a turn of the pace: an evaluation
 * that a model or an agent begins while it answers cannot wait for the end of that answer.
 */
export function isInRequestOn(what: BudgetTracker | Pace): boolean {
  for (let around = requests?.getStore(); around !== undefined; around = around.outer) {
    if (around.request.holds(what)) return true;
  }
  return false;
}
