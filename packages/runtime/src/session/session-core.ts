import {
  DefinitionError,
  type AppEvent,
  type DispatchResult,
  type FrameworkEvent,
  type Session,
  type Slice,
} from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { isFrameworkEventType } from "@proviso/core/internal";
import type { Lock } from "../transactions/lock-state.ts";
import type { Origin } from "./concurrent-changes.ts";
import { sessionFormat } from "./session-json.ts";
import type { SessionState } from "./state.ts";

/** A framework event before the session has numbered it. */
export type UnnumberedEvent = FrameworkEvent extends infer E
  ? E extends FrameworkEvent
    ? Omit<E, "sessionId" | "seq">
    : never
  : never;

/** A framework event without what every one has; it may have room for that, which saves memory where many are kept. */
export type BareEvent = (UnnumberedEvent extends infer E
  ? E extends UnnumberedEvent
    ? Omit<E, "evaluationId" | "at">
    : never
  : never) & {
  readonly evaluationId?: string;
  readonly at?: number;
  readonly sessionId?: string;
  readonly seq?: number;
};

/** What the runtime does with a session, and the public session hides. */
export interface SessionCore extends Pick<
  SessionState,
  | "join"
  | "put"
  | "reduce"
  | "isLogged"
  | "reduceAgain"
  | "reduceConcurrent"
  | "mark"
  | "open"
  | "close"
  | "rollback"
  | "restore"
> {
  readonly session: Session;
  /** The lock that transactions over this session take. */
  readonly lock: Lock;
  /** @throws {UnusableError} for a session whose changes could not be undone or committed, with the reason. */
  assertUsable(): void;
  isUsable(): boolean;
  /** Calls the listeners, and returns the errors of those that threw. */
  notify(event: AppEvent | FrameworkEvent): readonly unknown[];
  /** Takes the event over, and freezes it at every depth. */
  number(event: UnnumberedEvent): FrameworkEvent;
  /** Whether there is a reducer, or a listener was ever added. */
  hasReceivers(): boolean;
  /** Whether a listener or a reducer receives this type of the evaluation's, now or after a rollback of another one. */
  isReceived(type: FrameworkEvent["type"], evaluationId: string): boolean;
  /** Counts an event that is not made, where no listener and no reducer receives it, now or after a rollback. */
  isPassedOver(type: FrameworkEvent["type"], evaluationId: string): boolean;
  /** The number of the next event. */
  readonly nextSeq: number;
  /** The next event gets this number: a run goes on from its record. */
  renumber(seq: number): void;
  /** Counts an event that is not made. */
  passOver(): void;
  /** Makes the session unusable. */
  poison(operation: "rollback" | "commit", message: string, cause: unknown): void;
  /**
   * Calls back with each event that the application dispatches, and its order (`nextOrder`), before its listeners receive
   * it. Returns what ends that. A listener of the session would make each of the framework's events go through its list.
   */
  watchDispatch(watch: (event: AppEvent, order: number) => void): () => void;
  /**
   * Returns the order of what this call dispatches now, or without ids the application, among all that is dispatched between
   * two framework events: one more whenever another one begins to dispatch. A record is reduced again in that order.
   */
  nextOrder(evaluationId?: string, callId?: string): number;
  /** The application's dispatch; with a transaction it is undone with that. */
  dispatch(event: AppEvent, by: Origin | undefined): DispatchResult;
}

// The core is kept on the session itself: a WeakMap would keep every session alive until a full collection.
const coreKey = Symbol("core");

/** Freezes a session, or a view of one, with its core on it. */
export function withCore(session: Session, core: SessionCore): Session {
  return Object.freeze(Object.defineProperty(session, coreKey, { value: core }));
}

/** Returns what the runtime does with a session. @throws {DefinitionError} for one that `createSession` did not make. */
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
    return "This session was made by another copy of @proviso/runtime: npm ls @proviso/runtime shows which are installed; let there be one. A bundler may put one into several parts of a program: keep it out of the bundle (Next.js: serverExternalPackages).";
  }
  return "This session was not made by createSession; inside a tool, evaluate with context.evaluate.";
}

/** @throws {DefinitionError} for what is no application event. */
export function checkAppEvent(event: AppEvent): void {
  const type: unknown = (event as AppEvent | undefined)?.type;
  if (typeof type !== "string" || type === "") throw new DefinitionError("An event needs a type.");
  if (type === "*" || type.startsWith("tool:") || isFrameworkEventType(type))
    throw new DefinitionError(`"${type}" events are the framework's own to dispatch.`);
}
