// A slice keeps its slot: slots are numbered in the order in which the slices joined.
import { DefinitionError, type Slice } from "@proviso/core";
import { eventKeys, frozenState } from "@proviso/core/internal";
import { createLog, type Log, type LogMark } from "./log.ts";
import type { Reducer } from "./reducers.ts";

/** Where a slice's state is kept. */
export interface SliceSlot {
  readonly slice: Slice;
  readonly index: number;
  /** The entries of a log slice whose state is a list; all other states are in the store's list of states. */
  readonly log: Log | undefined;
}
/** How long each log is. */
export type LogMarks = readonly (readonly [Log, LogMark])[];

/** A reducer with the slot that it changes. */
export interface Step {
  readonly slot: SliceSlot;
  readonly order: number;
  readonly reduce: Reducer;
}

const noMarks: LogMarks = Object.freeze([]);

/** The slices of a session in the order in which they joined, with their states and reducers. */
export interface SliceStore {
  /** Adds the slices that are new. @throws {DefinitionError} for a second slice of a name; none joins then. */
  join(slices: readonly Slice[]): void;
  slices(): readonly Slice[];
  /** The initial state of a slice that has not joined. */
  get(slice: Slice): unknown;
  /** Replaces the state. @throws {DefinitionError} for a state that is not plain data, and for a slice that has not joined. */
  put(slice: Slice, state: unknown): void;
  /** The states by slot; a slot with a log has its initial state there. */
  states(): readonly unknown[];
  /** Replaces the state of a slot without a log; the state is frozen. */
  set(slot: SliceSlot, state: unknown): void;
  /** Like `states`, but the list stays as it is: the next change copies it. */
  share(): readonly unknown[];
  /** Puts back the shared states of `slices`. Other state slices are cleared, logs are kept. */
  restore(slices: readonly Slice[], states: readonly unknown[]): void;
  logMarks(): LogMarks;
  /** The reducers that an event runs: by slot, and in a slot in the order of registration. */
  stepsFor(event: { readonly type: string }): readonly Step[];
  /** Whether events of this type run a reducer; tools have keys of their own. */
  hasSteps(type: string): boolean;
}

export function createSliceStore(sessionId: string): SliceStore {
  const slots = new Map<string, SliceSlot>();
  const plan = createReducerPlan();
  let slices: readonly Slice[] = [];
  const states = createStateList();
  const logs: Log[] = [];
  /** The log slices whose state is not a list: their states are in `states`, and a restore leaves them. */
  let logsInStates = 0;

  const find = (slice: Slice): SliceSlot | undefined => {
    const slot = slots.get(slice.name);
    if (slot === undefined || slot.slice === slice) return slot;
    throw new DefinitionError(`The session "${sessionId}" has another slice named "${slice.name}".`);
  };
  const add = (slice: Slice): void => {
    const { name, initial, kind } = slice;
    const log = kind === "log" && Array.isArray(initial) ? createLog(name, initial as readonly unknown[]) : undefined;
    if (log !== undefined) logs.push(log);
    else if (kind === "log") logsInStates += 1;
    const slot: SliceSlot = { slice, index: slices.length, log };
    slots.set(name, slot);
    slices = [...slices, slice];
    states.set(slot.index, initial);
    plan.add(slot);
  };
  return {
    join(added) {
      for (const [index, slice] of added.entries()) {
        find(slice);
        const twin = added.find((other, at) => at < index && other.name === slice.name);
        if (twin !== undefined && twin !== slice)
          throw new DefinitionError(`The session "${sessionId}" cannot have two slices named "${slice.name}".`);
      }
      for (const slice of added) if (!slots.has(slice.name)) add(slice);
    },
    slices: () => slices,
    get(slice) {
      const slot = find(slice);
      if (slot === undefined) return slice.initial;
      return slot.log === undefined ? states.get()[slot.index] : slot.log.get();
    },
    put(slice, state) {
      const slot = find(slice);
      if (slot === undefined) throw new DefinitionError(`The session "${sessionId}" lacks the slice "${slice.name}".`);
      if (slot.log === undefined) states.set(slot.index, frozenState(slice.name, state));
      else slot.log.replace(state as readonly unknown[]);
    },
    states: states.get,
    set: ({ index }, state) => states.set(index, state),
    share: states.share,
    restore(marked, markedStates) {
      const isSame = marked === slices && logsInStates === 0;
      states.replace(isSame ? markedStates : arranged(slices, marked, markedStates, states.get()));
    },
    logMarks: () => (logs.length === 0 ? noMarks : logs.map((log) => [log, log.mark()] as const)),
    stepsFor: plan.stepsFor,
    hasSteps: plan.hasSteps,
  };
}

/** The states by slot: a list that is copied before a change once a mark holds it. */
function createStateList(): {
  get(): readonly unknown[];
  set(index: number, state: unknown): void;
  /** The list, which does not change from here on. */
  share(): readonly unknown[];
  replace(states: readonly unknown[]): void;
} {
  let states: unknown[] = [];
  let isShared = false;
  return {
    get: () => states,
    set(index, state) {
      if (index < states.length && states[index] === state) return;
      if (isShared) states = [...states];
      isShared = false;
      states[index] = state;
    },
    share() {
      isShared = true;
      return states;
    },
    replace(others) {
      states = others as unknown[];
      isShared = true;
    },
  };
}

/** The marked states in the order of the slots: another session may have joined the slices in another order. */
function arranged(
  slices: readonly Slice[],
  marked: readonly Slice[],
  markedStates: readonly unknown[],
  now: readonly unknown[],
): readonly unknown[] {
  return slices.map((slice, index) => {
    if (slice.kind === "log") return now[index];
    const from = marked[index] === slice ? index : marked.indexOf(slice);
    return from === -1 ? slice.initial : markedStates[from];
  });
}

const noSteps: readonly Step[] = Object.freeze([]);

/** The reducers that each event runs, in the order of the slots. */
function createReducerPlan(): {
  add(slot: SliceSlot): void;
  readonly stepsFor: SliceStore["stepsFor"];
  readonly hasSteps: SliceStore["hasSteps"];
} {
  const steps = new Map<string, readonly Step[]>();
  /** The key is the last of an event's keys, which determines the others. */
  const planned = new Map<string, readonly Step[]>();
  return {
    add(slot) {
      for (const [order, { key, reduce }] of slot.slice.registered.entries()) {
        steps.set(key, [...(steps.get(key) ?? []), { slot, order, reduce }]);
      }
      planned.clear();
    },
    hasSteps: (type) => steps.has(type),
    stepsFor(event) {
      if (steps.size === 0) return noSteps;
      const keys = eventKeys(event);
      // Tools that no reducer names share one plan: a model may invent their names.
      const last = keys.findLast((key) => steps.has(key)) ?? "";
      const known = planned.get(last);
      if (known !== undefined) return known;
      const all = keys.flatMap((key) => steps.get(key) ?? []);
      const sorted = all.toSorted((a, b) => a.slot.index - b.slot.index || a.order - b.order);
      planned.set(last, sorted);
      return sorted;
    },
  };
}
