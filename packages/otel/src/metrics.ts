import type { Attributes, Counter, Histogram, Meter } from "@opentelemetry/api";
import type { Usage } from "@proviso/core";
import { metric } from "./names.ts";

/** The instruments of one meter. */
export class Metrics {
  readonly #meter: Meter;
  readonly #made = new Map<string, Histogram | Counter>();

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  seconds(name: string, ms: number, of: Attributes): void {
    this.#histogram(name, "s").record(Math.max(0, ms) / 1000, of);
  }
  count(name: string, value: number, of: Attributes): void {
    this.#histogram(name, "1").record(value, of);
  }
  add(name: string, value: number, of: Attributes, unit = "1"): void {
    if (value <= 0) return;
    const made = (this.#made.get(name) ?? this.#meter.createCounter(name, { unit })) as Counter;
    this.#made.set(name, made);
    made.add(value, of);
  }
  usage(usage: Usage, of: Attributes): void {
    this.add(metric.inputTokens, usage.inputTokens, of, "{token}");
    this.add(metric.outputTokens, usage.outputTokens, of, "{token}");
    this.add(metric.cachedTokens, usage.cachedInputTokens, of, "{token}");
    this.add(metric.cacheWriteTokens, usage.cacheWriteTokens, of, "{token}");
    this.add(metric.reasoningTokens, usage.reasoningTokens, of, "{token}");
    this.add(metric.cost, usage.costUsd ?? 0, of, "{USD}");
  }

  #histogram(name: string, unit: string): Histogram {
    const made = (this.#made.get(name) ?? this.#meter.createHistogram(name, { unit })) as Histogram;
    this.#made.set(name, made);
    return made;
  }
}
