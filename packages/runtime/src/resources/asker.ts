import { DefinitionError, isSnapshotable, type ResourceKey, type Resources } from "@proviso/core";
import { isThenable } from "@proviso/core/internal";
import { hasJoined, type Participant } from "../transactions/snapshots.ts";
import { join, joinAtOnce, type Transaction } from "../transactions/transaction.ts";
import { isInSingleton, usedIn, type AskerSources, type Asking, type User } from "./asking.ts";
import { guarded, unguarded } from "./guard.ts";
import { isFaultOfCall, maker, type Found } from "./making.ts";
import { madeIn, type Key } from "./store.ts";

/** Makes the resources as one asker sees them: what is bound here, unless the scope around binds it. */
export function asker(sources: AskerSources): (asking: Asking) => Resources {
  const { singletons } = sources;
  const make = maker(sources, (asking) => ask(asking));
  /** The resources around, where they bind the key; a singleton gets none of a call's. */
  const around = (key: Key, { path, call, isInjected }: Asking): Resources | undefined => {
    const outer = sources.outerOf(key);
    if (outer === undefined) return undefined;
    const from = call === undefined || isInSingleton(path) ? outer : call.outer(outer);
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
    if (call !== undefined && !isInSingleton(path)) call.guard.assertLive();
    if (!isInjected) call?.assertMayAsk(key);
    remember(key, asking);
  };
  const get = <T>(key: ResourceKey<T>, asking: Asking): T => {
    assertMayAsk(key, asking);
    const outside = around(key, asking);
    if (outside !== undefined) return outside.get(key);
    const { instance, store } = make(key, asking);
    if (isThenable(instance)) {
      throw new DefinitionError(
        `The resource "${key.name}" is made asynchronously: await resources.open(key) first, or bind it eager.`,
      );
    }
    const user = usedIn(asking, sources);
    const joining = user && toJoin(user, key, { instance, store }, sources);
    if (joining !== undefined) joinNow(joining);
    noteGot(key, asking, instance);
    return asSeenBy(asking, instance) as T;
  };
  const open = async <T>(key: ResourceKey<T>, asking: Asking): Promise<T> => {
    assertMayAsk(key, asking);
    const outside = around(key, asking);
    if (outside !== undefined) return outside.open(key);
    const found = await opened(() => make(key, asking));
    const { instance } = found;
    const user = usedIn(asking, sources);
    const joining = user && toJoin(user, key, found, sources);
    if (joining !== undefined) await join(joining.transaction, joining.participant);
    noteGot(key, asking, instance);
    return asSeenBy(asking, instance) as T;
  };
  const ask = (asking: Asking): Resources => ({
    get: (key) => get(key, asking),
    find: (key) => (sources.binds(key) ? get(key, asking) : undefined),
    open: (key) => open(key, asking),
  });
  return ask;
}

/** What a factory asks for is not what the call asks for. */
function noteGot(key: Key, { call, isInjected }: Asking, instance: unknown): void {
  if (!isInjected) call?.got?.(key, unguarded(instance));
}

interface Joining {
  readonly transaction: Transaction;
  readonly participant: Participant;
}

type Ready = Pick<Found, "instance" | "store">;

function toJoin(
  { transaction, mode }: User,
  { name }: Key,
  { instance, store }: Ready,
  scope: object,
): Joining | undefined {
  const resource: unknown = unguarded(instance);
  if (!isSnapshotable(resource) || hasJoined(transaction, resource, mode)) return undefined;
  return { transaction, participant: { resource, name, scope, made: madeIn(store, instance) } };
}

/** What `get` could not wait for, by the error that it threw. */
const notJoined = new WeakMap<object, Joining>();

/** @throws {DefinitionError} where the lock or the snapshot has to be waited for. */
function joinNow(joining: Joining): void {
  try {
    joinAtOnce(joining.transaction, joining.participant);
  } catch (error) {
    if (error instanceof DefinitionError) notJoined.set(error, joining);
    throw error;
  }
}

/**
 * Makes the resource. It tries once more where the factory could not wait for what it got with `get`, and where it
 * failed because another call, in which it ran, failed.
 */
async function opened(make: () => Found): Promise<Ready> {
  const waitedFor = new Set<unknown>();
  for (;;) {
    let ranHere = true;
    try {
      const found = make();
      ({ ranHere } = found);
      return { instance: await found.instance, store: found.store };
    } catch (error) {
      const joining = notJoined.get(error as object);
      if (!ranHere) {
        if (joining === undefined && !isFaultOfCall(error)) throw error;
        continue;
      }
      if (joining === undefined || waitedFor.has(joining.participant.resource)) throw error;
      waitedFor.add(joining.participant.resource);
      await join(joining.transaction, joining.participant);
    }
  }
}

/** A handler and a factory get a view that ends with the call; the application gets the resource. */
function asSeenBy({ path, isInjected, call }: Asking, instance: unknown): unknown {
  if (call !== undefined && !isInSingleton(path)) return guarded(instance, call);
  return isInjected ? guarded(instance, undefined) : instance;
}
