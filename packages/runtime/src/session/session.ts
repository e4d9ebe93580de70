// 1. `dispatch` is the only door for an application; the runtime's own goes through SessionCore.
// 2. `seq` grows by one with each framework event and is never reused.
// 3. A poisoned session refuses everything and says why.
import {
  DefinitionError,
  RevokedError,
  UnusableError,
  type AppEvent,
  type DispatchResult,
  type FrameworkEvent,
  type Session,
  type SessionSnapshot,
  type Slice,
} from "@proviso/core";
import { checkOptionNames, isRecord } from "@proviso/core/provider";
import { describeValue, frozenInDepth, frozenJson, isFrameworkEventType, messageOf } from "@proviso/core/internal";
import { systemId } from "../environment.ts";
import { currentTransaction } from "../transactions/async-context.ts";
import type { Transaction } from "../transactions/transaction.ts";
import { createLock, type Lock } from "../transactions/lock.ts";
import { sessionFormat, sessionJson } from "./session-json.ts";
import type { Origin } from "./beside.ts";
import { createDispatcher, type Dispatcher } from "./dispatcher.ts";
import { sliceStates, type SessionMark, type SliceStates } from "./slices.ts";

/** A framework event before the session has numbered it. */
export type UnnumberedEvent = FrameworkEvent extends infer E
  ? E extends FrameworkEvent
    ? Omit<E, "sessionId" | "seq">
    : never
  : never;

/** The session as the runtime sees it: what the public one hides. */
export interface SessionCore extends Pick<
  SliceStates,
  "join" | "reduce" | "reduceAgain" | "reduceBeside" | "mark" | "open" | "close" | "rollback" | "restore"
> {
  readonly session: Session;
  /** For the transactions of its evaluations. */
  readonly lock: Lock;
  /** @throws {UnusableError} for a session whose changes could not be undone or committed, with the reason. */
  assertUsable(): void;
  isUsable(): boolean;
  /** Tells the listeners; never throws. */
  notify(event: AppEvent | FrameworkEvent): readonly unknown[];
  /** Takes the event over, and freezes it at every depth. */
  number(event: UnnumberedEvent): FrameworkEvent;
  /** Whether a listener or a reducer receives an event of this type, now or after a rollback. */
  isReceived(type: FrameworkEvent["type"]): boolean;
  /** Counts an event that is not made. */
  passOver(): void;
  /** Makes the session unusable. */
  poison(operation: "rollback" | "commit", message: string, cause: unknown): void;
  /** The application's dispatch; with a transaction it is undone with that. */
  dispatch(event: AppEvent, by: Origin | undefined): DispatchResult;
  /** Puts a state in a slice's place: for what was saved or forked. */
  put(slice: Slice, state: unknown): void;
}

// On the session itself: a WeakMap would keep every session alive until a full collection.
const coreKey = Symbol("core");
const marks = new WeakMap<SessionSnapshot, SessionMark>();

/** @throws {DefinitionError} for a session that `createSession` did not make. */
export function coreOf(session: Session): SessionCore {
  const core = (session as { readonly [coreKey]?: SessionCore } | undefined)?.[coreKey];
  if (core === undefined) throw new DefinitionError(whyNoSession(session));
  return core;
}

/**
 * Gives a session the slices that it lacks, as an evaluation does when it begins.
 * @throws {DefinitionError} when it has another slice of such a name; none joins then.
 */
export function joinSlices(session: Session, slices: readonly Slice[]): void {
  coreOf(session).join(slices);
}

function whyNoSession(given: unknown): string {
  const fields: Readonly<Record<string, unknown>> = isRecord(given) ? given : {};
  if (fields["format"] === sessionFormat) {
    return "This is a session's JSON: restoreSession(json, { slices: prompt.slices }) makes a session of it.";
  }
  if (typeof fields["on"] === "function" && typeof fields["toJSON"] === "function") {
    return "This session was made by another copy of @proviso/runtime: npm ls @proviso/runtime shows which are installed; let there be one.";
  }
  return "This session was not made by createSession; inside a tool, evaluate with context.evaluate.";
}

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

