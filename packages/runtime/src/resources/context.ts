// 1. A singleton is made once in its scope; whoever asks while it is being made waits for the same one.
// 2. What the scope around binds is made, kept and closed there.
// 3. Ready instances are there from the start, so that a snapshot covers what a call changes of them.
import { DefinitionError, type Binding, type ResourceKey, type Resources } from "@proviso/core";
import { createGate, type Gate } from "../gate.ts";
import {
  closeStore,
  discardFrom,
  forget,
  isEmpty,
  keep,
  keepLater,
  knownIn,
  markStore,
  newStore,
  releaseStore,
  rollbackStore,
  type Key,
  type Store,
  type StoreMark,
} from "./store.ts";

export interface ResourceContext {
  readonly resources: Resources;
  /** For transactions of evaluations that share it. */
  readonly gate: Gate;
  binds(key: ResourceKey<unknown>): boolean;
  /**
   * All bindings as they are now, the later of a key winning; ready instances and eager ones are made at once. What the
   * evaluation itself was given stays.
   */
  extend(bindings: readonly Binding[]): Promise<void>;
  /** Fresh `toolCall` resources for one call; the rest is shared. */
  forCall(): CallResources;
  /** All snapshotable resources as they are now; at once where none is asynchronous. See `markStore`. */
  mark(options?: { readonly savepoint?: boolean }): ResourceMark | Promise<ResourceMark>;
  /** Ends a mark that is no savepoint, after what it guarded was committed or put back. */
  release(mark: ResourceMark): Promise<void> | undefined;
  /** Puts back what was marked; what was made since is discarded and closed. */
  rollback(mark: ResourceMark): Promise<void>;
  /** undefined where nothing was made. @throws {AggregateError} when closing failed somewhere; everything was tried. */
  close(): Promise<void> | undefined;
}
export interface CallResources {
  readonly resources: Resources;
  /** Makes the eager ones; undefined where there are none. */
  open(): Promise<void> | undefined;
  /** undefined where nothing was made. */
  close(): Promise<void> | undefined;
}
export interface ResourceMark extends StoreMark {
  readonly outer: ResourceMark | undefined;
}

interface Asking {
  readonly path: readonly Binding[];
  /** undefined outside a call. */
  readonly call: { readonly store: Store; readonly outer: Resources | undefined } | undefined;
}

const contexts = new WeakMap<Resources, ResourceContext>();

/** The context behind an opened scope. @throws {DefinitionError} for anything else. */
export function contextOf(resources: Resources): ResourceContext {
  const context = contexts.get(resources);
  if (context === undefined)
    throw new DefinitionError("These resources were not opened by openResources, or are closed.");
  return context;
}

/** Later bindings of a key win, so `given` over `own`; those of `outer` win over all. At once where nothing is made. */
export function openContext(
  own: readonly Binding[],
  { given = [], outer }: { readonly given?: readonly Binding[]; readonly outer?: ResourceContext | undefined } = {},
): ResourceContext | Promise<ResourceContext> {
  const bound = new Map<Key, Binding>([...own, ...given].map((binding) => [binding.key, binding]));
  const singletons = newStore();
  const state = { closed: false };
  const ask = asker(bound, singletons, state, outer);
  const root = ask({ path: [], call: undefined });
  const stays = new Set(given.map(({ key }) => key));
  let inner = [...bound.values()].filter(({ key }) => outer?.binds(key) !== true);
  const context: ResourceContext = {
    resources: root,
    gate: createGate(),
    binds: (key) => bound.has(key) || outer?.binds(key) === true,
    async extend(more) {
      const isNew = (binding: Binding): boolean => bound.get(binding.key) !== binding && !stays.has(binding.key);
      const latest = new Map(more.map((binding) => [binding.key, binding]));
      const added = [...latest.values()].filter((each) => isNew(each) && outer?.binds(each.key) !== true);
      for (const binding of added) {
        bound.set(binding.key, binding);
        forget(singletons, binding.key);
      }
      inner = [...inner.filter(({ key }) => added.every((binding) => binding.key !== key)), ...added];
      for (const { key } of added.filter(madeAtOnce)) await root.open(key);
    },
    forCall: () => openCall(inner, ask, outer?.forCall()),
    mark: ({ savepoint = false } = {}) => bothMarks(markStore(singletons, savepoint), outer?.mark({ savepoint })),
    release(mark) {
      const releasing = [releaseStore(mark), mark.outer && outer?.release(mark.outer)];
      return releasing.some((each) => each !== undefined) ? settleAll(releasing) : undefined;
    },
    rollback: (mark) => settleAll([rollbackStore(singletons, mark), mark.outer && outer?.rollback(mark.outer)]),
    close() {
      if (state.closed) return undefined;
      state.closed = true;
      contexts.delete(root);
      return isEmpty(singletons) ? undefined : closeStore(singletons);
    },
  };
  contexts.set(root, context);
  const first = inner.filter(madeAtOnce);
  return first.length === 0 ? context : makeFirst(context, first);
}

