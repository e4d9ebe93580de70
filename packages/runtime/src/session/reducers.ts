import type { Slice } from "@proviso/core";
import { enableMapSet, freeze, Immer } from "immer";

enableMapSet();
const immer = new Immer({ autoFreeze: true });

/** The slice's next state: its reducers for the keys, in the order in which they were registered. One that throws changes nothing and adds to `errors`. */
export function reduceSlice(
  slice: Slice,
  state: unknown,
  keys: readonly string[],
  event: object,
  errors: unknown[],
): unknown {
  const reducers = [...slice.reducers].flatMap(([key, registered]) => (keys.includes(key) ? registered : []));
  return reducers.reduce<unknown>((before, reduce) => {
    try {
      return reduced(before, reduce, event);
    } catch (error) {
      errors.push(error);
      return before;
    }
  }, state);
}

function reduced(before: unknown, reduce: (state: never, event: never) => unknown, event: object): unknown {
  if (typeof before === "object" && before !== null) {
    return immer.produce(before, (draft: unknown) => reduce(draft as never, event as never) as undefined);
  }
  // A state that is not an object has no draft.
  const next = reduce(before as never, event as never);
  return next === undefined ? before : frozen(next);
}

/** The same value, frozen at every depth. */
export function frozen(state: unknown): unknown {
  return freeze(state, true);
}

// List slices: the common reducers.

export function append<T>(list: readonly T[], item: T): readonly T[] {
  return [...list, item];
}

/** Replaces the item of the same key, or appends. */
export function upsertBy<T>(key: (item: T) => unknown): (list: readonly T[], item: T) => readonly T[] {
  return (list, item) => {
    const at = list.findIndex((other) => key(other) === key(item));
    return at === -1 ? [...list, item] : list.with(at, item);
  };
}

/** A list of one: the latest. */
export function replaceLatest<T>(_list: readonly T[], item: T): readonly T[] {
  return [item];
}
