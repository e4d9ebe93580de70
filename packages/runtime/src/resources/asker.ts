import {
  DefinitionError,
  isSnapshotable,
  isThenable,
  type Binding,
  type CallGuard,
  type ResourceKey,
  type Resources,
} from "@proviso/core";
import { currentTransaction } from "../transactions/async-context.ts";
import type { LockMode } from "../transactions/lock.ts";
import { wasUsedBefore, type Participant } from "../transactions/snapshots.ts";
import { hasJoined, join, joinAtOnce, type Transaction } from "../transactions/transaction.ts";
import type { CallResources, ResourceContext } from "./context.ts";
import { guarded, guardOfCurrentCall, unguarded } from "./guard.ts";
import { discard, keep, keepLater, knownIn, type Key, type Store } from "./store.ts";

/** The call, or the body of a transaction, that resources are for. */
export interface Calling {
  readonly transaction: Transaction;
  readonly guard: CallGuard;
  /** How the running code uses what it asks for. */
  mode(): LockMode;
  /** @throws {DefinitionError} for a key that the running code did not declare. */
  assertMayAsk(key: Key): void;
}
/** Who asks for a resource. */
export interface Asking {
  /** The factories that are being run. */
  readonly path: readonly Binding[];
  /** Asked by a factory, now or with the handle that it was given. */
  readonly isInjected: boolean;
  /** undefined outside a call. */
  readonly call: (Calling & { readonly store: Store; outer(context: ResourceContext): CallResources }) | undefined;
}

/** What an asker is made of. */
export interface AskerSources {
  readonly bound: ReadonlyMap<Key, Binding>;
  readonly singletons: Store;
  readonly state: { readonly closed: boolean };
  outerOf(key: Key): ResourceContext | undefined;
  self(): ResourceContext;
}

/** Makes the resources as one asker sees them: what is bound here, unless the scope around binds it. */
export function asker(sources: AskerSources): (asking: Asking) => Resources {
  const { bound, singletons, outerOf, self } = sources;
  const make = maker(sources, (asking) => ask(asking));
  /** The resources around, where they bind the key; a singleton gets none of a call's. */
  const around = (key: Key, { path, call, isInjected }: Asking): Resources | undefined => {
    const outer = outerOf(key);
    if (outer === undefined) return undefined;
    const from = call === undefined || isHeld(path) ? outer : call.outer(outer);
    return isInjected ? from.injected : from.resources;
  };
  const remember = (key: Key, { path }: Asking): void => {
    const asks = path.at(-1)?.key;
    if (asks === undefined) return;
    const asked = singletons.asked.get(asks);
    if (asked === undefined) singletons.asked.set(asks, new Set([key]));
    else asked.add(key);
  };
  const assertMayAsk = (key: Key, asking: Asking): void => {
    const { path, call, isInjected } = asking;
    // Also what a factory of the call kept: its handle ends with the call.
    if (call !== undefined && !isHeld(path)) call.guard.assertLive();
    if (!isInjected) call?.assertMayAsk(key);
    remember(key, asking);
  };
  const get = <T>(key: ResourceKey<T>, asking: Asking): T => {
    assertMayAsk(key, asking);
    const outside = around(key, asking);
    if (outside !== undefined) return outside.get(key);
    const instance = make(key, asking);
    if (isThenable(instance)) {
      throw new DefinitionError(
        `The resource "${key.name}" is made asynchronously: await resources.open(key) first, or bind it eager.`,
      );
    }
    const user = usedIn(asking, self);
    const joining = user && toJoin(user, key, instance);
    if (joining !== undefined) joinAtOnce(joining.transaction, joining.participant);
    return asSeenBy(asking, instance) as T;
  };
  const open = async <T>(key: ResourceKey<T>, asking: Asking): Promise<T> => {
    assertMayAsk(key, asking);
    const outside = around(key, asking);
    if (outside !== undefined) return outside.open(key);
    const instance = await make(key, asking);
    const user = usedIn(asking, self);
    const joining = user && toJoin(user, key, instance);
    if (joining !== undefined) await join(joining.transaction, joining.participant);
    return asSeenBy(asking, instance) as T;
  };
  const binds = (key: Key): boolean => bound.has(key) || outerOf(key) !== undefined;
  const ask = (asking: Asking): Resources => ({
    get: (key) => get(key, asking),
    find: (key) => (binds(key) ? get(key, asking) : undefined),
    open: (key) => open(key, asking),
  });
  return ask;
}

