import type { AppEvent, EventFilter, EventOf } from "./event.ts";
import type { Slice } from "./slice.ts";

/** What tools, policies and checkers see of the session. */
export interface SessionState {
  /** The id of the session. */
  readonly id: string;
  /**
   * Runs the reducers at once; listeners receive the event when the call commits. A reducer that throws fails the call,
   * unless the handler looks at the result's `ok` or `errors` and so decides itself. The event is frozen at every
   * depth: reducers and listeners receive this very object, and no code can change it any more. A Date, a typed array
   * or an instance of a class in it cannot be frozen: write a time as a text or as milliseconds. The schema of an event
   * is checked where it is made, by calling what `defineEvent` returned, and not here: call it for data from outside too.
   * @throws {DefinitionError} for what is no event of an application, or cannot be frozen.
   */
  dispatch(event: AppEvent): DispatchResult;
  /**
   * Returns the slice's state: one reference until it changes. A slice that the session does not have answers with its
   * initial state.
   */
  get<State>(slice: Slice<State>): State;
}

/** State that outlives an evaluation, changed by events alone; made by `createSession` of @proviso/runtime. */
export interface Session extends SessionState {
  /**
   * Calls the listener with each such event; "*" stands for every one. Returns what ends it.
   *
   * Listeners run inside the evaluation, one after the other, and what they throw has an effect (TX-5, EVT-3): on
   * `tool.invoked` it is a veto, which undoes the call and makes its result a failure that the model reads; on
   * `prompt.executed` the evaluation rejects with a ListenerError that carries the response. On any other event it is
   * logged and listed in the DispatchResult. So a listener that only watches, a tracer for example, has to catch its own
   * errors. A promise that a listener returns is not waited for, and its rejection has no effect.
   * @throws {DefinitionError} for what is no filter of events, and for a listener that is no function.
   */
  on<F extends EventFilter | "*">(filter: F, listener: (event: EventOf<F>) => void): () => void;
  /** Returns the slices that have joined, in that order. */
  slices(): readonly Slice[];
  /** Captures the states of the state slices. The cost does not depend on how many items they hold. */
  snapshot(): SessionSnapshot;
  /** @throws {DefinitionError} when the session lacks a slice of the snapshot; nothing changes then. */
  restore(snapshot: SessionSnapshot): void;
  /** A session of its own with the same state, without listeners. */
  fork(options?: { id?: string }): Session;
  /**
   * Plain JSON, for `restoreSession`.
   * @throws {DefinitionError} for a state that is no plain JSON, or that the schema of its slice does not accept, with its
   * slice and path.
   */
  toJSON(): unknown;
}

/** Made by `snapshot`, for `restore`. */
export interface SessionSnapshot {
  /** The session that the snapshot is of. */
  readonly sessionId: string;
}

/** What became of a dispatched event. */
export interface DispatchResult {
  /** Whether every reducer and listener returned without an error. */
  readonly ok: boolean;
  /** What reducers, then listeners, threw; empty when `ok`. */
  readonly errors: readonly unknown[];
}
