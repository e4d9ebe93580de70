// 1. All state changes go through `reduce`; a state is replaced, never changed in place.
// 2. A reducer that throws leaves its slice as it was; the other slices are reduced all the same.
import { DefinitionError, eventKeys, type Slice } from "@proviso/core";
import { reduceSlice } from "./reducers.ts";

/** States by slice name. */
export type SessionMark = ReadonlyMap<string, unknown>;

/** The state behind a session: slices, in the order in which they joined. */
export interface SliceStates {
  /** @throws {DefinitionError} when another slice has the name of one of these; none joins then. */
  join(slices: readonly Slice[]): void;
  joined(): readonly Slice[];
  /** The initial state of a slice that has not joined. */
  get(slice: Slice): unknown;
  /** The errors of the reducers that threw. */
  reduce(event: { readonly type: string }): readonly unknown[];
  /** The states of all state slices, by reference; "all": of the log slices too. */
  mark(which?: "all"): SessionMark;
  /** Puts back exactly what was marked; clears state slices that came later. */
  rollback(mark: SessionMark): void;
}

export function sliceStates(sessionId: string): SliceStates {
  const slices = new Map<string, Slice>();
  const reducing = new Map<string, Slice[]>();
  const states = new Map<string, unknown>();

  const assertSame = (slice: Slice, known = slices.get(slice.name)): void => {
    if (known === undefined || known === slice) return;
    throw new DefinitionError(`The session "${sessionId}" has another slice named "${slice.name}".`);
  };
  return {
    join(joining) {
      for (const slice of joining) {
        assertSame(slice);
        assertSame(
          slice,
          joining.find(({ name }) => name === slice.name),
        );
      }
      for (const slice of joining) {
        if (slices.has(slice.name)) continue;
        slices.set(slice.name, slice);
        states.set(slice.name, slice.initial);
        for (const key of slice.reducers.keys()) reducing.set(key, [...(reducing.get(key) ?? []), slice]);
      }
    },
    joined: () => [...slices.values()],
    get(slice) {
      assertSame(slice);
      return states.has(slice.name) ? states.get(slice.name) : slice.initial;
    },
    reduce(event) {
      const errors: unknown[] = [];
      for (const key of eventKeys(event)) {
        for (const slice of reducing.get(key) ?? []) {
          try {
            states.set(slice.name, reduceSlice(slice, states.get(slice.name), key, event));
          } catch (error) {
            errors.push(error);
          }
        }
      }
      return errors;
    },
    mark(which) {
      return new Map([...states].filter(([name]) => which === "all" || slices.get(name)?.kind === "state"));
    },
    rollback(mark) {
      for (const [name, slice] of slices) {
        if (mark.has(name)) states.set(name, mark.get(name));
        else if (slice.kind === "state") states.set(name, slice.initial);
      }
    },
  };
}
