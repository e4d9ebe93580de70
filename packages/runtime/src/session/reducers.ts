import { pushToLog } from "./log-state.ts";
import { enableMapSet, Immer } from "immer";
import { frozen } from "./frozen.ts";

enableMapSet();
const immer = new Immer({ autoFreeze: true });

/** The next state. A reducer changes the draft, or returns the new state. */
export function reduced(before: unknown, reduce: (state: never, event: never) => unknown, event: object): unknown {
  if (typeof before === "object" && before !== null) {
    return immer.produce(before, (draft: unknown) => reduce(draft as never, event as never) as undefined);
  }
  // A state that is not an object has no draft.
  const next = reduce(before as never, event as never);
  return next === undefined ? before : frozen(next);
}

// List slices: the common reducers.

/** The list with one more item. In a log slice that costs the same for any number of them. */
export function append<T>(list: readonly T[], item: T): readonly T[] {
  return pushToLog(list, item) ? list : [...list, item];
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
