import type { Clock, ProviderAdapter } from "@proviso/core";

/** What is known of an adapter before it is asked anything. */
export interface AdapterFacts {
  readonly model: string;
  readonly nativeOutput: boolean;
  /** Of one request. */
  readonly maxOutputTokens: number | undefined;
  readonly clock: Clock;
}

const facts = new WeakMap<ProviderAdapter, AdapterFacts>();

export function rememberFacts(adapter: ProviderAdapter, known: AdapterFacts): void {
  facts.set(adapter, known);
}

/** undefined for an adapter of other making. */
export function factsOf(adapter: ProviderAdapter): AdapterFacts | undefined {
  return facts.get(adapter);
}
