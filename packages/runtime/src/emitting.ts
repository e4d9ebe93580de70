// What an evaluation shows of itself: its events and its log, without the secrets.
import type {
  AppEvent,
  FrameworkEvent,
  Prompt,
  StreamEvent,
  BudgetTracker,
  PromptRendered,
  ProviderRequested,
  RenderedSection,
} from "@proviso/core";
import { messageOf, type PromptDescriptor, toJsonValue } from "@proviso/core/internal";
import type { World } from "./environment.ts";
import { logSafely, type LogLevel } from "./logging.ts";
import type { Observing } from "./observing/contract.ts";
import type { TapeNumbers } from "./recording/contract.ts";
import { redactionOf, type Redaction } from "./secrets/structure.ts";
import type { Origin } from "./session/concurrent-changes.ts";
import type { BareEvent, SessionCore } from "./session/session-core.ts";
import { partsOf } from "./budgets.ts";
import type { Run, Setup } from "./run.ts";

/** The two ways to a framework event. */
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
  const isTaken = (type: FrameworkEvent["type"]): boolean =>
    watch !== undefined || tape !== undefined || current().observing?.takesEvents === true || core.isReceived(type);
  const passOver = (type: FrameworkEvent["type"]): readonly never[] => {
    core.passOver();
    if (isLast(type)) current().ended = true;
    return noErrors;
  };
  return {
    emit,
    publish: (bare) => (isTaken(bare.type) ? emit(bare).errors : passOver(bare.type)),
    announce: (type, make) => (isTaken(type) ? emit(make()).errors : passOver(type)),
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

type Limits = PromptRendered["limits"];
type BareRequested = Omit<ProviderRequested, "sessionId" | "evaluationId" | "seq" | "at">;

/** Emits `prompt.rendered`. */
export function announceRendering(run: Run, { adapter, provider }: Setup): void {
  run.announced = run.rendered;
  run.announce("prompt.rendered", () => {
    const { text, descriptor, tools, output, overrides } = run.rendered;
    const params = run.files?.params(run.prompt.params) ?? run.prompt.params;
    return {
      type: "prompt.rendered",
      promptName: run.promptName,
      adapter: adapter.name,
      model: provider.model,
      text,
      tools: tools.map(({ name }) => name),
      params: (toJsonValue(params)?.value ?? {}) as Readonly<Record<string, unknown>>,
      descriptor,
      overrides,
      sections: sectionsOf(run),
      limits: limitsOf(run),
      output: output === undefined ? "text" : "json",
      earlierMessages: run.conversation.earlier,
    };
  });
}

/** Emits `provider.requested`, with what the model reads for the first time. */
export function announceRequest(run: Run, attempt: number, messages: number): void {
  const { conversation, rendered, announced, turn } = run;
  const { added } = conversation;
  conversation.added = undefined;
  run.announced = rendered;
  run.announce("provider.requested", () => {
    const bare: BareRequested = {
      type: "provider.requested",
      turn,
      attempt,
      messages,
    };
    const news = added === undefined ? bare : withAdded(bare, added);
    if (announced === rendered) return news;
    const tools = rendered.tools.map(({ name }) => name);
    return { ...news, prompt: { text: rendered.text, sections: sectionsOf(run), tools } };
  });
}

function withAdded(bare: BareRequested, added: readonly string[]): BareRequested {
  // oxlint-disable-next-line proviso/plain-words -- the field's name is part of the public event
  return { ...bare, said: added };
}

/** The parts of the text as events show it: offsets in a text without secrets are others. */
function sectionsOf({ rendered, redaction }: Run): readonly RenderedSection[] {
  const { text } = rendered;
  const shown = redaction.value(text);
  if (shown === text) return rendered.sections();
  const sections = rendered.sections(redaction.value);
  if ((sections.at(-1)?.end ?? 0) === shown.length) return sections;
  // A secret that lies across sections leaves no place where one of them ends.
  return [];
}

function limitsOf({ limits, maxTurns }: Run): Limits {
  const { deadline, budget } = limits;
  const [narrowest] = partsOf(budget)
    .filter((tracker) => Object.keys(tracker.budget).some((name) => name !== "deadline"))
    .toSorted(byRoom);
  const left = narrowest && budgetOf(narrowest);
  return { ...(deadline && { deadline: deadline.expiresAt.getTime() }), ...(left && { budget: left }), maxTurns };
}

function budgetOf({ budget, consumed }: BudgetTracker): Limits["budget"] {
  const { deadline: _, ...limits } = budget;
  return { ...limits, consumed: { ...consumed } };
}

/** The one that leaves the fewest tokens first; among those that limit dollars alone, the one that leaves the fewest. */
function byRoom(a: BudgetTracker, b: BudgetTracker): number {
  const [left, other] = [a.remaining(), b.remaining()];
  const tokens = tokensIn(left);
  const others = tokensIn(other);
  return tokens === others ? Math.sign(left.costUsd - other.costUsd) || 0 : Math.sign(tokens - others);
}

function tokensIn({ totalTokens, inputTokens, outputTokens }: ReturnType<BudgetTracker["remaining"]>): number {
  return Math.min(totalTokens, inputTokens, outputTokens);
}
