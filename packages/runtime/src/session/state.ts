// 1. All state changes go through `reduce`; a state is replaced, never changed in place.
// 2. A reducer that throws leaves its slice as it was; all others run all the same, also those of the same slice.
// 3. A mark is a reference: it costs the same for any number of slices and items.
// 4. A reducer dispatches and restores nothing.
// 5. A slice keeps its slot: slots are numbered in the order in which the slices joined.
import { DefinitionError, type Slice } from "@proviso/core";
import { eventKeys, frozenState, typeOfKey } from "@proviso/core/internal";
import { ConcurrentChanges, type AnyEvent, type Origin, type SessionMark } from "./concurrent-changes.ts";
import { createLog, type Log, type LogMarks } from "./log.ts";
import { frozenEvent, reduced, type Reducer } from "./reducers.ts";

/** Where a slice's state is kept. */
interface SliceSlot {
  readonly slice: Slice;
  readonly index: number;
  /** The entries of a log slice whose state is a list; all other states are in the store's list of states. */
  readonly log: Log | undefined;
}
/** A reducer with the slot that it changes. */
interface Step {
  readonly slot: SliceSlot;
  readonly order: number;
  readonly reduce: Reducer;
}

const noMarks: LogMarks = Object.freeze([]);
const noSteps: readonly Step[] = Object.freeze([]);
const noSlices: readonly Slice[] = Object.freeze([]);
const noErrors: readonly never[] = Object.freeze([]);

/** The state of a session: its slices in the order in which they joined, with their states, reducers, marks and rollbacks. */
export class SessionState {
  readonly id: string;
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
  readonly #concurrent = new ConcurrentChanges();
  #isReducing = false;

  constructor(id: string) {
    this.id = id;
  }

  /** Adds the slices that are new. @throws {DefinitionError} for a second slice of a name; none joins then. */
  join(added: readonly Slice[]): void {
    for (const [index, slice] of added.entries()) {
      this.#find(slice);
      const twin = added.find((other, at) => at < index && other.name === slice.name);
      if (twin !== undefined && twin !== slice)
        throw new DefinitionError(`The session "${this.id}" cannot have two slices named "${slice.name}".`);
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
    if (slot === undefined) throw new DefinitionError(`The session "${this.id}" lacks the slice "${slice.name}".`);
    if (slot.log === undefined) this.#set(slot, frozenState(slice.name, state));
    else slot.log.replace(state as readonly unknown[]);
  }

  /**
   * Runs the reducers of an evaluation's framework event, or of an application's event that a tool call dispatched, which
   * is undone with the call that it is `by`. Returns the errors of the reducers that threw.
   */
  reduce(event: AnyEvent, by: Origin = event): readonly unknown[] {
    // An application's event is frozen as the caller made it, or is a copy without secrets.
    if (by !== event) frozenEvent(event);
    const errors = this.#reduce(event);
    if (by.evaluationId !== undefined && this.isReduced(event.type, by.evaluationId)) {
      this.#concurrent.record({ event, by });
    }
    return errors;
  }

  hasReducers(): boolean {
    return this.#steps !== undefined;
  }

  /** Whether a reducer receives an event of this type and evaluation, now or after a rollback to a mark of another one. */
  isReduced(type: string, evaluationId: string | undefined): boolean {
    return this.#steps?.has(type) === true || this.#concurrent.isMarkedByOthers(evaluationId);
  }

  /** Whether a log slice receives an event of this type: it keeps what is undone. */
  isLogged(event: AnyEvent): boolean {
    return this.#steps?.has(event.type) === true && this.#stepsFor(event).some(({ slot }) => slot.slice.kind === "log");
  }

  /** Reduces an event that log slices have already, after its effect on state slices was rolled back. */
  reduceAgain(event: AnyEvent): void {
    this.#assertIdle();
    this.#run(
      this.#stepsFor(event).filter(({ slot }) => slot.slice.kind === "state"),
      event,
    );
    this.#concurrent.record({ event, by: event });
  }

  /** Reduces an application's event that is part of no call: it stays when a call is undone. */
  reduceConcurrent(event: AnyEvent): readonly unknown[] {
    const errors = this.#reduce(event);
    this.#concurrent.record({ event, by: undefined });
    return errors;
  }

  /** Takes the states of all state slices by reference; "all": how long the logs are, too. */
  mark(which?: "all"): SessionMark {
    this.#isShared = true;
    const logs = which === "all" ? this.#logMarks() : undefined;
    return {
      session: this,
      order: ++this.#concurrent.last,
      slices: this.#slices,
      states: this.#states,
      logs,
    };
  }

  /**
   * Opens a mark that was just taken: until `close`, a rollback to it keeps what others do: `reduceConcurrent`,
   * framework events of evaluations other than `owner` and those inside it, and restored snapshots. Marks may be open
   * inside each other.
   */
  open(mark: SessionMark, owner?: string, parent?: Origin["parent"]): void {
    this.#concurrent.open(mark, owner, parent);
  }

