// 1. A singleton is made once in its scope; whoever asks while it is being made waits for the same one.
// 2. Everything that was made is closed once, in reverse order, whatever fails; ready instances are never closed.
// 3. Ready instances are there from the start, so that a snapshot covers what a call changes of them.
import {
  DefinitionError,
  isSnapshotable,
  type Binding,
  type ResourceKey,
  type Resources,
  type Snapshotable,
} from "@proviso/core";

export interface ResourceContext {
  readonly resources: Resources;
  /** Fresh `toolCall` resources for one call; the rest is shared. */
  forCall(): CallResources;
  /** All snapshotable resources as they are now; at once where none is asynchronous. */
  mark(): ResourceMark | Promise<ResourceMark>;
  /** Puts back what was marked; what was made since is discarded and closed. */
  rollback(mark: ResourceMark): Promise<void>;
  /** @throws {AggregateError} when closing failed somewhere; everything was tried. */
  close(): Promise<void>;
}
export interface CallResources {
  readonly resources: Resources;
  close(): Promise<void>;
}
export interface ResourceMark {
  readonly snapshots: readonly (readonly [Snapshotable, unknown])[];
  readonly made: number;
  readonly outer: ResourceMark | undefined;
}

type Key = ResourceKey<unknown>;
interface Made {
  readonly binding: Binding;
  readonly instance: unknown;
}
/** What one scope has made, in order. */
interface Store {
  readonly instances: Map<Key, unknown>;
  readonly pending: Map<Key, Promise<unknown>>;
  readonly made: Made[];
}
interface Asking {
  readonly path: readonly Binding[];
  /** undefined outside a call. */
  readonly call: Store | undefined;
}

const contexts = new WeakMap<Resources, ResourceContext>();

/** The context behind an opened scope. @throws {DefinitionError} for anything else. */
export function contextOf(resources: Resources): ResourceContext {
  const context = contexts.get(resources);
  if (context === undefined)
    throw new DefinitionError("These resources were not opened by openResources, or are closed.");
  return context;
}

/** Later bindings of a key win; those of `outer` win over all. */
export async function openContext(bindings: readonly Binding[], outer?: ResourceContext): Promise<ResourceContext> {
  const bound = new Map<Key, Binding>(bindings.map((binding) => [binding.key, binding]));
  const singletons = newStore();
  const state = { closed: false };
  const ask = asker(bound, singletons, state, outer?.resources);
  const root = ask({ path: [], call: undefined });
  const context: ResourceContext = {
    resources: root,
    forCall() {
      const call = newStore();
      return { resources: ask({ path: [], call }), close: () => closeAll(call, 0) };
    },
    mark: () => markStore(singletons, outer?.mark()),
    async rollback(mark) {
      for (const [resource, snapshot] of mark.snapshots) await resource.restore(snapshot);
      await closeAll(singletons, mark.made);
      if (outer !== undefined && mark.outer !== undefined) await outer.rollback(mark.outer);
    },
    async close() {
      if (state.closed) return;
      state.closed = true;
      contexts.delete(root);
      await closeAll(singletons, 0);
    },
  };
  contexts.set(root, context);
  try {
    const singletonBindings = [...bound.values()].filter(({ scope }) => scope === "singleton");
    const first = singletonBindings.filter(({ eager, close }) => eager || close === undefined);
    for (const { key } of first) await root.open(key);
  } catch (error) {
    await context.close();
    throw error;
  }
  return context;
}

