import type { Pricing } from "@proviso/runtime/internal";

/** Tokens of one evaluation, to be priced. */
export interface PricedUsage {
  readonly inputTokens: number;
  /** Input tokens that came from the provider's cache; `inputTokens` includes them. */
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly turns: number;
}

/** US dollars for an evaluation, or why the price is not known. */
export type EvaluationPricing =
  | { readonly known: true; priceOf(usage: PricedUsage): number }
  | { readonly known: false; readonly reason: string };

/** A price can depend on a request's size, so each turn is priced, as if all were alike. `at`: milliseconds since 1970. */
export function perEvaluation(pricing: Pricing, at: number): EvaluationPricing {
  if (!pricing.known) return pricing;
  return {
    known: true,
    priceOf({ inputTokens, cachedInputTokens, outputTokens, turns }) {
      const parts = Math.max(1, turns);
      const turn = {
        inputTokens: inputTokens / parts,
        cachedInputTokens: cachedInputTokens / parts,
        outputTokens: outputTokens / parts,
      };
      return pricing.priceOf(turn, at) * parts;
    },
  };
}
