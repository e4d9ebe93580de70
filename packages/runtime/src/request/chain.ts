import type { ModelProvider, Pace, ProviderAdapter, Usage } from "@proviso/core";
import type { Environment } from "../environment.ts";
import type { Prices } from "../prices.ts";
import type { Run } from "../run.ts";

/** A provider that asks several models, for one evaluation. */
export interface ChainProvider extends ModelProvider, Pick<Asked, "atOnce"> {
  /** What the tries of the request under way that are over have cost; undefined: nothing. */
  triesCost(): Usage | undefined;
}

export function isChainProvider(provider: ModelProvider): provider is ChainProvider {
  return "triesCost" in provider;
}

/** What an adapter brings to a chain. */
export interface Asked {
  /** What its model can do. */
  readonly provider: ModelProvider;
  /** The provider of one evaluation: a chain keeps for each where it went. */
  providerFor(run: Run): ModelProvider;
  readonly prices: Prices;
  readonly pace: Pace | undefined;
  /** Whether it has members with paces of their own. */
  readonly isChain: boolean;
  readonly reportsCost: boolean;
  /** The most models that one request goes to at the same time. */
  readonly atOnce: number;
  /** Texts that nothing may show. */
  readonly secrets: readonly string[];
  /** The adapters that it is made of, itself among them. */
  readonly adapters: readonly ProviderAdapter[];
}

/** What an adapter of one model, or of a chain, brings to another chain. */
export function askedOf(
  adapter: ProviderAdapter,
  setup: Pick<Asked, "provider" | "prices" | "pace" | "isChain" | "reportsCost">,
  options: Environment,
  chain: Chain | undefined,
): Asked {
  const { provider, prices, pace, isChain, reportsCost } = setup;
  return {
    provider,
    providerFor: chain?.providerFor ?? (() => provider),
    prices,
    pace,
    isChain,
    reportsCost,
    atOnce: chain?.atOnce ?? 1,
    secrets: options.secrets ?? [],
    adapters: [adapter, ...(chain?.adapters ?? [])],
  };
}

export function isModelProvider(provider: object): provider is ModelProvider {
  return "generate" in provider;
}

/** Several adapters as one. */
export interface Chain extends Pick<Asked, "provider" | "providerFor" | "prices" | "atOnce" | "secrets" | "adapters"> {
  readonly environment: Environment;
}
