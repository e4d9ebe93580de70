import { SpanStatusCode, type Attributes, type Context, type Span } from "@opentelemetry/api";
import { systemClock, type FrameworkEvent, type Step, type Usage } from "@proviso/core";
import { inputMessages, outputMessages, systemInstructions, toolDefinitions } from "./content.ts";
import type { Metrics } from "./metrics.ts";
import { attribute, finishReason, metric, spanEvent, throttle } from "./names.ts";
import { usageAttributes } from "./usage.ts";

type EventOf<T extends FrameworkEvent["type"]> = Extract<FrameworkEvent, { type: T }>;

/** The span of a turn: all attempts of its request, and the waits between them. */
export class Chat {
  readonly turn: number;
  readonly span: Span | undefined;
  readonly inside: Context;
  /** What the span will say was spent; undefined: no answer has come. */
  usage: Usage | undefined;
  readonly #startedAt = systemClock.now();
  #firstAt: number | undefined;
  #answeredAt: number | undefined;
  #waits = 0;
  #waitMs = 0;

  constructor(turn: number, span: Span | undefined, inside: Context) {
    this.turn = turn;
    this.span = span;
    this.inside = inside;
  }

  received(): void {
    this.#firstAt ??= systemClock.now();
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
    this.#answeredAt = systemClock.now();
    if (this.span?.isRecording() !== true) return;
    this.span.setAttributes({
      [attribute.responseModel]: event.model,
      [attribute.finishReasons]: [finishReason(event.finishReason)],
    });
    if (maxBytes !== undefined) this.span.setAttribute(attribute.output, outputMessages(event, maxBytes));
  }

  /** Ends the span at the time of its answer. `failure` says why there was none. */
  end(
    failure: { readonly type: string; readonly message: string | undefined },
    metrics: Metrics | undefined,
    of: () => Attributes,
  ): void {
    const { span, usage } = this;
    const firstMs = this.#firstAt === undefined ? undefined : this.#firstAt - this.#startedAt;
    const isFailed = this.#answeredAt === undefined;
    if (span?.isRecording() === true) {
      if (usage !== undefined) span.setAttributes(usageAttributes(usage));
      if (this.#waits > 0) span.setAttributes({ [attribute.waits]: this.#waits, [attribute.waitMs]: this.#waitMs });
      if (firstMs !== undefined) span.setAttribute(attribute.firstChunk, firstMs / 1000);
    }
    if (isFailed) failSpan(span, failure.type, failure.message);
    span?.end(this.#answeredAt);
    if (metrics === undefined) return;
    const dimensions = isFailed ? { ...of(), [attribute.errorType]: failure.type } : of();
    metrics.seconds(metric.inferenceSeconds, (this.#answeredAt ?? systemClock.now()) - this.#startedAt, dimensions);
    if (firstMs !== undefined) metrics.seconds(metric.firstChunkSeconds, firstMs, dimensions);
    if (usage !== undefined) metrics.usage(usage, dimensions);
    metrics.add(metric.waits, this.#waits, dimensions);
  }
}

/** Makes the span one that failed; without a message where no content may be shown. */
export function failSpan(span: Span | undefined, type: string, message: string | undefined): void {
  span?.setAttribute(attribute.errorType, type);
  span?.setStatus(message === undefined ? { code: SpanStatusCode.ERROR } : { code: SpanStatusCode.ERROR, message });
}
