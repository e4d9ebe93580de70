import { isRecord } from "@proviso/core/provider";

/** The header in which a LiteLLM proxy reports what a request cost, in US dollars. */
const costHeader = "x-litellm-response-cost";

/** Reads the cost in US dollars from the headers; undefined where it is missing or is not a number from zero up. */
export function reportedCost(headers: { get(name: string): string | null }): number | undefined {
  return dollars(Number.parseFloat(headers.get(costHeader) ?? ""));
}

/**
 * The `cost` in a service's own words of its usage: a LiteLLM proxy's, in a stream, where its setting
 * `include_cost_in_streaming_usage` is on; or that of OpenRouter.
 */
export function costInUsage(usage: unknown): number | undefined {
  return isRecord(usage) ? dollars(usage["cost"]) : undefined;
}

function dollars(cost: unknown): number | undefined {
  return typeof cost === "number" && Number.isFinite(cost) && cost >= 0 ? cost : undefined;
}
