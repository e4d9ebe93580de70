// 1. All state changes go through `reduce`; a state is replaced, never changed in place.
// 2. A reducer that throws leaves its slice as it was; all others, of its slice too, run all the same.
// 3. A mark is a reference: it costs the same for any number of slices and items.
import { DefinitionError, type Slice } from "@proviso/core";
import { logState, type LogMark, type LogState } from "./log-state.ts";
import { reducerPlan, type Place, type Step } from "./reducer-plan.ts";
import { frozen } from "./frozen.ts";
import { reduced } from "./reducers.ts";

/** The states of the state slices, by the order in which they joined; with "all" the logs' too. */
export interface SessionMark {
  readonly slices: readonly Slice[];
  readonly states: readonly unknown[];
  readonly logs: ReadonlyMap<LogState, LogMark> | undefined;
}

/** The state behind a session: slices, in the order in which they joined. */
export interface SliceStates {
  /** @throws {DefinitionError} when another slice has the name of one of these; none joins then. */
  join(slices: readonly Slice[]): void;
  joined(): readonly Slice[];
  /** The initial state of a slice that has not joined. */
  get(slice: Slice): unknown;
  /** Puts a state in a slice's place. */
  set(slice: Slice, state: unknown): void;
  /** The errors of the reducers that threw. */
  reduce(event: { readonly type: string }): readonly unknown[];
  /** The states of all state slices, by reference; "all": of the log slices too. */
  mark(which?: "all"): SessionMark;
  /** Puts back exactly what was marked; clears state slices that came later. */
  rollback(mark: SessionMark): void;
}

const none: readonly never[] = Object.freeze([]);

export function sliceStates(sessionId: string): SliceStates {
  const places = new Map<string, Place>();
  const plan = reducerPlan();
  const table = stateTable();
  let slices: readonly Slice[] = [];

  const assertSame = (slice: Slice, known = places.get(slice.name)?.slice): void => {
    if (known === undefined || known === slice) return;
    throw new DefinitionError(`The session "${sessionId}" has another slice named "${slice.name}".`);
  };
  const add = (slice: Slice): void => {
    const initial = frozen(slice.initial);
    const log = slice.kind === "log" && Array.isArray(initial) ? logState(initial as readonly unknown[]) : undefined;
    const place: Place = { slice, at: slices.length, log };
    places.set(slice.name, place);
    slices = [...slices, slice];
    table.put(place.at, initial);
    plan.add(place);
  };
  const run = ({ place: { at, log }, reduce }: Step, event: object): void => {
    if (log === undefined) table.put(at, reduced(table.states()[at], reduce, event));
    else log.reduce((draft) => reduce(draft as never, event as never));
  };
  return {
    join(joining) {
      const named = (slice: Slice): Slice | undefined => joining.find(({ name }) => name === slice.name);
      for (const slice of joining) {
        assertSame(slice);
        assertSame(slice, named(slice));
      }
      for (const slice of joining) if (!places.has(slice.name)) add(slice);
    },
    joined: () => slices,
    get(slice) {
      assertSame(slice);
      const place = places.get(slice.name);
      if (place === undefined) return frozen(slice.initial);
      return place.log === undefined ? table.states()[place.at] : place.log.get();
    },
    set(slice, state) {
      const place = places.get(slice.name);
      if (place?.log === undefined) table.put(place?.at ?? slices.length, frozen(state));
      else place.log.reduce(() => state);
    },
    reduce: (event) => runAll(slices.length === 0 ? none : plan.of(event), (step) => run(step, event)),
    mark(which) {
      const states = table.share();
      if (which === undefined) return { slices, states, logs: undefined };
      const logs = [...places.values()].flatMap(({ log }) => (log === undefined ? [] : [[log, log.mark()] as const]));
      return { slices, states, logs: new Map(logs) };
    },
    rollback(mark) {
      table.replace(restoredStates(slices, mark, table.states()));
      for (const [log, marked] of mark.logs ?? []) log.cut(marked);
    },
  };
}

function runAll(steps: readonly Step[], run: (step: Step) => void): readonly unknown[] {
  let errors: unknown[] | undefined;
  for (const step of steps) {
    try {
      run(step);
    } catch (error) {
      (errors ??= []).push(error);
    }
  }
  return errors ?? none;
}

/** States by place; a change takes a copy when somebody holds the list. */
interface StateTable {
  states(): readonly unknown[];
  put(at: number, state: unknown): void;
  /** The list, which does not change from here on. */
  share(): readonly unknown[];
  replace(states: readonly unknown[]): void;
}

function stateTable(): StateTable {
  let states: unknown[] = [];
  let shared = false;
  return {
    states: () => states,
    put(at, state) {
      if (at < states.length && states[at] === state) return;
      if (shared) states = [...states];
      shared = false;
      states[at] = state;
    },
    share() {
      shared = true;
      return states;
    },
    replace(given) {
      states = given as unknown[];
      shared = true;
    },
  };
}

function restoredStates(slices: readonly Slice[], mark: SessionMark, before: readonly unknown[]): readonly unknown[] {
  // A log that is no list is kept here, and kept over a rollback.
  const keepsLogs = mark.logs === undefined && slices.some(({ kind }) => kind === "log");
  if (slices.length === mark.slices.length && !keepsLogs) return mark.states;
  return slices.map((slice, at) => {
    const known = mark.slices[at] === slice;
    if (slice.kind === "log" && (mark.logs === undefined || !known)) return before[at];
    return known ? mark.states[at] : frozen(slice.initial);
  });
}