/** Returns the instance, or the promise of one that is being made. */
function maker(
  { bound, singletons, state, self }: AskerSources,
  ask: (asking: Asking) => Resources,
): (key: Key, asking: Asking) => unknown {
  return (key, asking) => {
    const { path, call } = asking;
    if (state.closed) throw new DefinitionError(`The resource "${key.name}" is used after its scope was closed.`);
    const binding = bound.get(key);
    if (binding === undefined) throw new DefinitionError(`No resource is bound to ${pathText(path, key)}.`);
    if (path.includes(binding)) {
      throw new DefinitionError(`Resources need each other in a circle: ${pathText(path, key)}.`);
    }
    const store = storeFor(binding, path, call?.store, singletons);
    const known = binding.scope === "prototype" ? undefined : knownIn(store, key);
    if (known !== undefined) return known.instance;
    const made = binding.create(ask({ path: [...path, binding], isInjected: true, call }));
    const within = usedIn(asking, self)?.transaction;
    if (!isThenable(made)) {
      within?.made.push({ instance: newlyMade(made), discard: () => discard(store, made) });
      return keep(store, binding, made);
    }
    let instance: unknown;
    const making = Promise.resolve(made).then((ready) => {
      instance = newlyMade(ready);
      return ready;
    });
    const later = keepLater(store, binding, making);
    within?.made.push({
      get instance() {
        return instance;
      },
      discard: later.discard,
    });
    return later.kept;
  };
}

/** The instance, unless the factory only returned one that others use, too: the snapshots that they have of it stay. */
function newlyMade(made: unknown): unknown {
  const instance: unknown = unguarded(made);
  return wasUsedBefore(instance) ? undefined : instance;
}

/** In which transaction the asker uses what it gets. */
interface User {
  readonly transaction: Transaction;
  readonly mode: LockMode;
}

function usedIn({ path, isInjected, call }: Asking, self: () => ResourceContext): User | undefined {
  if (call !== undefined && !isHeld(path)) return { transaction: call.transaction, mode: call.mode() };
  const current = currentTransaction();
  if (current === undefined) {
    // A singleton's factory is being run; later, where nothing is current, its handle is the application's.
    return call && !call.transaction.ended ? { transaction: call.transaction, mode: call.mode() } : undefined;
  }
  const { transaction, guard } = current;
  // The application's own handle is part of a transaction of that scope, and of no call.
  if (transaction.ended || (!isInjected && transaction.scope !== self())) return undefined;
  return { transaction, mode: guard?.isReadOnly() === true ? "read" : transaction.mode };
}

function toJoin(
  { transaction, mode }: User,
  { name }: Key,
  instance: unknown,
): { readonly transaction: Transaction; readonly participant: Participant } | undefined {
  const resource: unknown = unguarded(instance);
  if (!isSnapshotable(resource) || hasJoined(transaction, resource, mode)) return undefined;
  return { transaction, participant: { resource, name } };
}

/** A handler and a factory get a view that ends with the call; the application gets the resource. */
function asSeenBy({ path, isInjected, call }: Asking, instance: unknown): unknown {
  if (call !== undefined && !isHeld(path)) return guarded(instance, call.guard);
  return isInjected ? guarded(instance, guardOfCurrentCall) : instance;
}

function isHeld(path: readonly Binding[]): boolean {
  return path.some(({ scope }) => scope === "singleton");
}

/**
 * Where an instance is kept. @throws {DefinitionError} for a resource of a single call outside one, or held by a
 * singleton.
 */
function storeFor(binding: Binding, path: readonly Binding[], call: Store | undefined, singletons: Store): Store {
  const held = isHeld(path);
  if (binding.scope === "singleton") return singletons;
  if (binding.scope === "prototype") return held ? singletons : (call ?? singletons);
  const { name } = binding.key;
  if (held) {
    throw new DefinitionError(
      `A singleton would hold "${name}", a resource of a single call: ${pathText(path, binding.key)}.`,
    );
  }
  if (call === undefined) throw new DefinitionError(`"${name}" has scope toolCall and exists in a tool call only.`);
  return call;
}

function pathText(path: readonly Binding[], key: Key): string {
  return [...path.map((binding) => binding.key), key].map(({ name }) => `"${name}"`).join(" → ");
}
