import type { Slice } from "@proviso/core";
import { enableMapSet, Immer } from "immer";

enableMapSet();
const immer = new Immer({ autoFreeze: true });

/** The slice's next state: its reducers for the key, in the order in which they were registered. */
export function reduceSlice(slice: Slice, state: unknown, key: string, event: object): unknown {
  const reducers = slice.reducers.get(key) ?? [];
  return reducers.reduce<unknown>((before, reduce) => {
    // A state that is not an object has no draft.
    if (typeof before !== "object" || before === null) return replaced(reduce(before as never, event as never), before);
    return immer.produce(before, (draft: unknown) => reduce(draft as never, event as never) as undefined);
  }, state);
}

function replaced(next: unknown, before: unknown): unknown {
  return next === undefined ? before : next;
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
