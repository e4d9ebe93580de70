import { DefinitionError, type LogDraft } from "@proviso/core";
import { frozenInDepth, frozenState, isOutOfStack, isThenable, messageOf, tooDeep } from "@proviso/core/internal";
import { current, enableArrayMethods, enableMapSet, Immer, isDraft } from "immer";

/** Immer does not freeze here, because it would look at every item of a changed list: `frozenState` looks at the new ones. */
const immer = /* @__PURE__ */ newImmer();

/** A bundler drops it with what uses it: at the top of a module, these calls would keep immer in every bundle. */
function newImmer(): Immer {
  enableMapSet();
  enableArrayMethods();
  return new Immer({ autoFreeze: false });
}

export type Reducer = (state: never, event: never) => unknown;

/**
 * The next state. A reducer changes the draft, or returns the new state.
 * @throws {DefinitionError} for a state that is no plain data, nests too deep, or is a promise.
 */
export function reduced(slice: string, before: unknown, reduce: Reducer, event: object): unknown {
  if (typeof before !== "object" || before === null) {
    // A state that is not an object has no draft.
    const next = atOnce(reduce(before as never, event as never));
    return next === undefined ? before : frozenState(slice, next);
  }
  // Immer copies a list with `slice`, which V8 does item by item for a frozen one: a list of 64 takes twice as long in all.
  const base: object = Array.isArray(before) ? [...(before as unknown[])] : before;
  let isReduced = false;
  try {
    const next: unknown = immer.produce(base, (draft: unknown) => {
      const returned = atOnce(reduce(draft as never, event as never));
      isReduced = true;
      return returned;
    });
    return next === base ? before : frozenState(slice, next, base);
  } catch (cause) {
    // Immer walks through what a reducer returned.
    if (!isReduced || !isOutOfStack(cause)) throw cause;
    throw new DefinitionError(`The slice "${slice}" cannot hold this state: it ${tooDeep}.`, { cause });
  }
}

/**
 * What a reducer returned.
 * @throws {DefinitionError} for a promise: the state changes at once or not at all.
 */
export function atOnce(returned: unknown): undefined {
  if (!isThenable(returned)) return returned as undefined;
  // The rejection is handled here, because the promise is not awaited.
  Promise.resolve(returned).catch(() => {});
  throw new DefinitionError("A reducer cannot be asynchronous: wait first, then dispatch an event of what came.");
}

// List slices: the common reducers.

/**
 * The list with one more item: `on(added, (list, { item }) => append(list, item))`, in a slice whose state is
 * `readonly T[]`. In a log slice it is `draft.push(item)`, which costs the same for any number of entries.
 */
export function append<T>(list: LogDraft<T>, item: T): void;
export function append<T>(list: readonly T[], item: T): readonly T[];
export function append<T>(list: LogDraft<T> | readonly T[], item: T): readonly T[] | void {
  return isList(list) ? [...plain(list), item] : list.push(item);
}

function isList<T>(list: LogDraft<T> | readonly T[]): list is readonly T[] {
  return Array.isArray(list);
}

/**
 * Makes a function that replaces the item of the same key, or appends. Make it once, beside the slice:
 * `const put = upsertBy((task: Task) => task.id)`, then `on(changed, (list, { task }) => put(list, task))`,
 * in a slice whose state is `readonly T[]`. In a log slice give it `draft.entries`.
 */
export function upsertBy<T>(key: (item: T) => unknown): (list: readonly T[], item: T) => readonly T[] {
  return (list, item) => {
    const items = plain(list);
    const at = items.findIndex((other) => key(other) === key(item));
    return at === -1 ? [...items, item] : items.with(at, item);
  };
}

/** A list of one, the latest: `on(moved, (list, { place }) => replaceLatest(list, place))`. */
export function replaceLatest<T>(_list: readonly T[], item: T): readonly T[] {
  return [item];
}

/** The list itself, not its draft: reading a draft makes a draft of each item. */
function plain<T>(list: readonly T[]): readonly T[] {
  return isDraft(list) ? (current<unknown>(list) as readonly T[]) : list;
}

/**
 * Freezes an event in depth: reducers, listeners and a rollback that reduces it again get the same one.
 * @throws {DefinitionError} for one that cannot be frozen.
 */
export function frozenEvent<E extends { readonly type: string }>(event: E): E {
  try {
    return frozenInDepth(event);
  } catch (cause) {
    const why = isOutOfStack(cause) ? `it ${tooDeep}.` : messageOf(cause);
    throw new DefinitionError(`The event "${event.type}" cannot be frozen: ${why}`, { cause });
  }
}
