/** What a LiteLLM proxy says a request cost, in US dollars. */
const costHeader = "x-litellm-response-cost";

/** In US dollars; undefined where it is not told, or is no number from zero up. */
export function reportedCost(headers: { get(name: string): string | null }): number | undefined {
  const cost = Number.parseFloat(headers.get(costHeader) ?? "");
  return Number.isFinite(cost) && cost >= 0 ? cost : undefined;
}
