// 1. Everything that was made is closed once, in reverse order, whatever fails.
// 2. What is still being made when it is discarded is closed as soon as it is there; nobody waits for it.
import { DefinitionError, type Binding, type ResourceKey } from "@proviso/core";
import { messageOf } from "../failures.ts";

export type Key = ResourceKey<unknown>;
export interface MadeResource {
  readonly binding: Binding;
  readonly instance: unknown;
}
/** What one scope has made, in order. */
export interface Store {
  readonly instances: Map<Key, unknown>;
  readonly pending: Map<Key, Promise<unknown>>;
  /** All that is being made, prototypes included. */
  readonly openings: Set<Opening>;
  readonly made: MadeResource[];
  /** The keys that a factory asked for, while it ran or later. */
  readonly asked: Map<Key, Set<Key>>;
}
interface Opening {
  readonly key: Key;
  readonly settled: Promise<void>;
  discarded: boolean;
}
/** How far a store was at some moment. */
export interface StorePosition {
  readonly made: number;
  readonly openings: ReadonlySet<Opening>;
}

export function newStore(): Store {
  return { instances: new Map(), pending: new Map(), openings: new Set(), made: [], asked: new Map() };
}

/** Nothing was made, and nothing is being made. */
export function isEmpty({ made, openings }: Store): boolean {
  return made.length === 0 && openings.size === 0;
}

/** The instance, or the promise of one that is being made. */
export function knownIn(store: Store, key: Key): { readonly instance: unknown } | undefined {
  if (store.instances.has(key)) return { instance: store.instances.get(key) };
  const pending = store.pending.get(key);
  return pending === undefined ? undefined : { instance: pending };
}

export function keep(store: Store, binding: Binding, instance: unknown): unknown {
  if (binding.scope !== "prototype") store.instances.set(binding.key, instance);
  store.made.push({ binding, instance });
  return instance;
}

/** It is made anew when it is asked for; what was made stays until the end, for whoever holds it. */
export function forget(store: Store, key: Key): void {
  store.instances.delete(key);
  store.pending.delete(key);
  for (const opening of store.openings) opening.discarded ||= opening.key === key;
}

/** With the promise comes what discards the instance while it is being made, and after. */
export function keepLater(
  store: Store,
  binding: Binding,
  making: Promise<unknown>,
): { readonly kept: Promise<unknown>; discard(): Promise<void> } {
  const settled = making.then(
    () => {},
    () => {},
  );
  const opening: Opening = { key: binding.key, settled, discarded: false };
  store.openings.add(opening);
  const kept = making
    .then(async (instance) => {
      if (!opening.discarded) return keep(store, binding, instance);
      await binding.close?.(instance as never);
      throw new DefinitionError(`The resource "${binding.key.name}" came after the end of what had asked for it.`);
    })
    .finally(() => {
      store.openings.delete(opening);
      if (store.pending.get(binding.key) === kept) store.pending.delete(binding.key);
    });
  // Whoever awaits it gets the error; `get` does not await.
  kept.catch(() => {});
  if (binding.scope !== "prototype") store.pending.set(binding.key, kept);
  return {
    kept,
    async discard() {
      if (!store.openings.has(opening)) return discard(store, await kept.catch(() => undefined));
      opening.discarded = true;
      store.pending.delete(opening.key);
    },
  };
}

export function positionOf(store: Store): StorePosition {
  return { made: store.made.length, openings: new Set(store.openings) };
}

/** Waits for what is being made and was not discarded, then closes everything. @throws {AggregateError} */
export async function closeStore(store: Store): Promise<void> {
  await Promise.all([...store.openings].filter(({ discarded }) => !discarded).map(({ settled }) => settled));
  await discardSince(store, { made: 0, openings: new Set() });
}

/** Closes what was made after that position, last first, and forgets it. @throws {AggregateError} */
export async function discardSince(store: Store, position: StorePosition): Promise<void> {
  await closeRemoved(removeSince(store, position));
}

/** A resource that is no longer in its store, and not closed yet. */
export interface Removed {
  putBack(): void;
  close(): Promise<void>;
}

/** Forgets what was made after that position, last first. What is still being made is closed when it comes. */
export function removeSince(store: Store, { made, openings }: StorePosition): readonly Removed[] {
  for (const opening of store.openings) {
    if (openings.has(opening)) continue;
    opening.discarded = true;
    store.pending.delete(opening.key);
  }
  const later = store.made.slice(made).toReversed();
  return later.map(({ instance }) => remove(store, instance)).filter((each) => each !== undefined);
}

/** One after another. @throws {AggregateError} when closing failed somewhere; everything was tried. */
export async function closeRemoved(removed: readonly Removed[]): Promise<void> {
  const errors: unknown[] = [];
  for (const each of removed) await each.close().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw new AggregateError(errors, errors.map(messageOf).join("; "));
}

/** Closes one instance, and forgets it; a ready instance is not made here, and stays. */
export async function discard(store: Store, instance: unknown): Promise<void> {
  await remove(store, instance)?.close();
}

/** undefined for an instance that was not made here. */
function remove(store: Store, instance: unknown): Removed | undefined {
  const at = store.made.findLastIndex((made) => made.instance === instance);
  const made = store.made[at];
  const close = made?.binding.close;
  if (made === undefined || close === undefined) return undefined;
  const { key } = made.binding;
  store.made.splice(at, 1);
  const wasKnown = store.instances.get(key) === instance;
  if (wasKnown) store.instances.delete(key);
  return {
    putBack() {
      store.made.push(made);
      if (wasKnown) store.instances.set(key, instance);
    },
    close: async () => close(instance as never),
  };
}
