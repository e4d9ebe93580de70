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
import { checkOptionNames, isRecord } from "@proviso/core/provider";
import { checkList, describeValue, frozenJson, openedSections } from "@proviso/core/internal";
import { systemId } from "../environment.ts";
import { createLock } from "../transactions/lock.ts";
import { originIn } from "../transactions/session-view.ts";
import type { Origin, SessionMark } from "./concurrent-changes.ts";
import { Dispatcher } from "./dispatcher.ts";
import { checkAppEvent, withCore, type SessionCore, type UnnumberedEvent } from "./session-core.ts";
import { parseSession, sessionJson } from "./session-json.ts";
import { frozenEvent } from "./reducers.ts";
import { SessionState } from "./state.ts";

const marks = new WeakMap<SessionSnapshot, SessionMark>();

/**
 * A session: typed state that only events change. `slices` join at once; a prompt's join when its evaluation begins.
 * @throws {DefinitionError} for an id that is no text or empty, slices that are no list of such, and two of one name.
 */
export function createSession(
  options: { readonly slices?: readonly Slice[] | undefined; readonly id?: string | undefined } = {},
): Session {
  const given: unknown = options;
  if (!isRecord(given)) throw new DefinitionError(`createSession takes { slices, id }, not ${describeValue(given)}.`);
  checkOptionNames("createSession", options, { slices: true, id: true });
  checkList("The slices of createSession", "slices", options.slices);
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
  checkList("The slices of restoreSession", "slices", slices);
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
  return new Core(id, firstSeq);
}

const noWatchers: readonly never[] = Object.freeze([]);

/** A class: an evaluation without a session of its own makes one, and a closure for each of these would cost more. */
class Core extends SessionState implements SessionCore {
  readonly session: Session;
  readonly lock = createLock();
  readonly dispatcher = new Dispatcher();
  seq: number;
  #watching: readonly ((event: AppEvent, order: number) => void)[] = noWatchers;
  /** The last call or application that dispatched, and before which event; undefined: none has. */
  #turn: { seq: number; evaluationId: string; callId: string; order: number } | undefined;
  #poisoned: { readonly message: string; readonly details: UnusableDetails } | undefined;

  constructor(id: string, firstSeq: number) {
    super(id);
    this.seq = firstSeq;
    this.session = withCore(publicSession(this), this);
  }

  assertUsable(): void {
    if (this.#poisoned !== undefined) throw new UnusableError(this.#poisoned.message, this.#poisoned.details);
  }

  isUsable(): boolean {
    return this.#poisoned === undefined;
  }

  override join(slices: readonly Slice[]): void {
    this.assertUsable();
    super.join(slices);
  }

  notify(event: AppEvent | FrameworkEvent): readonly unknown[] {
    return this.dispatcher.added === 0 ? noErrors : this.dispatcher.notify(event);
  }

  number(event: UnnumberedEvent): FrameworkEvent {
    const own: { type: string; sessionId?: string; seq?: number } = event;
    own.sessionId = this.id;
    own.seq = this.seq++;
    return frozenJson(own) as FrameworkEvent;
  }

  hasReceivers(): boolean {
    return this.dispatcher.added > 0 || this.hasReducers();
  }

  isReceived(type: FrameworkEvent["type"], evaluationId: string): boolean {
    return this.dispatcher.added > 0 || this.isReduced(type, evaluationId);
  }

  isPassedOver(type: FrameworkEvent["type"], evaluationId: string): boolean {
    if (this.isReceived(type, evaluationId)) return false;
    this.seq++;
    return true;
  }

  get nextSeq(): number {
    return this.seq;
  }

  renumber(seq: number): void {
    this.seq = seq;
  }

  passOver(): void {
    this.seq++;
  }

  poison(operation: "rollback" | "commit", why: string, cause: unknown): void {
    const message = `The session "${this.id}" cannot be used any more: ${why}`;
    this.#poisoned ??= { message, details: { what: "session", id: this.id, operation, cause } };
  }

  watchDispatch(watch: (event: AppEvent, order: number) => void): () => void {
    this.#watching = [...this.#watching, watch];
    return () => {
      this.#watching = this.#watching.filter((each) => each !== watch);
    };
  }

  nextOrder(evaluationId = "", callId = ""): number {
    const { seq } = this;
    const turn = (this.#turn ??= { seq, evaluationId, callId, order: 0 });
    if (turn.seq !== seq) [turn.seq, turn.order] = [seq, 0];
    else if (turn.callId !== callId || turn.evaluationId !== evaluationId) turn.order += 1;
    turn.evaluationId = evaluationId;
    turn.callId = callId;
    return turn.order;
  }

  dispatch(event: AppEvent, by: Origin | undefined): DispatchResult {
    this.assertUsable();
    checkAppEvent(event);
    frozenEvent(event);
    this.dispatcher.finish(event.type);
    const failed = by === undefined ? this.reduceConcurrent(event) : this.reduce(event, by);
    if (this.#watching.length > 0) {
      const order = this.nextOrder();
      for (const watch of this.#watching) watch(event, order);
    }
    const thrown = this.dispatcher.notify(event);
    const errors = failed.length === 0 ? thrown : [...failed, ...thrown];
    return { ok: errors.length === 0, errors };
  }
}

const noErrors: readonly never[] = Object.freeze([]);

type UnusableDetails = ConstructorParameters<typeof UnusableError>[1];

function publicSession(core: Core): Session {
  const { id, dispatcher } = core;
  return {
    id,
    dispatch: (event) => core.dispatch(event, originIn(core)),
    get<State>(slice: Slice<State>): State {
      core.assertUsable();
      return core.get(slice) as State;
    },
    on(filter, listener) {
      core.assertUsable();
      return dispatcher.on(filter, listener);
    },
    slices() {
      core.assertUsable();
      return core.slices();
    },
    snapshot() {
      core.assertUsable();
      const snapshot: SessionSnapshot = Object.freeze({ sessionId: id });
      marks.set(snapshot, core.mark());
      return snapshot;
    },
    restore(snapshot) {
      core.assertUsable();
      const mark = marks.get(snapshot);
      if (mark === undefined) throw new DefinitionError("This is not a snapshot that a session made.");
      const own = new Set(core.slices());
      const missing = mark.slices.filter((slice) => !own.has(slice)).map(({ name }) => name);
      if (missing.length > 0) {
        throw new DefinitionError(`The session "${id}" lacks slices of the snapshot: ${missing.join(", ")}.`);
      }
      core.restore(mark, originIn(core));
    },
    fork(options: { id?: string } = {}) {
      core.assertUsable();
      checkOptionNames("fork", options, { id: true });
      const { id: forkId = systemId() } = options;
      const fork = createCore(forkId);
      fork.join(core.slices());
      for (const slice of core.slices()) fork.put(slice, core.get(slice));
      return fork.session;
    },
    toJSON() {
      core.assertUsable();
      return sessionJson({ id, seq: core.seq, slices: core.slices(), get: (slice) => core.get(slice) });
    },
  };
}
