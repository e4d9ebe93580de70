import type { Attributes, Context, Span } from "@opentelemetry/api";
import { systemClock, type CallChanges } from "@proviso/core";
import { failSpan } from "./chat.ts";
import type { Faults } from "./faults.ts";
import type { Metrics } from "./metrics.ts";
import { attribute, metric, spanEvent } from "./names.ts";

/** What became of a call. */
type Outcome = "committed" | "undone" | "suspended" | "not_run";

/** The span of a call. */
export class Call {
  readonly span: Span | undefined;
  readonly inside: Context;
  /** Whether the event of a success came, which a veto may follow. */
  succeeded = false;
  readonly #name: string;
  readonly #metrics: Metrics | undefined;
  readonly #startedAt: number;
  /** The changes that were undone; a call that did not run has none, though its policy may have looked at the state. */
  #undone: { readonly attributes: Attributes; readonly at: number } | undefined;

  constructor(name: string, span: Span | undefined, inside: Context, metrics: Metrics | undefined) {
    this.span = span;
    this.inside = inside;
    this.#name = name;
    this.#metrics = metrics;
    this.#startedAt = metrics === undefined ? Number.NaN : systemClock.now();
  }

  undoes({ slices, touched }: CallChanges): void {
    if (this.span?.isRecording() !== true) return;
    const attributes = {
      [attribute.slices]: slices().flatMap(({ name, kind }) => (kind === "state" ? [name] : [])),
      [attribute.resources]: touched().map(({ name }) => name),
    };
    this.#undone = { attributes, at: systemClock.now() };
  }

  /** Ends the span. `of` are the dimensions of a call that did not fail, or did. */
  end(outcome: Outcome, message: string | undefined, of: (errorType?: string) => Attributes, faults: Faults): void {
    const { span } = this;
    const errorType = outcome === "committed" || outcome === "suspended" ? undefined : "tool_error";
    faults.keep(() => {
      if (this.#undone !== undefined && outcome === "undone")
        span?.addEvent(spanEvent.undone, this.#undone.attributes, this.#undone.at);
    });
    faults.keep(() => {
      span?.setAttribute(attribute.outcome, outcome);
      if (errorType !== undefined) failSpan(span, errorType, message);
    });
    faults.keep(() => span?.end());
    const metrics = this.#metrics;
    if (metrics === undefined) return;
    faults.keep(() => {
      const dimensions = { ...of(errorType), [attribute.tool]: this.#name };
      metrics.seconds(metric.toolSeconds, systemClock.now() - this.#startedAt, dimensions);
      if (outcome === "undone") metrics.add(metric.undone, 1, dimensions);
    });
  }
}
