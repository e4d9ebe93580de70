// 1. Everything that was made is closed once, in reverse order, whatever fails.
// 2. What is still being made when it is discarded is closed as soon as it is there, without a wait for it.
// 3. Every close is waited for only so long.
import { DefinitionError, type Binding, type Clock, type ResourceKey } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import type { Made, Removed, Transaction } from "../transactions/transaction.ts";
import { startPatience, type Patience } from "./closing.ts";

export type Key = ResourceKey<unknown>;
export interface MadeResource {
  readonly binding: Binding;
  readonly instance: unknown;
  /** Whether it was taken out of its scope, and is closed or will be: a waiting call does not use it any more. */
  isGone: boolean;
}
/** What one scope has made, in order. */
export interface Store {
  /** The clock that limits how long closing may take. */
  readonly clock: Clock;
  readonly instances: Map<Key, unknown>;
  readonly pending: Map<Key, Promise<unknown>>;
  /** Everything that is being made, prototypes included. */
  readonly openings: Set<Opening>;
  readonly made: MadeResource[];
  /** The keys that a factory asked for, while it ran or later; none of one that was never run. */
  readonly asked: Map<Key, Set<Key>>;
  /** Singletons that a transaction made and discards when it fails, as long as no other code has asked for them. */
  late: Map<Key, Late> | undefined;
  /** What closing threw where no caller was waiting: closing the scope rejects with it. */
  readonly failedCloses: unknown[];
  /** Prototypes that were made to learn what their factories ask for: each goes to the first who asks. */
  learned: Map<Key, unknown> | undefined;
}
/** What was made while a transaction ran. */
export interface Late extends Made {
  instance: unknown;
  isShared: boolean;
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

export function newStore(clock: Clock): Store {
  return {
    clock,
    instances: new Map(),
    pending: new Map(),
    openings: new Set(),
    made: [],
    asked: new Map(),
    late: undefined,
    failedCloses: [],
    learned: undefined,
  };
}

/** Nothing was made, nothing is being made, and no close has failed. */
export function isEmpty({ made, openings, failedCloses }: Store): boolean {
  return made.length + openings.size + failedCloses.length === 0;
}

/** Keeps the instance with the transaction until code outside of the transaction asks for it. */
export function keepAsLate(store: Store, { key, scope }: Binding, late: Late): void {
  if (scope === "singleton") (store.late ??= new Map()).set(key, late);
}

/** Asked for in this transaction, or outside any: what another made, and may yet discard, stays in its scope. */
export function shareLate(store: Store, key: Key, asking: Transaction | undefined): void {
  const late = store.late?.get(key);
  if (late === undefined) return;
  for (let one = asking; one !== undefined; one = one.parent) if (one.made.includes(late)) return;
  late.isShared = true;
  store.late?.delete(key);
}

/** The prototype that was made to learn what its factory asks for. */
export function takeLearned(store: Store, key: Key): { readonly instance: unknown } | undefined {
  if (store.learned?.has(key) !== true) return undefined;
  const instance = store.learned.get(key);
  store.learned.delete(key);
  return { instance };
}

/** The instance, or the promise of one that is being made. */
export function knownIn(store: Store, key: Key): { readonly instance: unknown } | undefined {
  if (store.instances.has(key)) return { instance: store.instances.get(key) };
  const pending = store.pending.get(key);
  return pending === undefined ? undefined : { instance: pending };
}

export function keep(store: Store, binding: Binding, instance: unknown): unknown {
  if (binding.scope !== "prototype") store.instances.set(binding.key, instance);
  store.made.push({ binding, instance, isGone: false });
  return instance;
}

/** Forgets the instance: the next use makes it anew; the old one stays until the end for its users. */
export function forget(store: Store, key: Key): void {
  store.instances.delete(key);
  store.pending.delete(key);
  for (const opening of store.openings) opening.discarded ||= opening.key === key;
}

/** Keeps a promise, and returns it with the function that takes the instance out while it is being made, and after. */
export function keepLater(
  store: Store,
  binding: Binding,
  making: Promise<unknown>,
): { readonly kept: Promise<unknown>; takeOut: Made["takeOut"] } {
  const settled = making.then(
    () => {},
    () => {},
  );
  const opening: Opening = { key: binding.key, settled, discarded: false };
  store.openings.add(opening);
  let ready: { readonly instance: unknown } | undefined;
  const kept = making
    .then((instance) => {
      if (!opening.discarded) {
        ready = { instance };
        return keep(store, binding, instance);
      }
      void (async () => binding.close?.(instance as never))().catch((error: unknown) =>
        rememberFailedClose(store, error),
      );
      throw new DefinitionError(`The resource "${binding.key.name}" came after the end of what had asked for it.`);
    })
    .finally(() => {
      store.openings.delete(opening);
      if (store.pending.get(binding.key) === kept) store.pending.delete(binding.key);
    });
  // An awaiting caller gets the error; `get` does not await.
  kept.catch(() => {});
  if (binding.scope !== "prototype") store.pending.set(binding.key, kept);
  return {
    kept,
    takeOut() {
      if (ready !== undefined) return takeOut(store, ready.instance);
      opening.discarded = true;
      if (store.pending.get(opening.key) === kept) store.pending.delete(opening.key);
      return undefined;
    },
  };
}

/** Keeps what closing threw until the scope is closed. An AggregateError is kept as its parts. */
export function rememberFailedClose({ failedCloses }: Store, error: unknown): void {
  failedCloses.push(...(error instanceof AggregateError ? error.errors : [error]));
}

export function positionOf(store: Store): StorePosition {
  return { made: store.made.length, openings: new Set(store.openings) };
}

/** Waits for what is being made and was not discarded, then closes everything. @throws {AggregateError} */
export function closeStore(store: Store): Promise<void> {
  return patiently(store, async (patience) => {
    const openings = [...store.openings].filter(({ discarded }) => !discarded).map(({ settled }) => settled);
    if (openings.length > 0) await patience.wait(Promise.all(openings));
    await closeAll(takeSince(store, { made: 0, openings: new Set() }), patience, store.failedCloses.splice(0));
  });
}

/** Closes what was made after that position, last first, and forgets it. @throws {AggregateError} */
export function discardSince(store: Store, position: StorePosition): Promise<void> {
  return removeSince(store, position).close();
}

/** Forgets one instance, and returns what closes it. undefined: a ready instance is not made here, and stays. */
export function takeOut(store: Store, instance: unknown): (() => Promise<void>) | undefined {
  const taken = take(store, instance);
  return taken && (() => patiently(store, (patience) => patience.close(taken.binding, instance)));
}

/** What the store knows of an instance that it gave out; what it does not have any more is gone. */
export function madeIn(store: Store, instance: unknown): Pick<MadeResource, "isGone"> {
  return store.made.findLast((made) => made.instance === instance) ?? gone;
}

const gone = { isGone: true };

/** Forgets what was made after that position. What is still being made is closed when it comes. */
export function removeSince(store: Store, position: StorePosition): Removed {
  const taken = takeSince(store, position);
  return {
    putBack: () => taken.toReversed().forEach((each) => each.putBack()),
    close: () => patiently(store, (patience) => closeAll(taken, patience)),
  };
}

interface TakenOut extends MadeResource {
  putBack(): void;
}

/** Last first. */
function takeSince(store: Store, { made, openings }: StorePosition): readonly TakenOut[] {
  for (const opening of store.openings) {
    if (openings.has(opening)) continue;
    opening.discarded = true;
    store.pending.delete(opening.key);
  }
  const later = store.made.slice(made).toReversed();
  return later.map(({ instance }) => take(store, instance)).filter((each) => each !== undefined);
}

/** undefined for an instance that was not made here. */
function take(store: Store, instance: unknown): TakenOut | undefined {
  const at = store.made.findLastIndex((made) => made.instance === instance);
  const made = store.made[at];
  if (made?.binding.close === undefined) return undefined;
  const { key } = made.binding;
  store.made.splice(at, 1);
  made.isGone = true;
  const wasKnown = store.instances.get(key) === instance;
  if (wasKnown) store.instances.delete(key);
  return {
    ...made,
    putBack() {
      made.isGone = false;
      store.made.push(made);
      if (wasKnown) store.instances.set(key, instance);
    },
  };
}

/** One after another; `earlier` is what closing threw before. @throws {AggregateError} */
async function closeAll(
  taken: readonly TakenOut[],
  patience: Patience,
  earlier: readonly unknown[] = [],
): Promise<void> {
  const errors = [...earlier];
  for (const { binding, instance } of taken) {
    await patience.close(binding, instance).catch((error: unknown) => errors.push(error));
  }
  if (errors.length > 0) throw new AggregateError(errors, errors.map(messageOf).join("; "));
}

async function patiently({ clock }: Store, work: (patience: Patience) => Promise<void>): Promise<void> {
  const patience = startPatience(clock);
  try {
    await work(patience);
  } finally {
    patience.end();
  }
}
