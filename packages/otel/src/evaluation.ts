// 1. Every span that begins ends with its evaluation at the latest.
// 2. Model and usage stand on chat spans alone: their sum is what the evaluation spent.
import { context, SpanKind, trace, type Attributes, type Context, type Span } from "@opentelemetry/api";
import { systemClock, type CallChanges, type FrameworkEvent, type Step, type Usage } from "@proviso/core";
import { addUsage } from "@proviso/core/internal";
import {
  attributesOfCalls,
  attributesOfChats,
  dimensionsOf,
  ofCall,
  withMore,
  type EvaluationStep,
} from "./attributes.ts";
import { Call } from "./call.ts";
import { Chat, failSpan } from "./chat.ts";
import { valueJson } from "./content.ts";
import { codeOf, isSuspension } from "./ended-by.ts";
import { Faults } from "./faults.ts";
import { attribute, metric, operation, unknownTool } from "./names.ts";
import type { Telemetry } from "./telemetry.ts";
import { usageBeyond } from "./usage.ts";

type RequestStep = Extract<Step, { kind: "request" }>;
type ToolStep = Extract<Step, { kind: "tool" }>;
type EventOf<T extends FrameworkEvent["type"]> = Extract<FrameworkEvent, { type: T }>;

/** The events that spans show something of. The first one of an evaluation is among them: it has the session's id. */
export const eventsOfSpans: ReadonlySet<FrameworkEvent["type"]> = /* @__PURE__ */ new Set<FrameworkEvent["type"]>([
  "prompt.rendered",
  "provider.requested",
  "text.delta",
  "reasoning.delta",
  "provider.throttled",
  "provider.responded",
  "tool.invoked",
  "prompt.executed",
  "prompt.failed",
]);

/** The spans of one evaluation. */
export class TracedEvaluation {
  readonly #telemetry: Telemetry;
  readonly #step: EvaluationStep;
  readonly #span: Span | undefined;
  readonly #inside: Context;
  readonly #startedAt = systemClock.now();
  readonly #calls = new Map<string, Call>();
  readonly #faults = new Faults();
  #chat: Chat | undefined;
  readonly #chatName: string;
  /** What all chat spans have, and what all spans of calls have; undefined: not made since the session is known. */
  #chatAttributes: Attributes | undefined;
  #callAttributes: Attributes | undefined;
  #ids: Attributes | undefined;
  /** Whether the evaluation began here; a run that goes on, or was forked, began elsewhere. */
  #isWhole = false;
  #tools: readonly string[] = [];
  /** undefined: not known, because the evaluation began elsewhere. */
  #output: string | undefined;
  #inferences = 0;
  #toolCalls = 0;
  /** What the chat spans that have ended say. */
  #counted: Usage | undefined;
  #failure: { readonly code: string; readonly message: string } | undefined;