  close(mark: SessionMark): void {
    this.#concurrent.close(mark);
  }

  /**
   * Puts back exactly what was marked, and clears state slices that came later. What others did since an open mark is
   * then done again, and the errors of reducers that throw now are returned. `calls`: only what these calls of the
   * mark's owner did is undone.
   */
  rollback(mark: SessionMark, calls?: ReadonlySet<string>): readonly unknown[] {
    const { from, events, logged } = this.#concurrent.undo(mark, calls);
    this.#putBack(from, mark.logs);
    const again = (which: readonly AnyEvent[], isUndone: (step: Step) => boolean): readonly unknown[] =>
      which.flatMap((event) => this.#run(this.#stepsFor(event).filter(isUndone), event));
    const errors = again(events, ({ slot }) => slot.slice.kind === "state");
    // Logs that were not cut have their entries.
    if (mark.logs === undefined) return errors;
    return [...errors, ...again(logged, ({ slot }) => slot.log !== undefined)];
  }

  /** Puts back what was marked, where no mark is open: a change like any other, made by the one that it is `by`. */
  restore(mark: SessionMark, by?: Origin): void {
    this.#putBack(mark, mark.logs);
    this.#concurrent.record({ restored: mark, by });
  }

  #reduce(event: AnyEvent): readonly unknown[] {
    this.#assertIdle();
    const steps = this.#stepsFor(event);
    return steps.length === 0 ? noErrors : this.#run(steps, event);
  }

  #putBack({ slices, states }: SessionMark, logs: LogMarks | undefined): void {
    this.#assertIdle();
    this.#restoreStates(slices, states);
    for (const [log, mark] of logs ?? noErrors) log.cut(mark);
  }

  /** @throws {DefinitionError} inside a reducer. */
  #assertIdle(): void {
    if (this.#isReducing)
      throw new DefinitionError("A reducer only makes the next state: it can neither dispatch nor restore.");
  }

  /** Runs reducers, each isolated from the errors of the others, and returns the errors of those that threw. */
  #run(steps: readonly Step[], event: AnyEvent): readonly unknown[] {
    this.#isReducing = true;
    let errors: unknown[] | undefined;
    for (const step of steps) {
      try {
        this.#runStep(step, event);
      } catch (error) {
        (errors ??= []).push(error);
      }
    }
    this.#isReducing = false;
    return errors ?? noErrors;
  }

  #runStep({ slot, reduce }: Step, event: AnyEvent): void {
    const { index, log, slice } = slot;
    if (log === undefined) this.#set(slot, reduced(slice.name, this.#states[index], reduce, event));
    else log.reduce((draft) => reduce(draft as never, event as never));
  }

  /** Replaces the state of a slot without a log; the state is frozen. */
  #set({ index }: SliceSlot, state: unknown): void {
    if (index < this.#states.length && this.#states[index] === state) return;
    if (this.#isShared) this.#states = [...this.#states];
    this.#isShared = false;
    this.#states[index] = state;
  }

  /** Puts back the shared states of `slices`. Other state slices are cleared, logs are kept. */
  #restoreStates(marked: readonly Slice[], markedStates: readonly unknown[]): void {
    const isSame = marked === this.#slices && this.#logsInStates === 0;
    const states = isSame ? markedStates : arranged(this.#slices, marked, markedStates, this.#states);
    this.#states = states as unknown[];
    this.#isShared = true;
  }

  #logMarks(): LogMarks {
    return this.#logs.length === 0 ? noMarks : this.#logs.map((log) => [log, log.mark()] as const);
  }

  /** The reducers that an event runs: by slot, and in a slot in the order of registration. */
  #stepsFor(event: { readonly type: string }): readonly Step[] {
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
    throw new DefinitionError(`The session "${this.id}" has another slice named "${slice.name}".`);
  }

  #add(slice: Slice): void {
    const { name, initial, kind } = slice;
    const log = kind === "log" && Array.isArray(initial) ? createLog(name, initial as readonly unknown[]) : undefined;
    if (log !== undefined) this.#logs.push(log);
    else if (kind === "log") this.#logsInStates += 1;
    const slot: SliceSlot = { slice, index: this.#slices.length, log };
    this.#slots.set(name, slot);
    this.#slices = [...this.#slices, slice];
    this.#set(slot, initial);
    if (slice.registered.length === 0) return;
    const steps = (this.#steps ??= new Map<string, readonly Step[]>());
    for (const [order, { key, reduce }] of slice.registered.entries()) {
      steps.set(key, [...(steps.get(key) ?? []), { slot, order, reduce }]);
      // Whether a type is reduced is asked before there is an event.
      const type = typeOfKey(key);
      if (!steps.has(type)) steps.set(type, []);
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