/** Resources as one asker sees them: what is bound here, unless the scope around binds it. */
function asker(
  bound: ReadonlyMap<Key, Binding>,
  singletons: Store,
  state: { readonly closed: boolean },
  outer: Resources | undefined,
): (asking: Asking) => Resources {
  /** The instance, or the promise of one that is being made. */
  const make = (key: Key, { path, call }: Asking): unknown => {
    if (state.closed) throw new DefinitionError(`The resource "${key.name}" is used after its scope was closed.`);
    const binding = bound.get(key);
    if (binding === undefined) throw new DefinitionError(`No resource is bound to ${pathText(path, key)}.`);
    if (path.includes(binding)) {
      throw new DefinitionError(`Resources need each other in a circle: ${pathText(path, key)}.`);
    }
    const store = storeFor(binding, path, call, singletons);
    const known = binding.scope === "prototype" ? undefined : knownIn(store, key);
    if (known !== undefined) return known.instance;
    const made = binding.create(ask({ path: [...path, binding], call }));
    return made instanceof Promise ? keepLater(store, binding, made) : keep(store, binding, made);
  };
  const ask = (asking: Asking): Resources => ({
    get<T>(key: ResourceKey<T>): T {
      const around = outer?.find(key);
      const instance = around ?? make(key, asking);
      if (!(instance instanceof Promise)) return instance as T;
      throw new DefinitionError(
        `The resource "${key.name}" is made asynchronously: await resources.open(key) first, or bind it eager.`,
      );
    },
    find<T>(key: ResourceKey<T>): T | undefined {
      return bound.has(key) ? this.get(key) : outer?.find(key);
    },
    async open<T>(key: ResourceKey<T>): Promise<T> {
      return (await (outer?.find(key) ?? make(key, asking))) as T;
    },
  });
  return ask;
}

/**
 * Where an instance is kept. @throws {DefinitionError} for a resource of a single call outside one, or held by a
 * singleton.
 */
function storeFor(binding: Binding, path: readonly Binding[], call: Store | undefined, singletons: Store): Store {
  const held = path.some(({ scope }) => scope === "singleton");
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

function knownIn(store: Store, key: Key): { readonly instance: unknown } | undefined {
  if (store.instances.has(key)) return { instance: store.instances.get(key) };
  const pending = store.pending.get(key);
  return pending === undefined ? undefined : { instance: pending };
}

function keepLater(store: Store, binding: Binding, making: Promise<unknown>): Promise<unknown> {
  const opening = making
    .then((instance) => keep(store, binding, instance))
    .finally(() => store.pending.delete(binding.key));
  // Told to whoever awaits it; `get` does not.
  opening.catch(() => {});
  if (binding.scope !== "prototype") store.pending.set(binding.key, opening);
  return opening;
}

function markStore(
  store: Store,
  outer: ResourceMark | Promise<ResourceMark> | undefined,
): ResourceMark | Promise<ResourceMark> {
  const snapshots = snapshotables(store).map((resource) => [resource, resource.snapshot()] as const);
  const made = store.made.length;
  const atOnce = !(outer instanceof Promise) && snapshots.every(([, snapshot]) => !(snapshot instanceof Promise));
  return atOnce ? { snapshots, made, outer } : settleMark(snapshots, made, outer);
}

async function settleMark(
  states: readonly (readonly [Snapshotable, unknown])[],
  made: number,
  outer: ResourceMark | Promise<ResourceMark> | undefined,
): Promise<ResourceMark> {
  const snapshots = await Promise.all(states.map(async ([resource, state]) => [resource, await state] as const));
  return { snapshots, made, outer: await outer };
}

function newStore(): Store {
  return { instances: new Map(), pending: new Map(), made: [] };
}

function keep(store: Store, binding: Binding, instance: unknown): unknown {
  if (binding.scope !== "prototype") store.instances.set(binding.key, instance);
  store.made.push({ binding, instance });
  return instance;
}

function snapshotables(store: Store): readonly Snapshotable[] {
  return [...new Set(store.made.map(({ instance }) => instance).filter(isSnapshotable))];
}

/** Closes what was made after the first `from`, last first, and forgets it. */
async function closeAll(store: Store, from: number): Promise<void> {
  await Promise.allSettled(store.pending.values());
  const errors: unknown[] = [];
  for (const { binding, instance } of store.made.splice(from).toReversed()) {
    if (binding.close === undefined) {
      // A ready instance has no end here.
    } else {
      store.instances.delete(binding.key);
      try {
        await binding.close(instance as never);
      } catch (error) {
        errors.push(error);
      }
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, "Resources could not be closed.");
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
  const opened: Resources & AsyncDisposable = { ...context.resources, [Symbol.asyncDispose]: () => context.close() };
  contexts.set(opened, context);
  return opened;
}
