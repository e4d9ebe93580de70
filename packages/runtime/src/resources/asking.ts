// The asker of a resource, and the transaction in which the resource is used.
import type { Binding, CallGuard } from "@proviso/core";
import { currentTransaction } from "../transactions/async-context.ts";
import type { LockMode } from "../transactions/lock.ts";
import type { Transaction } from "../transactions/transaction.ts";
import type { CallResources } from "./call-resources.ts";
import type { ResourceContext } from "./context.ts";
import type { Key, Store } from "./store.ts";

/** The call, or the body of a transaction, that resources are for. */
export interface Calling {
  readonly transaction: Transaction;
  readonly guard: CallGuard;
  /** How the running code uses what it asks for. */
  mode(): LockMode;
  /** @throws {DefinitionError} for a key that the running code did not declare. */
  assertMayAsk(key: Key): void;
}
/** A handler, a policy, a factory or an application that asks for a resource. */
export interface Asking {
  /** The factories that are being run. */
  readonly path: readonly Binding[];
  /** Asked by a factory, now or with the handle that it was given. */
  readonly isInjected: boolean;
  /** The factory that asks; `isOver` once it is done. */
  readonly making?: { readonly isOver: boolean } | undefined;
  /** undefined outside a call. */
  readonly call: (Calling & { readonly store: Store; outer(context: ResourceContext): CallResources }) | undefined;
}

/** What an asker is made of. */
export interface AskerSources extends ResourceContext {
  /** The bindings by key: another map when sections with bindings open. */
  readonly bound: ReadonlyMap<Key, Binding>;
  readonly singletons: Store;
  readonly isClosed: boolean;
  outerOf(key: Key): ResourceContext | undefined;
}

/** Returns the transaction in which the asker uses the resource. */
export interface User {
  readonly transaction: Transaction;
  readonly mode: LockMode;
}

export function usedIn({ path, isInjected, making, call }: Asking, self: ResourceContext): User | undefined {
  if (call !== undefined && !isInSingleton(path)) return { transaction: call.transaction, mode: call.mode() };
  const current = currentTransaction();
  if (current === undefined) {
    // A singleton's factory is being run; later, where nothing is current, its handle is the application's.
    return call && !call.transaction.ended && making?.isOver !== true
      ? { transaction: call.transaction, mode: call.mode() }
      : undefined;
  }
  const { transaction, guard } = current;
  // The application's own handle is part of a transaction of that scope, and of no call.
  if (transaction.ended || (!isInjected && transaction.scope !== self)) return undefined;
  return { transaction, mode: guard?.isReadOnly() === true ? "read" : transaction.mode };
}

export function isInSingleton(path: readonly Binding[]): boolean {
  return path.some(({ scope }) => scope === "singleton");
}
