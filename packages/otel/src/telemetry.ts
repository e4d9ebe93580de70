import type { Attributes, Tracer } from "@opentelemetry/api";
import type { Step } from "@proviso/core";
import type { Metrics } from "./metrics.ts";

/** What spans and metrics are made with. */
export interface Telemetry {
  readonly tracer: Tracer | undefined;
  readonly metrics: Metrics | undefined;
  /** undefined: no content. */
  readonly maxContentBytes: number | undefined;
  /** What the program adds to the span of a step; undefined: nothing. It throws what the program's function throws. */
  moreFor(step: Step): Attributes | undefined;
}
