// 1. All state changes go through `reduce`; a state is replaced, never changed in place.
// 2. A reducer that throws leaves its slice as it was; all others, of its slice too, run all the same.
// 3. A mark is a reference: it costs the same for any number of slices and items.
// 4. A reducer dispatches and restores nothing.
import { DefinitionError, type Slice } from "@proviso/core";
import { createBeside, type AnyEvent, type Origin } from "./beside.ts";
import { createPlaces, type LogMarks, type Places } from "./places.ts";
import { reducerPlan, type Step } from "./reducer-plan.ts";
import { reduced } from "./reducers.ts";

/** The states of the state slices, by the order in which they joined; with "all" how far the logs are, too. */
export interface SessionMark {
  /** What it is a mark of. */
  readonly session: object;
  /** Grows with each mark, and with what others do while one is open. */
  readonly order: number;
  readonly slices: readonly Slice[];
  readonly states: readonly unknown[];
  readonly logs: LogMarks | undefined;
}

/** The state behind a session: slices, in the order in which they joined. */
export interface SliceStates {
  /** @throws {DefinitionError} when another slice has the name of one of these; none joins then. */
  join(slices: readonly Slice[]): void;
  joined(): readonly Slice[];
  /** The initial state of a slice that has not joined. */
  get(slice: Slice): unknown;
  /** Puts a state in the place of a slice that has joined. */
  set(slice: Slice, state: unknown): void;
  /**
   * The runtime's own: an evaluation's framework event, or an application's that a tool call dispatched, which is undone
   * with the call that it is `by`. Returns the errors of the reducers that threw.
   */
  reduce(event: AnyEvent, by?: Origin): readonly unknown[];
  /** Whether a reducer receives an event of this type, now or after a rollback to an open mark. */
  isReduced(type: string): boolean;
  /** As `reduce`, for an event that log slices have already: its effect on state slices was rolled back. */
  reduceAgain(event: AnyEvent): void;
  /** An application's event that is part of no call: it stands when one is undone. */
  reduceBeside(event: AnyEvent): readonly unknown[];
  /** The states of all state slices, by reference; "all": how far the logs are, too. */
  mark(which?: "all"): SessionMark;
  /**
   * From here to `close`, a rollback to this mark, which was just taken, keeps what others do: `reduceBeside`, framework
   * events of evaluations other than `owner` and those inside it, and restored snapshots. Marks may be open inside each
   * other.
   */
  open(mark: SessionMark, owner?: string, parent?: Origin["parent"]): void;
  close(mark: SessionMark): void;
  /**
   * Puts back exactly what was marked, and clears state slices that came later. What others did since an open mark is
   * then done again, and the errors of reducers that throw now are returned. `calls`: only what these calls of the
   * mark's owner did is undone.
   */
  rollback(mark: SessionMark, calls?: ReadonlySet<string>): readonly unknown[];
  /** Puts back what was marked, of which nothing is open: a change like any other, of the one that it is `by`. */
  restore(mark: SessionMark, by?: Origin): void;
}

const none: readonly never[] = Object.freeze([]);

export function sliceStates(sessionId: string): SliceStates {
  const places = createPlaces(sessionId);
  const plan = reducerPlan();
  const beside = createBeside();
  const { run, assertIdle } = reducing(places);

  const reduce = (event: AnyEvent): readonly unknown[] => {
    assertIdle();
    const steps = plan.of(event);
    return steps.length === 0 ? none : run(steps, event);
  };
  const putBack = ({ slices, states }: SessionMark, logs: LogMarks | undefined): void => {
    assertIdle();
    places.restore(slices, states);
    for (const [log, mark] of logs ?? none) log.cut(mark);
  };
  return {
    join: (slices) => places.join(slices).forEach(plan.add),
    joined: places.joined,
    get: places.get,
    set: (slice, state) => places.put(places.of(slice), state),
    reduce(event, by = event) {
      const errors = reduce(event);
      if (by.evaluationId !== undefined) beside.remember({ event, by });
      return errors;
    },
    isReduced: (type) => beside.isOpen() || plan.has(type),
    reduceAgain(event) {
      assertIdle();
      run(
        plan.of(event).filter(({ place }) => place.slice.kind === "state"),
        event,
      );
      beside.remember({ event, by: event });
    },
    reduceBeside(event) {
      const errors = reduce(event);
      beside.remember({ event, by: undefined });
      return errors;
    },
    mark(which) {
      const logs = which === "all" ? places.logMarks() : undefined;
      return { session: places, order: beside.next(), slices: places.joined(), states: places.share(), logs };
    },
    open: beside.open,
    close: beside.close,
    rollback(mark, calls) {
      const { from, events } = beside.undo(mark, calls);
      putBack(from, mark.logs);
      // Logs that were not cut have these entries.
      const undone = (step: Step): boolean => mark.logs !== undefined || step.place.slice.kind === "state";
      return events.flatMap((event) => run(plan.of(event).filter(undone), event));
    },
    restore(mark, by) {
      putBack(mark, mark.logs);
      beside.remember({ restored: mark, by });
    },
  };
}

/** Runs reducers, each for itself; returns the errors of those that threw. */
function reducing(places: Places): {
  run(steps: readonly Step[], event: AnyEvent): readonly unknown[];
  /** @throws {DefinitionError} inside a reducer. */
  assertIdle(): void;
} {
  let running = false;
  const assertIdle = (): void => {
    if (running) throw new DefinitionError("A reducer only makes the next state: it can neither dispatch nor restore.");
  };
  const step = ({ place, reduce }: Step, event: AnyEvent): void => {
    const { at, log, slice } = place;
    if (log === undefined) places.set(place, reduced(slice.name, places.states()[at], reduce, event));
    else log.reduce((draft) => reduce(draft as never, event as never));
  };
  return {
    assertIdle,
    run(steps, event) {
      running = true;
      let errors: unknown[] | undefined;
      for (const each of steps) {
        try {
          step(each, event);
        } catch (error) {
          (errors ??= []).push(error);
        }
      }
      running = false;
      return errors ?? none;
    },
  };
}
