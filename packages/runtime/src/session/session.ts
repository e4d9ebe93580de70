// 1. `dispatch` is the only door for an application; the runtime's own goes through SessionCore.
// 2. `seq` grows by one with each framework event and is never reused.
// 3. A poisoned session refuses everything and says why.
import {
  DefinitionError,
  UnusableError,
  type AppEvent,
  type DispatchResult,
  type FrameworkEvent,
  type Session,
  type SessionSnapshot,
  type Slice,
} from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { describeValue, frozenInDepth, frozenJson, messageOf, openedSections } from "@proviso/core/internal";
import { systemId } from "../environment.ts";
import { createLock } from "../transactions/lock.ts";
import { originIn } from "../transactions/session-view.ts";
import type { Origin, SessionMark } from "./concurrent-changes.ts";
import { createDispatcher, type Dispatcher } from "./dispatcher.ts";
import { checkAppEvent, withCore, type SessionCore } from "./session-core.ts";
import { parseSession, sessionJson } from "./session-json.ts";
import { createSessionState, type SessionState } from "./state.ts";

const marks = new WeakMap<SessionSnapshot, SessionMark>();

/**
 * A session: typed state that only events change. `slices` join at once; a prompt's join when its evaluation begins.
 * @throws {DefinitionError} for an id that is no text or empty, and for two slices of one name.
 */
export function createSession(
  options: { readonly slices?: readonly Slice[] | undefined; readonly id?: string | undefined } = {},
): Session {
  checkOptionNames("createSession", options, { slices: true, id: true });
  const core = createCore(options.id ?? systemId());
  core.join(options.slices ?? []);
  return core.session;
}

/**
 * Brings a session's JSON back, with its id and its numbering; slices that it does not name begin anew.
 * @throws {DefinitionError} for JSON that is damaged, foreign or newer, and for slices that are not given or do not
 * fit, with the path of the fault; nothing exists then.
 */
export function restoreSession(json: unknown, options: { readonly slices: readonly Slice[] }): Session {
  const slices: unknown = options?.slices;
  if (!Array.isArray(slices)) throw new DefinitionError("restoreSession needs the slices: { slices: prompt.slices }.");
  checkOptionNames("restoreSession", options, { slices: true });
  // An override opens and closes sections of prompts that have no such slice of their own.
  const all = [...new Set([...options.slices, openedSections])];
  const saved = parseSession(json, all);
  const core = createCore(saved.id, saved.seq);
  core.join(options.slices);
  for (const { name, state } of saved.slices) {
    const slice = all.find((known) => known.name === name);
    if (slice === undefined) continue;
    core.join([slice]);
    core.put(slice, state);
  }
  return core.session;
}

function createCore(id: string, firstSeq = 0): SessionCore {
  const given: unknown = id;
  if (typeof given !== "string" || given === "")
    throw new DefinitionError(`A session's id must be a text, and not empty: not ${describeValue(given)}.`);
  const state = createSessionState(id);
  const dispatcher = createDispatcher();
  let seq = firstSeq;
  let poisoned: { readonly message: string; readonly details: UnusableDetails } | undefined;

  const assertUsable = (): void => {
    if (poisoned !== undefined) throw new UnusableError(poisoned.message, poisoned.details);
  };
  const dispatch = (event: AppEvent, by: Origin | undefined): DispatchResult => {
    assertUsable();
    checkAppEvent(event);
    frozenEvent(event);
    dispatcher.finish(event.type);
    const failed = by === undefined ? state.reduceConcurrent(event) : state.reduce(event, by);
    const thrown = dispatcher.notify(event);
    const errors = failed.length === 0 ? thrown : [...failed, ...thrown];
    return { ok: errors.length === 0, errors };
  };
  const current = (): Origin | undefined => originIn(core);
  const session = publicSession(id, state, dispatcher, { assertUsable, nextSeq: () => seq, dispatch, current });
  const core: SessionCore = {
    session,
    lock: createLock(),
    assertUsable,
    isUsable: () => poisoned === undefined,
    join(slices) {
      assertUsable();
      state.join(slices);
    },
    // An event with `by` is an application's: it is frozen as the caller made it, or is a copy without secrets.
    reduce: (event, by) => state.reduce(by === undefined ? event : frozenEvent(event), by),
    reduceAgain: state.reduceAgain,
    reduceConcurrent: state.reduceConcurrent,
    mark: state.mark,
    open: state.open,
    close: state.close,
    rollback: state.rollback,
    restore: state.restore,
    notify: dispatcher.notify,
    number(event) {
      const own: { type: string; sessionId?: string; seq?: number } = event;
      own.sessionId = id;
      own.seq = seq++;
      return frozenJson(own) as FrameworkEvent;
    },
    isReceived: (type) => dispatcher.hasListeners() || state.isReduced(type),
    passOver: () => void seq++,
    put: state.put,
    poison(operation, why, cause) {
      const message = `The session "${id}" cannot be used any more: ${why}`;
      poisoned ??= { message, details: { what: "session", id, operation, cause } };
    },
    dispatch,
  };
  withCore(session, core);
  return core;
}

type UnusableDetails = ConstructorParameters<typeof UnusableError>[1];

interface PublicParts {
  readonly assertUsable: () => void;
  readonly nextSeq: () => number;
  readonly dispatch: SessionCore["dispatch"];
  /** The transaction of this session whose body is running. */
  readonly current: () => Origin | undefined;
}

function publicSession(
  id: string,
  state: SessionState,
  dispatcher: Dispatcher,
  { assertUsable, nextSeq, dispatch, current }: PublicParts,
): Session {
  return {
    id,
    dispatch: (event) => dispatch(event, current()),
    get<State>(slice: Slice<State>): State {
      assertUsable();
      return state.get(slice) as State;
    },
    on(filter, listener) {
      assertUsable();
      return dispatcher.on(filter, listener);
    },
    snapshot() {
      assertUsable();
      const snapshot: SessionSnapshot = Object.freeze({ sessionId: id });
      marks.set(snapshot, state.mark());
      return snapshot;
    },
    restore(snapshot) {
      assertUsable();
      const mark = marks.get(snapshot);
      if (mark === undefined) throw new DefinitionError("This is not a snapshot that a session made.");
      const own = new Set(state.slices());
      const missing = mark.slices.filter((slice) => !own.has(slice)).map(({ name }) => name);
      if (missing.length > 0) {
        throw new DefinitionError(`The session "${id}" lacks slices of the snapshot: ${missing.join(", ")}.`);
      }
      state.restore(mark, current());
    },
    fork(options: { id?: string } = {}) {
      assertUsable();
      checkOptionNames("fork", options, { id: true });
      const { id: forkId = systemId() } = options;
      const fork = createCore(forkId);
      fork.join(state.slices());
      for (const slice of state.slices()) fork.put(slice, state.get(slice));
      return fork.session;
    },
    toJSON() {
      assertUsable();
      return sessionJson({ id, seq: nextSeq(), slices: state.slices(), get: state.get });
    },
  };
}

/**
 * Freezes an event in depth: reducers, listeners and a rollback that reduces it again get the same one.
 * @throws {DefinitionError} for one that cannot be frozen.
 */
function frozenEvent<E extends { readonly type: string }>(event: E): E {
  try {
    return frozenInDepth(event);
  } catch (cause) {
    throw new DefinitionError(`The event "${event.type}" cannot be frozen: ${messageOf(cause)}`, { cause });
  }
}
