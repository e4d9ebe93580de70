// 1. All state changes go through `reduce`; a state is replaced, never changed in place.
// 2. A reducer that throws leaves its slice as it was; all others run all the same, also those of the same slice.
// 3. A mark is a reference: it costs the same for any number of slices and items.
// 4. A reducer dispatches and restores nothing.
import { DefinitionError, type Slice } from "@proviso/core";
import { ConcurrentChanges, type AnyEvent, type Origin, type SessionMark } from "./concurrent-changes.ts";
import { reduced } from "./reducers.ts";
import { SliceStore, type LogMarks, type Step } from "./slice-store.ts";

const noErrors: readonly never[] = Object.freeze([]);

/** The state behind a session: its slices, marks and rollbacks. */
export class SessionState {
  readonly #store: SliceStore;
  readonly #concurrent = new ConcurrentChanges();
  #isReducing = false;

  constructor(sessionId: string) {
    this.#store = new SliceStore(sessionId);
  }

  /** Adds the slices that are new. @throws {DefinitionError} for a second slice of a name; none joins then. */
  join(slices: readonly Slice[]): void {
    this.#store.join(slices);
  }

  slices(): readonly Slice[] {
    return this.#store.slices();
  }

  /** The initial state of a slice that has not joined. */
  get(slice: Slice): unknown {
    return this.#store.get(slice);
  }

  /** Replaces the state. @throws {DefinitionError} for a state that is not plain data, and for a slice that has not joined. */
  put(slice: Slice, state: unknown): void {
    this.#store.put(slice, state);
  }

  /**
   * Runs the reducers of an evaluation's framework event, or of an application's event that a tool call dispatched, which
   * is undone with the call that it is `by`. Returns the errors of the reducers that threw.
   */
  reduce(event: AnyEvent, by: Origin = event): readonly unknown[] {
    const errors = this.#reduce(event);
    if (by.evaluationId !== undefined) this.#concurrent.record({ event, by });
    return errors;
  }

  /** Whether a reducer receives an event of this type, now or after a rollback to an open mark. */
  isReduced(type: string): boolean {
    return this.#concurrent.isOpen() || this.#store.hasSteps(type);
  }

  /** Whether a log slice receives an event of this type: it keeps what is undone. */
  isLogged(event: AnyEvent): boolean {
    return this.#store.hasSteps(event.type) && this.#store.stepsFor(event).some(({ slot }) => slot.slice.kind === "log");
  }

  /** Reduces an event that log slices have already, after its effect on state slices was rolled back. */
  reduceAgain(event: AnyEvent): void {
    this.#assertIdle();
    this.#run(
      this.#store.stepsFor(event).filter(({ slot }) => slot.slice.kind === "state"),
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
    const store = this.#store;
    const logs = which === "all" ? store.logMarks() : undefined;
    return { session: store, order: this.#concurrent.next(), slices: store.slices(), states: store.share(), logs };
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
      which.flatMap((event) => this.#run(this.#store.stepsFor(event).filter(isUndone), event));
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
    const steps = this.#store.stepsFor(event);
    return steps.length === 0 ? noErrors : this.#run(steps, event);
  }

  #putBack({ slices, states }: SessionMark, logs: LogMarks | undefined): void {
    this.#assertIdle();
    this.#store.restore(slices, states);
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
    if (log === undefined) this.#store.set(slot, reduced(slice.name, this.#store.states()[index], reduce, event));
    else log.reduce((draft) => reduce(draft as never, event as never));
  }
}
