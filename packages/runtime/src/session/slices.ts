// 1. All state changes go through `reduce`; a state is replaced, never changed in place.
// 2. A reducer that throws leaves its slice as it was; all others, of its slice too, run all the same.
// 3. A mark is a reference: it costs the same for any number of slices and items.
// 4. A reducer dispatches and restores nothing.
import { DefinitionError, type Slice } from "@proviso/core";
import { createBeside } from "./beside.ts";
import { createPlaces, type LogMarks } from "./places.ts";
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
interface AnyEvent {
  readonly type: string;
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
   * An event of the transaction whose mark is open, undone with it; of nobody's when none is. Returns the errors of the
   * reducers that threw.
   */
  reduce(event: AnyEvent): readonly unknown[];
  /** An event that is no part of an open transaction: it stands when that is undone. */
  reduceBeside(event: AnyEvent): readonly unknown[];
  /** The states of all state slices, by reference; "all": how far the logs are, too. */
  mark(which?: "all"): SessionMark;
  /** Until `close`, a rollback to this mark keeps what others do. Marks may be open inside each other. */
  open(mark: SessionMark): void;
  close(mark: SessionMark): void;
  /**
   * Puts back exactly what was marked, and clears state slices that came later. Then the events that others dispatched
   * since an open mark are reduced again, and the errors of reducers that throw now are returned.
   */
  rollback(mark: SessionMark): readonly unknown[];
}

const none: readonly never[] = Object.freeze([]);

export function sliceStates(sessionId: string): SliceStates {
  const places = createPlaces(sessionId);
  const plan = reducerPlan();
  const beside = createBeside();
  let reducing = false;

  const assertNotReducing = (): void => {
    if (reducing)
      throw new DefinitionError("A reducer only makes the next state: it can neither dispatch nor restore.");
  };
  const step = ({ place, reduce }: Step, event: AnyEvent): void => {
    if (place.log === undefined) places.set(place, reduced(places.states()[place.at], reduce, event));
    else place.log.reduce((draft) => reduce(draft as never, event as never));
  };
  const run = (steps: readonly Step[], event: AnyEvent): readonly unknown[] => {
    assertNotReducing();
    reducing = true;
    const errors = runAll(steps, (each) => step(each, event));
    reducing = false;
    return errors;
  };
  const reduce = (event: AnyEvent): readonly unknown[] => {
    const steps = plan.of(event);
    return steps.length === 0 ? none : run(steps, event);
  };
  const putBack = ({ slices, states }: SessionMark, logs: LogMarks | undefined): void => {
    assertNotReducing();
    places.restore(slices, states);
    for (const [log, mark] of logs ?? none) log.cut(mark);
  };
  return {
    join: (slices) => places.join(slices).forEach(plan.add),
    joined: places.joined,
    get: places.get,
    set: (slice, state) => places.put(places.of(slice), state),
    reduce,
    reduceBeside(event) {
      const errors = reduce(event);
      beside.remember({ event });
      return errors;
    },
    mark(which) {
      const logs = which === "all" ? places.logMarks() : undefined;
      return { session: places, order: beside.next(), slices: places.joined(), states: places.share(), logs };
    },
    open: beside.open,
    close: beside.close,
    rollback(mark) {
      if (!beside.isOpen(mark)) {
        putBack(mark, mark.logs);
        beside.remember({ restored: mark });
        return none;
      }
      const { from, events } = beside.since(mark);
      putBack(from, mark.logs);
      // Logs that were not cut have these entries.
      const undone = (step: Step): boolean => mark.logs !== undefined || step.place.slice.kind === "state";
      return events.flatMap((event) => run(plan.of(event).filter(undone), event));
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
