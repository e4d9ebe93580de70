// How a factory is run, and what becomes of what it makes.
//
// 1. What a transaction makes is discarded when it fails, unless other code has asked for it by then.
// 2. A singleton outlives the call that made it: what its factory has begun is part of no call once the factory is done.
import { DefinitionError, RevokedError, type Binding, type Resources } from "@proviso/core";
import { describeValue, isThenable } from "@proviso/core/internal";
import { runFactory } from "../transactions/async-context.ts";
import { wasUsedBefore } from "../transactions/snapshots.ts";
import { LockFault } from "../transactions/endless-wait.ts";
import type { Transaction } from "../transactions/transaction.ts";
import { isInSingleton, usedIn, type Asking, type AskerSources } from "./asking.ts";
import { unguarded } from "./guard.ts";
import {
  keep,
  keepAsLate,
  keepLater,
  knownIn,
  shareLate,
  takeLearned,
  takeOut,
  type Key,
  type Late,
  type Store,
} from "./store.ts";

/** The instance, or the promise of one that is being made; `ranHere`: its factory was run for who asked just now. */
export interface Found {
  readonly instance: unknown;
  readonly ranHere: boolean;
  /** Where it is kept. */
  readonly store: Store;
}

/** @throws what a factory throws that is run here. */
export function maker(sources: AskerSources, ask: (asking: Asking) => Resources): (key: Key, asking: Asking) => Found {
  return (key, asking) => {
    const { path, call } = asking;
    const { singletons } = sources;
    if (sources.isClosed) throw new DefinitionError(`The resource "${key.name}" is used after its scope was closed.`);
    const binding = sources.bound.get(key);
    if (binding === undefined) {
      throw new DefinitionError(`No resource is bound to ${pathText(path, key)}.${sources.namesakeOf(key)}`);
    }
    if (path.includes(binding)) {
      throw new DefinitionError(`Resources need each other in a circle: ${pathText(path, key)}.`);
    }
    const store = storeFor(binding, path, call?.store, singletons);
    const within = usedIn(asking, sources)?.transaction;
    const known = binding.scope === "prototype" ? takeLearned(store, key) : knownIn(store, key);
    if (known !== undefined) {
      shareLate(store, key, within);
      return { instance: known.instance, ranHere: false, store };
    }
    if (!singletons.asked.has(key)) singletons.asked.set(key, new Set());
    const making = { isOver: false };
    const inner: Asking = { path: [...path, binding], isInjected: true, making, call };
    const run = (end: () => void): unknown => {
      const finish = (): void => {
        making.isOver = true;
        end();
      };
      return made(binding, () => binding.create(ask(inner)), { store, within, finish });
    };
    return { instance: isInSingleton(inner.path) ? runFactory(run) : run(() => {}), ranHere: true, store };
  };
}

interface MakingSite {
  readonly store: Store;
  /** The transaction in which it is made. */
  readonly within: Transaction | undefined;
  /** Call this when the factory is done. */
  finish(): void;
}

function made(binding: Binding, create: () => unknown, { store, within, finish }: MakingSite): unknown {
  let result: unknown;
  try {
    result = create();
  } catch (error) {
    finish();
    throw error;
  }
  if (!isThenable(result)) {
    finish();
    goWith(within, store, binding, {
      instance: newlyMade(result),
      isShared: false,
      takeOut: () => takeOut(store, result),
    });
    return keep(store, binding, result);
  }
  const making = Promise.resolve(result).then(
    (ready) => {
      finish();
      late.instance = newlyMade(ready);
      return ready;
    },
    (error: unknown) => {
      finish();
      if (within !== undefined && isOfCall(error, within)) failures.add(error);
      throw error;
    },
  );
  const later = keepLater(store, binding, making);
  const late: Late = { instance: undefined, isShared: false, takeOut: later.takeOut };
  goWith(within, store, binding, late);
  return later.kept;
}

function goWith(within: Transaction | undefined, store: Store, binding: Binding, late: Late): void {
  if (within === undefined) return;
  within.made.push(late);
  keepAsLate(store, binding, late);
}

/** The instance, unless the factory only returned one that others use, too: the snapshots that they have of it stay. */
function newlyMade(made: unknown): unknown {
  const instance: unknown = unguarded(made);
  return wasUsedBefore(instance) ? undefined : instance;
}

const failures = new WeakSet<object>();

/** Whether the factory failed because of the call that it ran in: it is run again for another call. */
export function isFaultOfCall(error: unknown): boolean {
  return typeof error === "object" && error !== null && failures.has(error);
}

function isOfCall(error: unknown, { undone, ended }: Transaction): error is object {
  if (typeof error !== "object" || error === null) return false;
  return undone || ended || error instanceof LockFault || error instanceof RevokedError;
}

/**
 * Where an instance is kept. @throws {DefinitionError} for a resource of a single call outside one, or held by a
 * singleton.
 */
function storeFor(binding: Binding, path: readonly Binding[], call: Store | undefined, singletons: Store): Store {
  const held = isInSingleton(path);
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

/** What is no key, a text for example, is shown as it is. */
function nameOf(key: Key): string {
  const name: unknown = (key as Partial<Key> | undefined)?.name;
  return typeof key === "object" && typeof name === "string" ? `"${name}"` : `${describeValue(key)}, which is no key`;
}

function pathText(path: readonly Binding[], key: Key): string {
  return [...path.map((binding) => binding.key), key].map(nameOf).join(" → ");
}
