import type { Attributes, Tracer } from "@opentelemetry/api";
import type { Step } from "@proviso/core";
import type { Metrics } from "./metrics.ts";

/** What spans and metrics are made with. */
export interface Telemetry {
  readonly tracer: Tracer | undefined;
  readonly metrics: Metrics | undefined;
  /** undefined: no content. */
  readonly maxContentBytes: number | undefined;
  /** What the program adds to the span of a step. */
  moreFor(step: Step): MoreAttributes;
}

/** What the program's own function gave, and what it threw. */
export interface MoreAttributes {
  /** undefined: nothing. */
  readonly given: Attributes | undefined;
  readonly thrown: { readonly error: unknown } | undefined;
}
