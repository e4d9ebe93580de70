// A scope of resources, who asks it for one, and the transaction in which the resource is used.
import type { Binding, CallGuard, Resources } from "@proviso/core";
import { currentTransaction } from "../transactions/async-context.ts";
import type { LockMode } from "../transactions/lock-state.ts";
import type { Participant } from "../transactions/snapshots.ts";
import type { Removed, Transaction } from "../transactions/transaction.ts";
import type { Key, Store, StorePosition } from "./store.ts";

/** The resources of one evaluation, or those that `openResources` opened. */
export interface ResourceContext {
  /** The resources for use outside a call. */
  readonly resources: Resources;
  /** What the factories of scopes inside this one get. */
  readonly injected: Resources;
  binds(key: Key): boolean;
  /** What to say of a key that is not bound, where another key of its name is; else an empty text. */
  namesakeOf(key: Key): string;
  /**
   * All bindings as they are now, the later of a key winning; ready instances and eager ones are made at once. What the
   * evaluation itself was given stays.
   */
  extend(bindings: readonly Binding[]): Promise<void>;
  /** Fresh `toolCall` resources for one call; the rest is shared. */
  forCall(call: Calling): CallResources;
  /** Returns the keys of singletons that are not made yet. */
  unmade(keys: readonly Key[]): readonly Key[];
  /**
   * Whether something is made when a call begins: what is `eager` in each call, and, once, what is declared of scopes
   * toolCall and prototype, because it is not known yet what their factories ask for.
   */
  makesForCalls(uses: readonly Key[]): boolean;
  /**
   * What is there and can be snapshotted: of these keys with what their factories asked for, or everything.
   */
  participants(keys?: readonly Key[]): readonly Participant[];
  position(): StorePosition;
  /** Forgets what was made after that position; the caller closes it, or puts it back. */
  removeSince(position: StorePosition): Removed;
  /** Keeps what closing a resource threw where no caller waits for it: `close` rejects with it. */
  rememberFailedClose(error: unknown): void;
  /** undefined where nothing was made. @throws {AggregateError} when closing failed somewhere; everything was tried. */
  close(): Promise<void> | undefined;
}

/** What a call uses of one scope. */
export interface CallResources {
  readonly resources: Resources;
  /** What the factories of this call's resources get. */
  readonly injected: Resources;
  /** Makes what is made when a call begins; undefined where there is nothing. */
  open(uses: readonly Key[]): Promise<void> | undefined;
  /** Nothing was made: there is nothing to close. */
  isEmpty(): boolean;
  close(): Promise<void> | undefined;
}

/** The call, or the body of a transaction, that resources are for. */
export interface Calling {
  readonly transaction: Transaction;
  readonly guard: CallGuard;
  /** How the running code uses what it asks for. */
  mode(): LockMode;
  /** @throws {DefinitionError} for a key that the running code did not declare. */
  assertMayAsk(key: Key): void;
  /** Notes what the running code got; left out: it is not noted. */
  readonly got?: ((key: Key, instance: unknown) => void) | undefined;
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
