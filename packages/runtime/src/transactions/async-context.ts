// The transaction that the running code belongs to, wherever it awaits, sets timers or calls other libraries. It is
// known where the runtime has AsyncLocalStorage (Node, Bun, Deno, workerd with nodejs_compat); elsewhere nothing is
// current.
import type { CallGuard } from "@proviso/core";
import { asyncStorage } from "../async-storage.ts";
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
}

const storage = /* @__PURE__ */ asyncStorage<CurrentSlot>();

/** Runs the body, and what it begins, as part of the transaction. */
export function runAsPartOf<R>(current: Current, body: () => R): R {
  return storage === undefined ? body() : storage.run({ current }, body);
}

/**
 * Runs a factory as part of what is current. Once `end` is called, nothing that it has begun is part of it any more: the
 * work of a singleton goes on for others.
 */
export function runFactory<R>(create: (end: () => void) => R): R {
  const place: CurrentSlot = { current: currentTransaction() };
  const end = (): void => void (place.current = undefined);
  return place.current === undefined || storage === undefined ? create(end) : storage.run(place, () => create(end));
}

/** Also while the transaction is over already: see `transaction.ended`. */
export function currentTransaction(): Current | undefined {
  return storage?.getStore()?.current;
}
