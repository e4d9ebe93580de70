// Which transaction the running code belongs to, wherever it awaits, sets timers or calls other libraries. It is known
// where the runtime has AsyncLocalStorage (Node, Bun, Deno, workerd with nodejs_compat); elsewhere nothing is current.
import type { CallGuard } from "@proviso/core";
import type { Transaction } from "./transaction.ts";

/** The transaction that the running code is part of. */
export interface Current {
  readonly transaction: Transaction;
  /** The call that runs in it; undefined in the body of `transaction()`. */
  readonly guard: CallGuard | undefined;
}

interface Storage<T> {
  run<R>(value: T, body: () => R): R;
  getStore(): T | undefined;
}
interface HostProcess {
  getBuiltinModule?(name: string): { readonly AsyncLocalStorage?: new <T>() => Storage<T> } | undefined;
}

const storage = makeStorage();

function makeStorage(): Storage<Current> | undefined {
  // Looked up and not imported, so that this package loads where there is no such module.
  const host = (globalThis as { readonly process?: HostProcess }).process;
  const AsyncLocalStorage = host?.getBuiltinModule?.("async_hooks")?.AsyncLocalStorage;
  return AsyncLocalStorage === undefined ? undefined : new AsyncLocalStorage<Current>();
}

/** Runs the body, and what it begins, as part of the transaction. */
export function runAsPartOf<R>(current: Current, body: () => R): R {
  return storage === undefined ? body() : storage.run(current, body);
}

/** Also while the transaction is over already: see `transaction.ended`. */
export function currentTransaction(): Current | undefined {
  return storage?.getStore();
}
