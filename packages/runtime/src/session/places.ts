// A slice has one place for good: the order of joining is the order of the places.
import { DefinitionError, type Slice } from "@proviso/core";
import { frozenState } from "@proviso/core/internal";
import { createLog, type Log, type LogMark } from "./log.ts";
import { stateTable } from "./state-table.ts";

/** Where a slice's state is kept. */
export interface Place {
  readonly slice: Slice;
  readonly at: number;
  /** Of a log slice with a list; the table keeps the states of all others. */
  readonly log: Log | undefined;
}
/** How far each log is. */
export type LogMarks = readonly (readonly [Log, LogMark])[];

const noMarks: LogMarks = Object.freeze([]);

/** The slices of a session, in the order in which they joined, and their states. */
export interface Places {
  /** The places of those that are new. @throws {DefinitionError} for a second slice of a name; none joins then. */
  join(slices: readonly Slice[]): readonly Place[];
  joined(): readonly Slice[];
  /** The initial state of a slice that has not joined. */
  get(slice: Slice): unknown;
  states(): readonly unknown[];
  /** A frozen state, of a place that has no log. */
  set(place: Place, state: unknown): void;
  /** Any state. @throws {DefinitionError} for one that is no plain data. */
  put(place: Place, state: unknown): void;
  /** @throws {DefinitionError} for a slice that has not joined. */
  of(slice: Slice): Place;
  /** The states by place; what is shared does not change from here on. */
  share(): readonly unknown[];
  /** The states of `slices`, which were shared. State slices that are not among them are cleared, logs are kept. */
  restore(slices: readonly Slice[], states: readonly unknown[]): void;
  logMarks(): LogMarks;
}

export function createPlaces(sessionId: string): Places {
  const byName = new Map<string, Place>();
  const table = stateTable();
  let joined: readonly Slice[] = [];
  const logs: Log[] = [];
  /** Logs that are no lists: the table has them, and a restore passes them over. */
  let looseLogs = 0;

  const find = (slice: Slice): Place | undefined => {
    const place = byName.get(slice.name);
    if (place === undefined || place.slice === slice) return place;
    throw new DefinitionError(`The session "${sessionId}" has another slice named "${slice.name}".`);
  };
  const add = (slice: Slice): Place => {
    const { name, initial, kind } = slice;
    const log = kind === "log" && Array.isArray(initial) ? createLog(name, initial as readonly unknown[]) : undefined;
    if (log !== undefined) logs.push(log);
    else if (kind === "log") looseLogs += 1;
    const place: Place = { slice, at: joined.length, log };
    byName.set(name, place);
    joined = [...joined, slice];
    table.put(place.at, initial);
    return place;
  };
  return {
    join(slices) {
      for (const [index, slice] of slices.entries()) {
        find(slice);
        const twin = slices.find((other, at) => at < index && other.name === slice.name);
        if (twin !== undefined && twin !== slice)
          throw new DefinitionError(`The session "${sessionId}" cannot have two slices named "${slice.name}".`);
      }
      return slices.flatMap((slice) => (byName.has(slice.name) ? [] : [add(slice)]));
    },
    joined: () => joined,
    get(slice) {
      const place = find(slice);
      if (place === undefined) return slice.initial;
      return place.log === undefined ? table.states()[place.at] : place.log.get();
    },
    states: table.states,
    set: ({ at }, state) => table.put(at, state),
    put({ slice, at, log }, state) {
      if (log === undefined) table.put(at, frozenState(slice.name, state));
      else log.replace(state as readonly unknown[]);
    },
    of(slice) {
      const place = find(slice);
      if (place !== undefined) return place;
      throw new DefinitionError(`The session "${sessionId}" lacks the slice "${slice.name}".`);
    },
    share: table.share,
    restore(slices, states) {
      const same = slices === joined && looseLogs === 0;
      table.replace(same ? states : arranged(joined, slices, states, table.states()));
    },
    logMarks: () => (logs.length === 0 ? noMarks : logs.map((log) => [log, log.mark()] as const)),
  };
}

/** The marked states where each slice has its place now: another session may have another order. */
function arranged(
  joined: readonly Slice[],
  marked: readonly Slice[],
  states: readonly unknown[],
  now: readonly unknown[],
): readonly unknown[] {
  return joined.map((slice, at) => {
    if (slice.kind === "log") return now[at];
    const from = marked[at] === slice ? at : marked.indexOf(slice);
    return from === -1 ? slice.initial : states[from];
  });
}
