import { SpanStatusCode, type Attributes, type Context, type Span } from "@opentelemetry/api";
import { systemClock, type FrameworkEvent, type Step, type Usage } from "@proviso/core";
import { stepOfAnswer } from "@proviso/core/internal";
import { inputMessages, outputMessages, systemInstructions, toolDefinitions } from "./content.ts";
import type { Faults } from "./faults.ts";
import type { Metrics } from "./metrics.ts";
import { attribute, finishReason, metric, operation, providerName, spanEvent, throttle } from "./names.ts";
import { showUsage } from "./usage.ts";

type EventOf<T extends FrameworkEvent["type"]> = Extract<FrameworkEvent, { type: T }>;

/** Where the metrics of a turn go, and with which dimensions. */
interface Measured {
  readonly metrics: Metrics;
  readonly of: Attributes;
}

/** The span of a turn: all attempts of its request, and the waits between them. */
export class Chat {
  readonly turn: number;
  readonly span: Span | undefined;
  readonly inside: Context;
  /** What the span will say was spent; undefined: no answer has come. */
  usage: Usage | undefined;
  /** Whether something shows times. */
  readonly #isTimed: boolean;
  readonly #startedAt: number;
  #firstAt: number | undefined;
  #answeredAt: number | undefined;
  #isAnswered = false;
  /** The provider and the model of a chain that answered; undefined: one adapter alone was asked, or none answered. */
  #answeredBy: Attributes | undefined;
  #waits = 0;
  #waitMs = 0;

  constructor(turn: number, span: Span | undefined, inside: Context, isTimed: boolean) {
    this.turn = turn;
    this.span = span;
    this.inside = inside;
    this.#isTimed = isTimed;
    this.#startedAt = this.#isTimed ? systemClock.now() : Number.NaN;
  }

  received(): void {
    if (this.#isTimed) this.#firstAt ??= systemClock.now();
  }

  showInput(step: Extract<Step, { kind: "request" }>, offered: readonly string[], maxBytes: number | undefined): void {
    if (maxBytes === undefined || this.span?.isRecording() !== true) return;
    const messages = step.messages();
    const { json, dropped } = inputMessages(messages, maxBytes);
    const system = systemInstructions(messages, maxBytes);
    const tools = toolDefinitions(offered, maxBytes);
    this.span.setAttributes({
      [attribute.input]: json,
      ...(system === undefined ? {} : { [attribute.system]: system }),
      ...(tools === undefined ? {} : { [attribute.tools]: tools }),
      ...(dropped === 0 ? {} : { [attribute.dropped]: dropped }),
    });
  }

  throttled({ attempt, kind, delayMs, retryAfterMs }: EventOf<"provider.throttled">): void {
    if (delayMs !== undefined) {
      this.#waits += 1;
      this.#waitMs += delayMs;
    }
    this.span?.addEvent(spanEvent.throttled, {
      [throttle.attempt]: attempt,
      [throttle.kind]: kind,
      ...(delayMs === undefined ? {} : { [throttle.delayMs]: delayMs }),
      ...(retryAfterMs === undefined ? {} : { [throttle.retryAfterMs]: retryAfterMs }),
    });
  }

  responded(event: EventOf<"provider.responded">, maxBytes: number | undefined): void {
    this.usage = event.usage;
    this.#isAnswered = true;
    if (this.#isTimed) this.#answeredAt = systemClock.now();
    if (event.route !== undefined) this.#showAnswerer(event.route);
    if (this.span?.isRecording() !== true) return;
    this.span.setAttribute(attribute.responseModel, event.model);
    this.span.setAttribute(attribute.finishReasons, [finishReason(event.finishReason)]);
    if (maxBytes !== undefined) this.span.setAttribute(attribute.output, outputMessages(event, maxBytes));
  }

  #showAnswerer(route: NonNullable<EventOf<"provider.responded">["route"]>): void {
    const answered = stepOfAnswer(route);
    if (answered === undefined) return;
    const { provider, model } = answered;
    this.#answeredBy = { [attribute.provider]: providerName(provider), [attribute.requestModel]: model };
    this.span?.setAttributes(this.#answeredBy);
    this.span?.updateName(`${operation.chat} ${model}`);
  }

  /** Ends the span at the time of its answer. The code and the message say why there was none. */
  end(code: string, message: string | undefined, measured: Measured | undefined, faults: Faults): void {
    const { span } = this;
    const firstMs = this.#firstAt === undefined ? undefined : this.#firstAt - this.#startedAt;
    faults.keep(() => this.#show(firstMs));
    faults.keep(() => {
      if (!this.#isAnswered) failSpan(span, code, message);
    });
    faults.keep(() => span?.end(this.#answeredAt));
    if (measured !== undefined) faults.keep(() => this.#measure(code, measured, firstMs));
  }

  #show(firstMs: number | undefined): void {
    const { span, usage } = this;
    if (span?.isRecording() !== true) return;
    if (usage !== undefined) showUsage(span, usage);
    if (this.#waits > 0) span.setAttributes({ [attribute.waits]: this.#waits, [attribute.waitMs]: this.#waitMs });
    if (firstMs !== undefined) span.setAttribute(attribute.firstChunk, firstMs / 1000);
  }

  #measure(code: string, measured: Measured, firstMs: number | undefined): void {
    const { metrics } = measured;
    const own = this.#answeredBy === undefined ? measured.of : { ...measured.of, ...this.#answeredBy };
    const of = this.#isAnswered ? own : { ...own, [attribute.errorType]: code };
    metrics.seconds(metric.inferenceSeconds, (this.#answeredAt ?? systemClock.now()) - this.#startedAt, of);
    if (firstMs !== undefined) metrics.seconds(metric.firstChunkSeconds, firstMs, of);
    if (this.usage !== undefined) metrics.usage(this.usage, of);
    metrics.add(metric.waits, this.#waits, of);
  }
}

/** Makes the span one that failed; without a message where no content may be shown. */
export function failSpan(span: Span | undefined, type: string, message: string | undefined): void {
  span?.setAttribute(attribute.errorType, type);
  span?.setStatus(message === undefined ? { code: SpanStatusCode.ERROR } : { code: SpanStatusCode.ERROR, message });
}
