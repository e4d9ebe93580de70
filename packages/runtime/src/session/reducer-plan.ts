import { eventKeys } from "@proviso/core/internal";
import type { Place } from "./places.ts";
import type { Reducer } from "./reducers.ts";

export interface Step {
  readonly place: Place;
  readonly order: number;
  readonly reduce: Reducer;
}

/** Which reducers an event runs: by slice in the order of joining, in a slice in the order of registration. */
export interface ReducerPlan {
  add(place: Place): void;
  of(event: { readonly type: string }): readonly Step[];
  /** Whether events of this type run any; tools have keys of their own. */
  has(type: string): boolean;
}

const none: readonly Step[] = Object.freeze([]);

export function reducerPlan(): ReducerPlan {
  const steps = new Map<string, readonly Step[]>();
  /** By the last of an event's keys, which tells the others. */
  const known = new Map<string, readonly Step[]>();
  return {
    add(place) {
      for (const [order, { key, reduce }] of place.slice.registered.entries()) {
        steps.set(key, [...(steps.get(key) ?? []), { place, order, reduce }]);
      }
      known.clear();
    },
    has: (type) => steps.has(type),
    of(event) {
      if (steps.size === 0) return none;
      const keys = eventKeys(event);
      // Tools that nobody reduces share one plan: their names may be a model's invention.
      const last = keys.findLast((key) => steps.has(key)) ?? "";
      let planned = known.get(last);
      if (planned === undefined) {
        const all = keys.flatMap((key) => steps.get(key) ?? []);
        planned = all.toSorted((a, b) => a.place.at - b.place.at || a.order - b.order);
        known.set(last, planned);
      }
      return planned;
    },
  };
}
