// 1. All state changes go through `reduce`; a state is replaced, never changed in place.
// 2. A reducer that throws leaves its slice as it was; all others run all the same, also those of the same slice.
// 3. A mark is a reference: it costs the same for any number of slices and items.
// 4. A reducer dispatches and restores nothing.
import { DefinitionError } from "@proviso/core";
import { createConcurrentChanges, type AnyEvent, type Origin, type SessionMark } from "./concurrent-changes.ts";
import { reduced } from "./reducers.ts";
import { createSliceStore, type LogMarks, type SliceStore, type Step } from "./slice-store.ts";

/** The state behind a session: its slices, marks and rollbacks. */
export interface SessionState extends Pick<SliceStore, "join" | "slices" | "get" | "put"> {
  /**
   * Runs the reducers of an evaluation's framework event, or of an application's event that a tool call dispatched, which
   * is undone with the call that it is `by`. Returns the errors of the reducers that threw.
   */
  reduce(event: AnyEvent, by?: Origin): readonly unknown[];
  /** Whether a reducer receives an event of this type, now or after a rollback to an open mark. */
  isReduced(type: string): boolean;
  /** Reduces an event that log slices have already, after its effect on state slices was rolled back. */
  reduceAgain(event: AnyEvent): void;
  /** Reduces an application's event that is part of no call: it stays when a call is undone. */
  reduceConcurrent(event: AnyEvent): readonly unknown[];
  /** Takes the states of all state slices by reference; "all": how long the logs are, too. */
  mark(which?: "all"): SessionMark;
  /**
   * Opens a mark that was just taken: until `close`, a rollback to it keeps what others do: `reduceConcurrent`,
   * framework events of evaluations other than `owner` and those inside it, and restored snapshots. Marks may be open
   * inside each other.
   */
  open(mark: SessionMark, owner?: string, parent?: Origin["parent"]): void;
  close(mark: SessionMark): void;
  /**
   * Puts back exactly what was marked, and clears state slices that came later. What others did since an open mark is
   * then done again, and the errors of reducers that throw now are returned. `calls`: only what these calls of the
   * mark's owner did is undone.
   */
  rollback(mark: SessionMark, calls?: ReadonlySet<string>): readonly unknown[];
  /** Puts back what was marked, where no mark is open: a change like any other, made by the one that it is `by`. */
  restore(mark: SessionMark, by?: Origin): void;
}

const noErrors: readonly never[] = Object.freeze([]);

export function createSessionState(sessionId: string): SessionState {
  const store = createSliceStore(sessionId);
  const concurrent = createConcurrentChanges();
  const { run, assertIdle } = createReducerRunner(store);

  const reduce = (event: AnyEvent): readonly unknown[] => {
    assertIdle();
    const steps = store.stepsFor(event);
    return steps.length === 0 ? noErrors : run(steps, event);
  };
  const putBack = ({ slices, states }: SessionMark, logs: LogMarks | undefined): void => {
    assertIdle();
    store.restore(slices, states);
    for (const [log, mark] of logs ?? noErrors) log.cut(mark);
  };
  return {
    join: store.join,
    slices: store.slices,
    get: store.get,
    put: store.put,
    reduce(event, by = event) {
      const errors = reduce(event);
      if (by.evaluationId !== undefined) concurrent.record({ event, by });
      return errors;
    },
    isReduced: (type) => concurrent.isOpen() || store.hasSteps(type),
    reduceAgain(event) {
      assertIdle();
      run(
        store.stepsFor(event).filter(({ slot }) => slot.slice.kind === "state"),
        event,
      );
      concurrent.record({ event, by: event });
    },
    reduceConcurrent(event) {
      const errors = reduce(event);
      concurrent.record({ event, by: undefined });
      return errors;
    },
    mark(which) {
      const logs = which === "all" ? store.logMarks() : undefined;
      return { session: store, order: concurrent.next(), slices: store.slices(), states: store.share(), logs };
    },
    open: concurrent.open,
    close: concurrent.close,
    rollback(mark, calls) {
      const { from, events, logged } = concurrent.undo(mark, calls);
      putBack(from, mark.logs);
      const again = (which: readonly AnyEvent[], isUndone: (step: Step) => boolean): readonly unknown[] =>
        which.flatMap((event) => run(store.stepsFor(event).filter(isUndone), event));
      const errors = again(events, ({ slot }) => slot.slice.kind === "state");
      // Logs that were not cut have their entries.
      if (mark.logs === undefined) return errors;
      return [...errors, ...again(logged, ({ slot }) => slot.log !== undefined)];
    },
    restore(mark, by) {
      putBack(mark, mark.logs);
      concurrent.record({ restored: mark, by });
    },
  };
}

/** Runs reducers, each isolated from the errors of the others. */
function createReducerRunner(store: SliceStore): {
  /** Returns the errors of those that threw. */
  run(steps: readonly Step[], event: AnyEvent): readonly unknown[];
  /** @throws {DefinitionError} inside a reducer. */
  assertIdle(): void;
} {
  let isRunning = false;
  const assertIdle = (): void => {
    if (isRunning)
      throw new DefinitionError("A reducer only makes the next state: it can neither dispatch nor restore.");
  };
  const runStep = ({ slot, reduce }: Step, event: AnyEvent): void => {
    const { index, log, slice } = slot;
    if (log === undefined) store.set(slot, reduced(slice.name, store.states()[index], reduce, event));
    else log.reduce((draft) => reduce(draft as never, event as never));
  };
  return {
    assertIdle,
    run(steps, event) {
      isRunning = true;
      let errors: unknown[] | undefined;
      for (const step of steps) {
        try {
          runStep(step, event);
        } catch (error) {
          (errors ??= []).push(error);
        }
      }
      isRunning = false;
      return errors ?? noErrors;
    },
  };
}