  constructor(telemetry: Telemetry, step: EvaluationStep, around: Context) {
    this.#telemetry = telemetry;
    this.#step = step;
    this.#chatName = `${operation.chat} ${step.model}`;
    this.#span = this.#start(`${operation.agent} ${step.promptName}`, SpanKind.INTERNAL, around, {
      [attribute.operation]: operation.agent,
      [attribute.agent]: step.promptName,
      ...this.#moreFor(step),
    });
    this.#inside = this.#span === undefined ? around : trace.setSpan(around, this.#span);
  }

  get id(): string {
    return this.#step.evaluationId;
  }
  get inside(): Context {
    return this.#inside;
  }
  /** @throws the first of what went wrong with the spans since the last time, so that the runtime logs it. */
  report(): void {
    this.#faults.report();
  }
  /** The surroundings of a call, for an evaluation inside it. */
  insideCall(callId: string): Context | undefined {
    return this.#calls.get(callId)?.inside;
  }

  /** Returns the surroundings of an attempt; the first one of a turn begins its chat span. */
  beginRequest(step: RequestStep): Context {
    if (this.#chat?.turn === step.turn) return this.#chat.inside;
    this.#endChat();
    const around = this.#around();
    this.#chatAttributes ??= attributesOfChats(this.#step, this.#output, this.#ids);
    const { metrics, maxContentBytes } = this.#telemetry;
    const attributes = withMore({ ...this.#chatAttributes }, this.#moreFor(step));
    const span = this.#start(this.#chatName, SpanKind.CLIENT, around, attributes);
    const inside = span === undefined ? around : trace.setSpan(around, span);
    const isTimed = metrics !== undefined || this.#faults.keep(() => span?.isRecording()) === true;
    const chat = (this.#chat = new Chat(step.turn, span, inside, isTimed));
    this.#faults.keep(() => chat.showInput(step, this.#tools, maxContentBytes));
    this.#inferences += 1;
    return inside;
  }

  /** Returns the surroundings of a call, whose span begins. */
  beginCall(step: ToolStep): Context {
    const known = this.#calls.get(step.callId);
    return known === undefined ? this.#beginCall(step).inside : known.inside;
  }

  event(event: FrameworkEvent): void {
    if (this.#ids === undefined) this.#identify(event);
    this.#take(event);
    this.report();
  }

  #take(event: FrameworkEvent): void {
    switch (event.type) {
      case "prompt.rendered":
        return this.#rendered(event);
      case "provider.requested":
        // Opened sections bring their tools.
        return void (this.#tools = event.prompt?.tools ?? this.#tools);
      case "text.delta":
      case "reasoning.delta":
        return this.#chat?.received();
      case "provider.throttled":
        return this.#chat?.throttled(event);
      case "provider.responded":
        return this.#chat?.responded(event, this.#telemetry.maxContentBytes);
      case "tool.invoked":
        return this.#invoked(event);
      case "prompt.executed":
        return this.#settle(event.usage);
      case "prompt.failed":
        this.#failure = { code: event.code, message: event.message };
        return this.#settle(event.usage);
      case "tool.requested":
      case "provider.tool":
      case "text.reset":
      case "output.delta":
      case "tool.progress":
      case "transaction.failed":
      case "sections.opened":
      case "feedback.given":
      case "history.compacted":
      case "evaluation.restarted":
      case "run.resumed":
      case "run.suspended":
    }
  }

  changed(changes: CallChanges): void {
    for (const callId of changes.callIds) {
      const call = this.#calls.get(callId);
      if (call === undefined) continue;
      if (changes.undone) this.#faults.keep(() => call.undoes(changes));
      else this.#endCall(callId, call, "committed");
    }
    this.report();
  }

  /** The evaluation is over; `error` is what it rejects with. */
  end(error?: unknown): void {
    // A run that waits for a decision has not failed.
    const waits = isSuspension(error);
    const code = waits ? undefined : (codeOf(error) ?? this.#failure?.code);
    for (const [callId, call] of this.#calls) {
      this.#endCall(callId, call, call.succeeded ? "committed" : waits ? "suspended" : "undone");
    }
    this.#endChat(code);
    this.#faults.keep(() => {
      if (waits) this.#span?.setAttribute(attribute.suspended, true);
      if (code !== undefined) failSpan(this.#span, code, this.#shown(this.#failure?.message));
    });
    this.#faults.keep(() => this.#span?.end());
    this.#faults.keep(() => this.#measure(code));
    this.report();
  }

  #measure(code: string | undefined): void {
    const { metrics } = this.#telemetry;
    if (metrics === undefined) return;
    const of = dimensionsOf(this.#step, operation.agent, code);
    metrics.seconds(metric.agentSeconds, systemClock.now() - this.#startedAt, of);
    metrics.count(metric.agentInferences, this.#inferences, of);
    metrics.count(metric.agentCalls, this.#toolCalls, of);
  }

  /** The first event says which session it is. */
  #identify({ sessionId }: FrameworkEvent): void {
    const ids = (this.#ids = { [attribute.conversation]: sessionId, [attribute.session]: sessionId });
    this.#chatAttributes = undefined;
    this.#callAttributes = undefined;
    this.#faults.keep(() => this.#span?.setAttributes(ids));
    // A fork has its first event within its first request.
    this.#faults.keep(() => this.#chat?.span?.setAttributes(ids));
  }

  #rendered({ tools, output, params }: EventOf<"prompt.rendered">): void {
    this.#isWhole = true;
    this.#tools = tools;
    this.#output = output;
    const { maxContentBytes } = this.#telemetry;
    if (this.#span?.isRecording() !== true || maxContentBytes === undefined) return;
    for (const [name, value] of Object.entries(params)) {
      this.#span.setAttribute(attribute.variable + name, valueJson(value, maxContentBytes));
    }
  }

  #invoked({ evaluationId, turn, callId, name, params, result, ran }: EventOf<"tool.invoked">): void {
    // The record of a run has answered it: it ran elsewhere.
    const known = this.#calls.get(callId);
    if (ran && known === undefined) return;
    this.#toolCalls += known?.succeeded === true ? 0 : 1;
    // A call whose arguments do not fit, or of a tool that there is not, has no step.
    const isOffered = known !== undefined || this.#tools.includes(name);
    const call = known ?? this.#beginCall({ kind: "tool", evaluationId, turn, callId, name }, isOffered);
    const { maxContentBytes } = this.#telemetry;
    this.#faults.keep(() => {
      if (maxContentBytes === undefined || call.span?.isRecording() !== true) return;
      const shown = result.success && result.hideValue !== true ? (result.value ?? result.message) : result.message;
      call.span.setAttribute(attribute.toolArguments, valueJson(params, maxContentBytes));
      call.span.setAttribute(attribute.toolResult, valueJson(shown, maxContentBytes));
    });
    if (result.success) call.succeeded = true;
    else this.#endCall(callId, call, ran ? "undone" : "not_run", result.message);
  }

  /** Requests that were refused have cost something too: what no chat span says yet is the last one's. */
  #settle(whole: Usage): void {
    const chat = this.#chat;
    // What a run that goes on has spent in all stands on the spans of its earlier attempts too.
    if (chat === undefined || !this.#isWhole) return;
    const rest = usageBeyond(whole, this.#counted);
    if (rest.totalTokens > 0 || (rest.costUsd ?? 0) > 0) chat.usage = rest;
  }

  /** undefined: nothing begins. Without a span what is below it stands below what is around. */
  #start(name: string, kind: SpanKind, around: Context, attributes: Attributes): Span | undefined {
    return this.#faults.keep(() => this.#telemetry.tracer?.startSpan(name, { kind, attributes }, around));
  }

  #moreFor(step: Step): Attributes | undefined {
    return this.#faults.keep(() => this.#telemetry.moreFor(step));
  }

  /** Calls and requests stand beside each other, below the evaluation, wherever they were begun. */
  #around(): Context {
    const active = context.active();
    return this.#span === undefined || trace.getSpan(active) === this.#span
      ? active
      : trace.setSpan(active, this.#span);
  }

  #beginCall(step: ToolStep, isOffered = true): Call {
    const { callId } = step;
    const name = isOffered ? step.name : unknownTool;
    const shown = this.#shown(step.name) ?? name;
    const around = this.#around();
    this.#callAttributes ??= attributesOfCalls(this.#ids);
    const attributes = withMore(ofCall(this.#callAttributes, shown, callId), this.#moreFor(step));
    const span = this.#start(`${operation.tool} ${name}`, SpanKind.INTERNAL, around, attributes);
    const inside = span === undefined ? around : trace.setSpan(around, span);
    const call = new Call(name, span, inside, this.#telemetry.metrics);
    this.#calls.set(callId, call);
    return call;
  }

  #endCall(callId: string, call: Call, outcome: Parameters<Call["end"]>[0], message?: string): void {
    this.#calls.delete(callId);
    call.end(outcome, this.#shown(message), this.#dimensionsOfCalls, this.#faults);
  }

  readonly #dimensionsOfCalls = (errorType?: string): Attributes => dimensionsOf(this.#step, operation.tool, errorType);

  /** The last chat span waits for the evaluation's end, which says what was spent in all. */
  #endChat(code = "error"): void {
    const chat = this.#chat;
    if (chat === undefined) return;
    this.#chat = undefined;
    const { usage } = chat;
    if (usage !== undefined) this.#counted = this.#counted === undefined ? usage : addUsage(this.#counted, usage);
    const { metrics } = this.#telemetry;
    const measured = metrics && { metrics, of: dimensionsOf(this.#step, operation.chat) };
    chat.end(code, this.#shown(this.#failure?.message), measured, this.#faults);
  }

  /** Messages of errors, and names that a model made up, may hold anything that a prompt or an answer holds. */
  #shown(text: string | undefined): string | undefined {
    return this.#telemetry.maxContentBytes === undefined ? undefined : text;
  }
}