async function makeFirst(context: ResourceContext, first: readonly Binding[]): Promise<ResourceContext> {
  try {
    for (const { key } of first) await context.resources.open(key);
  } catch (error) {
    // Why it could not be opened counts, not what else went wrong then.
    await context.close()?.catch(() => {});
    throw error;
  }
  return context;
}

function madeAtOnce({ scope, eager, close }: Binding): boolean {
  return scope === "singleton" && (eager || close === undefined);
}

function openCall(
  bindings: readonly Binding[],
  ask: (asking: Asking) => Resources,
  outer: CallResources | undefined,
): CallResources {
  const store = newStore();
  const resources = ask({ path: [], call: { store, outer: outer?.resources } });
  return {
    resources,
    open() {
      const around = outer?.open();
      const eager = bindings.filter((binding) => binding.scope === "toolCall" && binding.eager);
      return around === undefined && eager.length === 0 ? undefined : openAll(resources, eager, around);
    },
    close() {
      const around = outer?.close();
      return around === undefined && isEmpty(store) ? undefined : settleAll([discardFrom(store, 0), around]);
    },
  };
}

async function openAll(
  resources: Resources,
  bindings: readonly Binding[],
  around: Promise<void> | undefined,
): Promise<void> {
  await around;
  for (const { key } of bindings) await resources.open(key);
}

function bothMarks(
  own: StoreMark | Promise<StoreMark>,
  outer: ResourceMark | Promise<ResourceMark> | undefined,
): ResourceMark | Promise<ResourceMark> {
  if (!(own instanceof Promise) && !(outer instanceof Promise)) return { ...own, outer };
  return Promise.all([own, outer]).then(([mark, around]) => ({ ...mark, outer: around }));
}

/** Waits for all, then throws what the first of them threw. */
async function settleAll(given: readonly (Promise<void> | undefined)[]): Promise<void> {
  const work = given.filter((promise) => promise !== undefined);
  await Promise.allSettled(work);
  await Promise.all(work);
}

/** Resources as one asker sees them: what is bound here, unless the scope around binds it. */
function asker(
  bound: ReadonlyMap<Key, Binding>,
  singletons: Store,
  state: { readonly closed: boolean },
  outer: ResourceContext | undefined,
): (asking: Asking) => Resources {
  /** The instance, or the promise of one that is being made. */
  const make = (key: Key, { path, call }: Asking): unknown => {
    if (state.closed) throw new DefinitionError(`The resource "${key.name}" is used after its scope was closed.`);
    const binding = bound.get(key);
    if (binding === undefined) throw new DefinitionError(`No resource is bound to ${pathText(path, key)}.`);
    if (path.includes(binding)) {
      throw new DefinitionError(`Resources need each other in a circle: ${pathText(path, key)}.`);
    }
    const store = storeFor(binding, path, call?.store, singletons);
    const known = binding.scope === "prototype" ? undefined : knownIn(store, key);
    if (known !== undefined) return known.instance;
    const made = binding.create(ask({ path: [...path, binding], call }));
    return made instanceof Promise ? keepLater(store, binding, made) : keep(store, binding, made);
  };
  /** The resources around, where they bind the key; a singleton gets none of a call's. */
  const around = (key: Key, { path, call }: Asking): Resources | undefined => {
    if (outer?.binds(key) !== true) return undefined;
    return isHeld(path) ? outer.resources : (call?.outer ?? outer.resources);
  };
  const get = <T>(key: ResourceKey<T>, asking: Asking): T => {
    const outside = around(key, asking);
    if (outside !== undefined) return outside.get(key);
    const instance = make(key, asking);
    if (!(instance instanceof Promise)) return instance as T;
    throw new DefinitionError(
      `The resource "${key.name}" is made asynchronously: await resources.open(key) first, or bind it eager.`,
    );
  };
  const binds = (key: Key): boolean => bound.has(key) || outer?.binds(key) === true;
  const ask = (asking: Asking): Resources => ({
    get: (key) => get(key, asking),
    find: (key) => (binds(key) ? get(key, asking) : undefined),
    async open<T>(key: ResourceKey<T>): Promise<T> {
      return (await (around(key, asking)?.open(key) ?? make(key, asking))) as T;
    },
  });
  return ask;
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

/**
 * Opens bindings outside an evaluation, to share them between evaluations: `await using resources = await
 * openResources([...])`.
 */
export async function openResources(bindings: readonly Binding[]): Promise<Resources & AsyncDisposable> {
  const context = await openContext(bindings);
  const opened: Resources & AsyncDisposable = {
    ...context.resources,
    async [Symbol.asyncDispose]() {
      contexts.delete(opened);
      await context.close();
    },
  };
  contexts.set(opened, context);
  return opened;
}
