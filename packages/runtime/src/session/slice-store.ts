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

const noSteps: readonly Step[] = Object.freeze([]);
const noSlices: readonly Slice[] = Object.freeze([]);

/** The slices of a session in the order in which they joined, with their states and reducers. */
export class SliceStore {
  readonly #sessionId: string;
  readonly #slots = new Map<string, SliceSlot>();
  #slices = noSlices;
  /** The states by slot: a list that is copied before a change once a mark holds it. */
  #states: unknown[] = [];
  #isShared = false;
  readonly #logs: Log[] = [];
  /** The log slices whose state is not a list: their states are in `states`, and a restore leaves them. */
  #logsInStates = 0;
  /** The reducers of each key; undefined: there are none. */
  #steps: Map<string, readonly Step[]> | undefined;
  /** The key is the last of an event's keys, which determines the others. */
  #planned: Map<string, readonly Step[]> | undefined;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /** Adds the slices that are new. @throws {DefinitionError} for a second slice of a name; none joins then. */
  join(added: readonly Slice[]): void {
    for (const [index, slice] of added.entries()) {
      this.#find(slice);
      const twin = added.find((other, at) => at < index && other.name === slice.name);
      if (twin !== undefined && twin !== slice)
        throw new DefinitionError(`The session "${this.#sessionId}" cannot have two slices named "${slice.name}".`);
    }
    for (const slice of added) if (!this.#slots.has(slice.name)) this.#add(slice);
  }

  slices(): readonly Slice[] {
    return this.#slices;
  }

  /** The initial state of a slice that has not joined. */
  get(slice: Slice): unknown {
    const slot = this.#find(slice);
    if (slot === undefined) return slice.initial;
    return slot.log === undefined ? this.#states[slot.index] : slot.log.get();
  }

  /** Replaces the state. @throws {DefinitionError} for a state that is not plain data, and for a slice that has not joined. */
  put(slice: Slice, state: unknown): void {
    const slot = this.#find(slice);
    if (slot === undefined)
      throw new DefinitionError(`The session "${this.#sessionId}" lacks the slice "${slice.name}".`);
    if (slot.log === undefined) this.set(slot, frozenState(slice.name, state));
    else slot.log.replace(state as readonly unknown[]);
  }

  /** The states by slot; a slot with a log has its initial state there. */
  states(): readonly unknown[] {
    return this.#states;
  }

  /** Replaces the state of a slot without a log; the state is frozen. */
  set({ index }: SliceSlot, state: unknown): void {
    if (index < this.#states.length && this.#states[index] === state) return;
    if (this.#isShared) this.#states = [...this.#states];
    this.#isShared = false;
    this.#states[index] = state;
  }

  /** Like `states`, but the list stays as it is: the next change copies it. */
  share(): readonly unknown[] {
    this.#isShared = true;
    return this.#states;
  }

  /** Puts back the shared states of `slices`. Other state slices are cleared, logs are kept. */
  restore(marked: readonly Slice[], markedStates: readonly unknown[]): void {
    const isSame = marked === this.#slices && this.#logsInStates === 0;
    const states = isSame ? markedStates : arranged(this.#slices, marked, markedStates, this.#states);
    this.#states = states as unknown[];
    this.#isShared = true;
  }

  logMarks(): LogMarks {
    return this.#logs.length === 0 ? noMarks : this.#logs.map((log) => [log, log.mark()] as const);
  }

  /** Whether events of this type run a reducer; tools have keys of their own. */
  hasSteps(type: string): boolean {
    return this.#steps?.has(type) === true;
  }

  /** The reducers that an event runs: by slot, and in a slot in the order of registration. */
  stepsFor(event: { readonly type: string }): readonly Step[] {
    const steps = this.#steps;
    if (steps === undefined) return noSteps;
    const keys = eventKeys(event);
    // Tools that no reducer names share one plan: a model may invent their names.
    const last = keys.findLast((key) => steps.has(key)) ?? "";
    const planned = (this.#planned ??= new Map<string, readonly Step[]>());
    const known = planned.get(last);
    if (known !== undefined) return known;
    const all = keys.flatMap((key) => steps.get(key) ?? []);
    const sorted = all.toSorted((a, b) => a.slot.index - b.slot.index || a.order - b.order);
    planned.set(last, sorted);
    return sorted;
  }

  #find(slice: Slice): SliceSlot | undefined {
    const slot = this.#slots.get(slice.name);
    if (slot === undefined || slot.slice === slice) return slot;
    throw new DefinitionError(`The session "${this.#sessionId}" has another slice named "${slice.name}".`);
  }

  #add(slice: Slice): void {
    const { name, initial, kind } = slice;
    const log = kind === "log" && Array.isArray(initial) ? createLog(name, initial as readonly unknown[]) : undefined;
    if (log !== undefined) this.#logs.push(log);
    else if (kind === "log") this.#logsInStates += 1;
    const slot: SliceSlot = { slice, index: this.#slices.length, log };
    this.#slots.set(name, slot);
    this.#slices = [...this.#slices, slice];
    this.set(slot, initial);
    if (slice.registered.length === 0) return;
    const steps = (this.#steps ??= new Map<string, readonly Step[]>());
    for (const [order, { key, reduce }] of slice.registered.entries()) {
      steps.set(key, [...(steps.get(key) ?? []), { slot, order, reduce }]);
    }
    this.#planned?.clear();
  }
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
