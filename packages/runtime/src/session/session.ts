// 1. All state changes go through `reduce`; a state is replaced, never changed in place.
// 2. A reducer that throws leaves its slice as it was; the other slices are reduced all the same.
// 3. `seq` grows by one with each framework event and is never reused.
// 4. A poisoned session refuses everything and says why.
import {
  DefinitionError,
  eventKeys,
  isFrameworkEventType,
  NotSupportedError,
  type AppEvent,
  type DispatchResult,
  type FrameworkEvent,
  type Session,
  type SessionSnapshot,
  type Slice,
} from "@proviso/core";
import { systemId } from "../environment.ts";
import { createDispatcher } from "./dispatcher.ts";
import { reduceSlice } from "./reducers.ts";

/** A framework event before the session has numbered it. */
export type UnnumberedEvent = FrameworkEvent extends infer E
  ? E extends FrameworkEvent
    ? Omit<E, "sessionId" | "seq">
    : never
  : never;

/** The session as the runtime sees it: what the public one hides. */
export interface SessionCore {
  readonly session: Session;
  /** @throws {DefinitionError} when another slice has the name of one of these. */
  join(slices: readonly Slice[]): void;
  /** Reduces without telling the listeners. */
  reduce(event: AppEvent | FrameworkEvent): readonly unknown[];
  /** Tells the listeners; never throws. */
  notify(event: AppEvent | FrameworkEvent): readonly unknown[];
  number(event: UnnumberedEvent): FrameworkEvent;
  /** The states of all state slices, by reference; "all": of the log slices too. */
  mark(which?: "all"): SessionMark;
  /** Puts back exactly what was marked; clears state slices that came later. */
  rollback(mark: SessionMark): void;
  poison(reason: Error): void;
}

export type SessionMark = ReadonlyMap<string, unknown>;

const cores = new WeakMap<Session, SessionCore>();
const marks = new WeakMap<SessionSnapshot, SessionMark>();

/** @throws {DefinitionError} for a session that `createSession` did not make. */
export function coreOf(session: Session): SessionCore {
  const core = cores.get(session);
  if (core === undefined) throw new DefinitionError("This session was not made by createSession.");
  return core;
}

/** A session: typed state that only events change. `slices` join at once; a prompt's join when its evaluation begins. */
export function createSession(
  options: { readonly slices?: readonly Slice[] | undefined; readonly id?: string | undefined } = {},
): Session {
  const core = createCore(options.id ?? systemId());
  core.join(options.slices ?? []);
  return core.session;
}

function createCore(id: string): SessionCore {
  const slices = new Map<string, Slice>();
  const reducing = new Map<string, Slice[]>();
  const states = new Map<string, unknown>();
  const dispatcher = createDispatcher();
  let seq = 0;
  let poisonedBy: Error | undefined;

  const assertUsable = (): void => {
    if (poisonedBy === undefined) return;
    throw new DefinitionError(`The session "${id}" cannot be used any more: ${poisonedBy.message}`, { cause: poisonedBy });
  };
  const assertSame = (slice: Slice): void => {
    const known = slices.get(slice.name);
    if (known !== undefined && known !== slice) {
      throw new DefinitionError(`The session "${id}" has another slice named "${slice.name}".`);
    }
  };

  const core: SessionCore = {
    session: Object.freeze({
      id,
      dispatch(event: AppEvent): DispatchResult {
        assertUsable();
        checkAppEvent(event);
        const errors = [...core.reduce(event), ...core.notify(event)];
        return { ok: errors.length === 0, errors };
      },
      get<State>(slice: Slice<State>): State {
        assertUsable();
        assertSame(slice);
        return (states.has(slice.name) ? states.get(slice.name) : slice.initial) as State;
      },
      on: dispatcher.on,
      snapshot(): SessionSnapshot {
        assertUsable();
        const snapshot = Object.freeze({ sessionId: id });
        marks.set(snapshot, core.mark());
        return snapshot;
      },
      restore(snapshot: SessionSnapshot): void {
        assertUsable();
        const mark = marks.get(snapshot);
        if (mark === undefined) throw new DefinitionError("This is not a snapshot that a session made.");
        const missing = [...mark.keys()].filter((name) => !slices.has(name));
        if (missing.length > 0) {
          throw new DefinitionError(`The session "${id}" lacks slices of the snapshot: ${missing.join(", ")}.`);
        }
        core.rollback(mark);
      },
      fork({ id: forkId = systemId() }: { id?: string } = {}): Session {
        assertUsable();
        const fork = createCore(forkId);
        fork.join([...slices.values()]);
        fork.rollback(states);
        return fork.session;
      },
      toJSON(): unknown {
        throw new NotSupportedError("A session's JSON");
      },
    }),
    join(joining) {
      assertUsable();
      joining.forEach(assertSame);
      for (const slice of joining) {
        if (slices.has(slice.name)) continue;
        slices.set(slice.name, slice);
        states.set(slice.name, slice.initial);
        for (const key of slice.reducers.keys()) reducing.set(key, [...(reducing.get(key) ?? []), slice]);
      }
    },
    reduce(event) {
      assertUsable();
      const errors: unknown[] = [];
      for (const key of eventKeys(event)) {
        for (const slice of reducing.get(key) ?? []) {
          try {
            states.set(slice.name, reduceSlice(slice, states.get(slice.name), key, event));
          } catch (error) {
            errors.push(error);
          }
        }
      }
      return errors;
    },
    notify: dispatcher.notify,
    number: (event) => Object.freeze({ ...event, sessionId: id, seq: seq++ }) as FrameworkEvent,
    mark(which) {
      return new Map([...states].filter(([name]) => which === "all" || slices.get(name)?.kind === "state"));
    },
    rollback(mark) {
      for (const [name, slice] of slices) {
        if (mark.has(name)) states.set(name, mark.get(name));
        else if (slice.kind === "state") states.set(name, slice.initial);
      }
    },
    poison(reason) {
      poisonedBy ??= reason;
    },
  };
  cores.set(core.session, core);
  return core;
}

/** @throws {DefinitionError} for what is no application event. */
export function checkAppEvent(event: AppEvent): void {
  const type: unknown = (event as AppEvent | undefined)?.type;
  if (typeof type !== "string" || type === "") throw new DefinitionError("An event needs a type.");
  if (isFrameworkEventType(type)) throw new DefinitionError(`"${type}" events are the framework's own to dispatch.`);
}
