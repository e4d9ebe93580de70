// What an evaluation shows of itself: its events and its log, without the secrets.
import type { AppEvent, FrameworkEvent, Prompt, StreamEvent } from "@proviso/core";
import { messageOf, type PromptDescriptor } from "@proviso/core/internal";
import type { World } from "./environment.ts";
import { logSafely, type LogLevel } from "./logging.ts";
import type { Observing } from "./observing/contract.ts";
import type { TapeNumbers } from "./recording/contract.ts";
import { redactionOf, type Redaction } from "./secrets/structure.ts";
import type { Origin } from "./session/concurrent-changes.ts";
import type { BareEvent, SessionCore } from "./session/session-core.ts";

/** The three ways to a framework event. */
export interface Emitter {
  /**
   * Takes the event over, numbers it, reduces it and notifies listeners; what they throw is logged and returned.
   * `cause` goes with it, outside its JSON.
   */
  emit(event: BareEvent, cause?: unknown): { readonly event: FrameworkEvent; readonly errors: readonly unknown[] };
  /** Like `emit`, where the event is not needed afterwards: one that no listener and no reducer receives is only counted. */
  publish(event: BareEvent): readonly unknown[];
  /** Like `publish`, for an event that costs something to make: it is made where it is received. */
  announce(type: FrameworkEvent["type"], make: () => BareEvent): readonly unknown[];
}

/** What an evaluation shows of itself goes through these, which hide its secrets. `hidingBoth` replaces them. */
export interface Showing {
  redaction: Redaction;
  /** An application's event without the secrets in it. */
  redact: <T extends AppEvent>(event: T) => T;
  log: (level: LogLevel, fields: object, message: string) => void;
}

/** What an emitter needs of its evaluation. */
interface Emitting {
  readonly core: SessionCore;
  readonly world: World;
  readonly evaluationId: string;
  readonly startedAt: number;
  /** The tool call around it. */
  readonly nesting:
    | { readonly run: { readonly evaluationId: string }; readonly callId: string | undefined }
    | undefined;
  /** The transaction in whose body it was begun. */
  readonly enclosing: { readonly parent: { readonly id: string } | undefined };
  readonly watch: ((event: StreamEvent) => void) | undefined;
  readonly tape: TapeNumbers | undefined;
  readonly isInside: boolean;
}

/** What changes of an evaluation while it emits. */
interface Shown extends Showing {
  /** Whether its last event has its number. */
  ended: boolean;
  readonly observing: Observing | undefined;
}

/** Makes the function that numbers an event, reduces it, and emits it to the session's listeners and the stream. */
export function emitter(of: Emitting, current: () => Shown): Emitter {
  const { core, nesting, watch, evaluationId, tape } = of;
  // Not `of` itself, whose enclosing transactions would be kept.
  const recorded = tape && { core, evaluationId, isInside: of.isInside };
  const { clock } = of.world;
  const transaction = of.enclosing.parent;
  // An evaluation in the body of a transaction is part of it; what its calls do is still theirs, and undone with them.
  const body = transaction && { evaluationId: transaction.id, callId: "" };
  const originOf = (event: FrameworkEvent): Origin | undefined =>
    body && { evaluationId: event.evaluationId, callId: "callId" in event ? event.callId : undefined, parent: body };
  let lastTime = of.startedAt;
  /** A clock that throws fails the evaluation; but the event that says so is not lost, and has the time of the one before. */
  const timeOf = (type: FrameworkEvent["type"]): number => {
    try {
      return (lastTime = clock.now());
    } catch (cause) {
      if (type === "prompt.failed") return lastTime;
      throw cause;
    }
  };
  const parent = nesting && Object.freeze({ evaluationId: nesting.run.evaluationId, callId: nesting.callId ?? "" });
  const emit: Emitter["emit"] = (bare, cause) => {
    const shown = current();
    const filled: Filled = shown.redaction.event(bare);
    filled.evaluationId = evaluationId;
    filled.at = tape === undefined ? timeOf(bare.type) : 0;
    const whole = parent === undefined ? filled : { ...filled, parent };
    if (cause !== undefined) Object.defineProperty(whole, "cause", { value: shown.redaction.value(cause) });
    const numbered = recorded && tape.number(recorded, whole);
    // Nothing is emitted after the first difference, or when the record cannot be kept.
    if (tape !== undefined && numbered === undefined) {
      if (isLast(bare.type)) shown.ended = true;
      return { event: whole as FrameworkEvent, errors: noErrors };
    }
    const event = numbered?.event ?? core.number(whole as never);
    if (isLast(event.type)) shown.ended = true;
    if (watch === undefined && shown.observing?.takesEvents !== true && !core.isReceived(event.type, evaluationId)) {
      return { event, errors: noErrors };
    }
    const failedReducers = core.reduce(event, originOf(event));
    const isEmitted = numbered === undefined || numbered.isEmitted;
    const failedListeners = isEmitted ? core.notify(event) : noErrors;
    if (isEmitted) watch?.(event);
    if (isEmitted && shown.observing?.takesEvents === true) shown.observing.event(event);
    if (failedReducers.length + failedListeners.length === 0) return { event, errors: failedListeners };
    const errors = [...failedReducers, ...failedListeners];
    for (const error of errors) {
      shown.log("error", { type: event.type, error: messageOf(error) }, "session.listener.failed");
    }
    return { event, errors };
  };
  /** Whether the event was only counted, because no listener, reducer, stream or observer receives it. */
  const isPassedOver = (type: FrameworkEvent["type"]): boolean => {
    if (watch !== undefined || tape !== undefined) return false;
    const shown = current();
    if (shown.observing?.uses(type) === true || !core.isPassedOver(type, evaluationId)) return false;
    if (isLast(type)) shown.ended = true;
    return true;
  };
  return {
    emit,
    publish: (bare) => (isPassedOver(bare.type) ? noErrors : emit(bare).errors),
    announce: (type, make) => (isPassedOver(type) ? noErrors : emit(make()).errors),
  };
}

function isLast(type: FrameworkEvent["type"]): boolean {
  return type === "prompt.executed" || type === "prompt.failed" || type === "run.suspended";
}

const noErrors: readonly never[] = Object.freeze([]);

/** An event that is still the runtime's own. */
interface Filled {
  evaluationId?: string;
  at?: number;
}

/** The keys are the names of all tools of a prompt. */
function namesIn({ tools, providerTools }: PromptDescriptor): object {
  return providerTools === undefined ? tools : { ...tools, ...providerTools };
}

/** Makes the ways in which an evaluation is shown. Where there is no logger, nothing is redacted for it. */
export function showingOf(
  { logger, secrets }: World,
  { template }: Prompt,
  evaluationId: string,
  sessionId: string,
): Showing {
  const redaction = redactionOf(secrets, namesIn(template.descriptor));
  const of = { promptName: template.name, evaluationId, sessionId };
  const log: Showing["log"] =
    logger === undefined
      ? () => {}
      : (level, fields, message) => logSafely(logger, level, () => redaction.log({ ...of, ...fields }), message);
  return { redaction, redact: redaction.appEvent, log };
}
