import { DefinitionError } from "../errors.ts";
import { describeValue } from "../values.ts";
import { describeIssues } from "../schema-issues.ts";
import { parseWithSchemaSync, type Schema } from "../schema.ts";
import { filterKey, type EventFilter, type EventOf } from "./event.ts";
import { checkOptionNames } from "../option-names.ts";
import { frozenState } from "./frozen.ts";

/** A named part of a session's state; made by `defineSlice`. */
export interface Slice<out State = unknown> {
  /** The name that the state is saved under. */
  readonly name: string;
  /** Frozen at every depth. */
  readonly initial: State;
  /** "log" slices keep their entries when a transaction is rolled back. */
  readonly kind: "state" | "log";
  /** The schema of the state; a saved state is checked with it when it is restored. */
  readonly schema?: Schema<unknown, State>;
  /** The reducers in the order in which they were registered, each with its event type or "tool:<name>". */
  readonly registered: readonly { readonly key: string; readonly reduce: (state: never, event: never) => unknown }[];
}

/** State as a reducer may change it. No state holds a Date: it could be changed in place. */
export type Draft<T> = T extends
  | string
  | number
  | boolean
  | bigint
  | symbol
  | null
  | undefined
  | ((...args: never[]) => unknown)
  ? T
  : T extends Date
    ? never
    : T extends ReadonlyMap<infer K, infer V>
      ? Map<K, Draft<V>>
      : T extends ReadonlySet<infer V>
        ? Set<Draft<V>>
        : { -readonly [K in keyof T]: Draft<T[K]> };

/**
 * What a reducer of a log slice receives where the state is a list. It has nothing else of a list: a reducer that changes
 * entries, or removes some, returns the new list. A draft cannot be used after its reducer has ended.
 */
export interface LogDraft<Item> {
  /**
   * The entries, with those that this reducer has pushed, as a frozen list. Reading it copies the list once after each
   * change; pushing does not.
   */
  readonly entries: readonly Item[];
  /** Records entries. It costs the same for any number of entries in the log. */
  push(...items: Item[]): void;
}

/** What a reducer receives to change: in a log slice whose state is a list a LogDraft, in all others the state's Draft. */
export type SliceDraft<State, Kind extends Slice["kind"] = "state"> = Kind extends "log"
  ? State extends readonly (infer Item)[]
    ? LogDraft<Item>
    : Draft<State>
  : Draft<State>;

/** Registers how events change a slice's state. */
export interface SliceReducers<State, Kind extends Slice["kind"] = "state"> {
  /** Several may answer one event: they run in the order in which they were registered. */
  on<F extends EventFilter>(
    event: F,
    reduce: (draft: SliceDraft<State, Kind>, event: EventOf<F>) => State | void,
  ): void;
}

/** `registered` is a slice's own: one may be made of another. */
const sliceNames = {
  registered: true,
  name: true,
  initial: true,
  kind: true,
  schema: true,
  reducers: true,
};

/**
 * A part of the session's state and how events change it. A reducer changes the draft, or returns the new state.
 * A state is plain data: what JSON has, and undefined, bigint, Map and Set. A reducer whose next state holds anything
 * else fails, and its slice stays as it was.
 * @example
 * ```ts
 * import { defineEvent, defineSlice } from "@proviso/core";
 * import { createSession } from "@proviso/runtime";
 * import { z } from "zod";
 *
 * const noted = defineEvent("noted", z.object({ text: z.string() }));
 * const notes = defineSlice({
 *   name: "notes",
 *   initial: [] as readonly string[],
 *   reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
 * });
 * const session = createSession({ slices: [notes] });
 * session.dispatch(noted({ text: "Buy milk." }));
 * console.log(session.get(notes)); // [ 'Buy milk.' ]
 * ```
 * @throws {DefinitionError} without a name, without an initial state, when that does not fit the schema, or when it
 * holds what could be changed in place: a Date, a typed array, an instance of a class, a function.
 */
export function defineSlice<State, Kind extends Slice["kind"] = "state">(slice: {
  /** Unique in a session. */
  readonly name: string;
  /**
   * The state's type comes from it: an empty list wants its own, `[] as readonly Task[]`. It is frozen at every depth.
   */
  readonly initial: State;
  /**
   * How the state is kept: a "log" keeps its entries at a rollback. Default "state". A reducer of a "log" whose state is a list
   * receives a LogDraft.
   */
  readonly kind?: Kind | undefined;
  readonly schema?: Schema<unknown, State> | undefined;
  /** `({ on }) => on(added, (draft, { task }) => void draft.push(task))` */
  readonly reducers?: ((reducers: SliceReducers<State, Kind>) => void) | undefined;
}): Slice<State> {
  if (typeof slice.name !== "string" || slice.name === "") throw new DefinitionError("A slice needs a name.");
  checkOptionNames(`The slice "${slice.name}"`, slice, sliceNames);
  if (!Object.hasOwn(slice, "initial")) throw new DefinitionError(`The slice "${slice.name}" needs an initial state.`);
  if (slice.schema !== undefined) {
    const what = `The initial state of slice "${slice.name}"`;
    const fits = parseWithSchemaSync(slice.schema, slice.initial, what);
    if (!fits.ok) {
      throw new DefinitionError(`${what} does not fit: ${describeIssues(fits.issues, fits.unlisted)}.`, {
        issues: fits.issues,
      });
    }
  }
  if (slice.reducers !== undefined && typeof slice.reducers !== "function") {
    throw new DefinitionError(
      `The reducers of slice "${slice.name}" must be a function, ({ on }) => on(added, (draft, event) => …), not ${describeValue(slice.reducers)}.`,
    );
  }
  const initial = frozenState(slice.name, slice.initial);
  const registered: Slice["registered"][number][] = [];
  slice.reducers?.({
    on(event, reduce) {
      if (typeof reduce !== "function") {
        throw new DefinitionError(
          `A reducer of slice "${slice.name}" must be a function, not ${describeValue(reduce)}.`,
        );
      }
      registered.push(Object.freeze({ key: filterKey(event), reduce }));
    },
  });
  return Object.freeze({
    name: slice.name,
    initial,
    kind: slice.kind ?? "state",
    ...(slice.schema === undefined ? {} : { schema: slice.schema }),
    registered: Object.freeze(registered),
  });
}
