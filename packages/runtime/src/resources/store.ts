// 1. Everything that was made is closed once, in reverse order, whatever fails.
// 2. What is still being made when it is discarded is closed as soon as it is there; nobody waits for it.
import { DefinitionError, isSnapshotable, type Binding, type ResourceKey, type Snapshotable } from "@proviso/core";
import { messageOf } from "../failures.ts";

export type Key = ResourceKey<unknown>;
interface Made {
  readonly binding: Binding;
  readonly instance: unknown;
}
/** What one scope has made, in order. */
export interface Store {
  readonly instances: Map<Key, unknown>;
  readonly pending: Map<Key, Promise<unknown>>;
  /** All that is being made, prototypes included. */
  readonly openings: Set<Opening>;
  readonly made: Made[];
  /** Closed here: there is nothing left to put back. */
  readonly closed: WeakSet<object>;
}
interface Opening {
  readonly key: Key;
  readonly settled: Promise<void>;
  discarded: boolean;
}
/** How far a store was at some moment. */
export interface StoreMark {
  readonly snapshots: readonly (readonly [Snapshotable, unknown])[];
  readonly made: number;
  readonly openings: ReadonlySet<Opening>;
}

export function newStore(): Store {
  return { instances: new Map(), pending: new Map(), openings: new Set(), made: [], closed: new WeakSet() };
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

export function keepLater(store: Store, binding: Binding, making: Promise<unknown>): Promise<unknown> {
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
  // Told to whoever awaits it; `get` does not.
  kept.catch(() => {});
  if (binding.scope !== "prototype") store.pending.set(binding.key, kept);
  return kept;
}

/**
 * All snapshotable resources of the store as they are now; at once where none is asynchronous. A savepoint is not
 * released: it can be restored as long as somebody holds it.
 */
export function markStore(store: Store, savepoint: boolean): StoreMark | Promise<StoreMark> {
  const taken = snapshotables(store).map((resource) => [resource, snapshotOf(resource, savepoint)] as const);
  const [made, openings] = [store.made.length, new Set(store.openings)];
  if (!taken.some(([, snapshot]) => snapshot instanceof Promise)) return { snapshots: taken, made, openings };
  return allOf(taken).then((snapshots) => ({ snapshots, made, openings }));
}

/** Where one fails, the others are let go. */
async function allOf(taken: StoreMark["snapshots"]): Promise<StoreMark["snapshots"]> {
  const settled = await Promise.allSettled(taken.map(async ([resource, state]) => [resource, await state] as const));
  const snapshots = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failed = settled.find((each) => each.status === "rejected");
  if (failed === undefined) return snapshots;
  await releaseAll(snapshots)?.catch(() => {});
  throw failed.reason;
}

/** One that throws rejects, so that what the others began is awaited too. */
function snapshotOf(resource: Snapshotable, savepoint: boolean): unknown {
  try {
    return resource.snapshot({ savepoint });
  } catch (error) {
    return Promise.reject(error);
  }
}

function snapshotables(store: Store): readonly Snapshotable[] {
  return [...new Set(store.made.map(({ instance }) => instance).filter(isSnapshotable))];
}

/** Puts back what was marked and discards what was made since; tries everything. @throws {AggregateError} */
export async function rollbackStore(store: Store, mark: StoreMark): Promise<void> {
  const errors: unknown[] = [];
  for (const [resource, snapshot] of mark.snapshots) {
    if (!store.closed.has(resource)) await attempt(errors, async () => resource.restore(snapshot));
  }
  await attempt(errors, () => discardFrom(store, mark.made, mark.openings));
  throwAll(errors);
}

/** What was marked is not put back any more: what stands now stays. At once where nothing is asynchronous. */
export function releaseStore(mark: StoreMark): Promise<void> | undefined {
  return releaseAll(mark.snapshots);
}

function releaseAll(snapshots: StoreMark["snapshots"]): Promise<void> | undefined {
  const releasing: Promise<void>[] = [];
  for (const [resource, snapshot] of snapshots) {
    try {
      const released = resource.release?.(snapshot);
      if (released instanceof Promise) releasing.push(released);
    } catch (error) {
      releasing.push(Promise.reject(error));
    }
  }
  return releasing.length === 0 ? undefined : Promise.all(releasing).then(() => {});
}

/** Waits for what is being made and was not discarded, then closes everything. @throws {AggregateError} */
export async function closeStore(store: Store): Promise<void> {
  await Promise.all([...store.openings].filter(({ discarded }) => !discarded).map(({ settled }) => settled));
  await discardFrom(store, 0);
}

/** Closes what was made after the first `from`, last first, and forgets it. @throws {AggregateError} */
export async function discardFrom(store: Store, from: number, older: ReadonlySet<Opening> = new Set()): Promise<void> {
  for (const opening of store.openings) {
    if (older.has(opening)) continue;
    opening.discarded = true;
    store.pending.delete(opening.key);
  }
  const errors: unknown[] = [];
  for (const { binding, instance } of store.made.splice(from).toReversed()) {
    const { close } = binding;
    // A ready instance has no end here.
    if (close === undefined) continue;
    store.instances.delete(binding.key);
    if (typeof instance === "object" && instance !== null) store.closed.add(instance);
    await attempt(errors, async () => close(instance as never));
  }
  throwAll(errors);
}

async function attempt(errors: unknown[], work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof AggregateError) errors.push(...(error.errors as unknown[]));
    else errors.push(error);
  }
}

function throwAll(errors: readonly unknown[]): void {
  if (errors.length === 0) return;
  const messages = errors.map(messageOf);
  throw new AggregateError(errors, messages.join("; "));
}
