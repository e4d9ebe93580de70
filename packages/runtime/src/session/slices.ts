// 1. All state changes go through `reduce`; a state is replaced, never changed in place.
// 2. A reducer that throws leaves its slice as it was; all others, of its slice too, run all the same.
import { DefinitionError, eventKeys, type Slice } from "@proviso/core";
import { frozen, reduceSlice } from "./reducers.ts";

/** States by slice: a namesake has no part in it. */
export type SessionMark = ReadonlyMap<Slice, unknown>;

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
  const reducing = new Map<string, Set<Slice>>();
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
        states.set(slice.name, frozen(slice.initial));
        for (const key of slice.reducers.keys()) reducing.set(key, (reducing.get(key) ?? new Set()).add(slice));
      }
    },
    joined: () => [...slices.values()],
    get(slice) {
      assertSame(slice);
      return states.has(slice.name) ? states.get(slice.name) : frozen(slice.initial);
    },
    reduce(event) {
      const errors: unknown[] = [];
      const keys = eventKeys(event);
      const concerned = new Set(keys.flatMap((key) => [...(reducing.get(key) ?? [])]));
      // With one key they are in order already.
      const ordered = keys.length === 1 ? concerned : [...slices.values()].filter((slice) => concerned.has(slice));
      for (const slice of ordered) {
        states.set(slice.name, reduceSlice(slice, states.get(slice.name), keys, event, errors));
      }
      return errors;
    },
    mark(which) {
      const marked = [...slices.values()].filter(({ kind }) => which === "all" || kind === "state");
      return new Map(marked.map((slice) => [slice, states.get(slice.name)]));
    },
    rollback(mark) {
      for (const [name, slice] of slices) {
        if (mark.has(slice)) states.set(name, mark.get(slice));
        else if (slice.kind === "state") states.set(name, slice.initial);
      }
    },
  };
}