export function createCore(id: string, firstSeq = 0): SessionCore {
  const given: unknown = id;
  if (typeof given !== "string" || given === "")
    throw new DefinitionError(`A session's id must be a text, and not empty: not ${describeValue(given)}.`);
  const states = sliceStates(id);
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
    const failed = by === undefined ? states.reduceBeside(event) : states.reduce(event, by);
    const told = dispatcher.notify(event);
    const errors = failed.length === 0 ? told : [...failed, ...told];
    return { ok: errors.length === 0, errors };
  };
  const current = (): Origin | undefined => originIn(core);
  const session = publicSession(id, states, dispatcher, { assertUsable, nextSeq: () => seq, dispatch, current });
  const core: SessionCore = {
    session,
    lock: createLock(),
    assertUsable,
    isUsable: () => poisoned === undefined,
    join(slices) {
      assertUsable();
      states.join(slices);
    },
    // With `by` it is an application's: as the caller made it, or a copy without secrets.
    reduce: (event, by) => states.reduce(by === undefined ? event : frozenEvent(event), by),
    reduceAgain: states.reduceAgain,
    reduceBeside: states.reduceBeside,
    mark: states.mark,
    open: states.open,
    close: states.close,
    rollback: states.rollback,
    restore: states.restore,
    notify: dispatcher.notify,
    number(event) {
      const own: { type: string; sessionId?: string; seq?: number } = event;
      own.sessionId = id;
      own.seq = seq++;
      return frozenJson(own) as FrameworkEvent;
    },
    isReceived: (type) => dispatcher.hasListeners() || states.isReduced(type),
    passOver: () => void seq++,
    put: states.set,
    poison(operation, why, cause) {
      const message = `The session "${id}" cannot be used any more: ${why}`;
      poisoned ??= { message, details: { what: "session", id, operation, cause } };
    },
    dispatch,
  };
  Object.freeze(Object.defineProperty(session, coreKey, { value: core }));
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

/**
 * What the body of `transaction()` does to its session belongs to the transaction, also where it is done by a listener or a
 * handler of an evaluation in it. Of a tool call it is no part: that has a door of its own.
 */
function originIn(core: SessionCore): Origin | undefined {
  for (let one = currentTransaction()?.transaction; one !== undefined; one = one.parent) {
    if (one.scope !== undefined && !one.ended && one.core === core) return originOf(one);
  }
  return undefined;
}

const transactions = new WeakMap<Session, Transaction>();

/** The session as the body of a transaction uses it: what is dispatched through it is undone with the transaction. */
export function sessionWithin(session: Session, transaction: Transaction): Session {
  const core = coreOf(session);
  const dispatch = (event: AppEvent): DispatchResult => {
    if (transaction.ended) throw new RevokedError(`${transaction.name} is over: its session cannot be used any more.`);
    return core.dispatch(event, originOf(transaction));
  };
  const view: Session = { ...session, dispatch };
  transactions.set(view, transaction);
  return Object.freeze(Object.defineProperty(view, coreKey, { value: core }));
}

/** The transaction whose body was given this session. */
export function transactionOf(session: Session): Transaction | undefined {
  return transactions.get(session);
}

/** The transaction as the one that caused an event. */
export function originOf({ id, parent }: TransactionOrigin): Origin {
  return parent === undefined
    ? { evaluationId: id }
    : { evaluationId: id, parent: { evaluationId: parent.id, callId: "" } };
}
interface TransactionOrigin {
  readonly id: string;
  readonly parent: { readonly id: string } | undefined;
}

function publicSession(
  id: string,
  states: SliceStates,
  dispatcher: Dispatcher,
  { assertUsable, nextSeq, dispatch, current }: PublicParts,
): Session {
  return {
    id,
    dispatch: (event) => dispatch(event, current()),
    get<State>(slice: Slice<State>): State {
      assertUsable();
      return states.get(slice) as State;
    },
    on(filter, listener) {
      assertUsable();
      return dispatcher.on(filter, listener);
    },
    snapshot() {
      assertUsable();
      const snapshot: SessionSnapshot = Object.freeze({ sessionId: id });
      marks.set(snapshot, states.mark());
      return snapshot;
    },
    restore(snapshot) {
      assertUsable();
      const mark = marks.get(snapshot);
      if (mark === undefined) throw new DefinitionError("This is not a snapshot that a session made.");
      const joined = new Set(states.joined());
      const missing = mark.slices.filter((slice) => !joined.has(slice)).map(({ name }) => name);
      if (missing.length > 0) {
        throw new DefinitionError(`The session "${id}" lacks slices of the snapshot: ${missing.join(", ")}.`);
      }
      states.restore(mark, current());
    },
    fork(options: { id?: string } = {}) {
      assertUsable();
      checkOptionNames("fork", options, { id: true });
      const { id: forkId = systemId() } = options;
      const fork = createCore(forkId);
      fork.join(states.joined());
      for (const slice of states.joined()) fork.put(slice, states.get(slice));
      return fork.session;
    },
    toJSON() {
      assertUsable();
      return sessionJson({ id, seq: nextSeq(), slices: states.joined(), get: states.get });
    },
  };
}

/** @throws {DefinitionError} for what is no application event. */
export function checkAppEvent(event: AppEvent): void {
  const type: unknown = (event as AppEvent | undefined)?.type;
  if (typeof type !== "string" || type === "") throw new DefinitionError("An event needs a type.");
  if (type === "*" || type.startsWith("tool:") || isFrameworkEventType(type))
    throw new DefinitionError(`"${type}" events are the framework's own to dispatch.`);
}

/**
 * From here on reducers, listeners and a rollback that reduces it again have the same event.
 * @throws {DefinitionError} for one that cannot be frozen.
 */
function frozenEvent<E extends { readonly type: string }>(event: E): E {
  try {
    return frozenInDepth(event);
  } catch (cause) {
    throw new DefinitionError(`The event "${event.type}" cannot be frozen: ${messageOf(cause)}`, { cause });
  }
}
