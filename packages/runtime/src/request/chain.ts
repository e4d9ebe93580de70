import type { ModelProvider, Pace, ProviderAdapter, Usage } from "@proviso/core";
import type { TakesFiles } from "../content/contract.ts";
import type { Environment } from "../environment.ts";
import type { Prices } from "../prices.ts";
import type { BeginAgain, Drive, Run, Setup } from "../run.ts";

/** A provider that asks several models, for one evaluation. */
export interface ChainProvider extends ModelProvider, Pick<Asked, "atOnce"> {
  /** What the tries of the request under way that are over have cost; undefined: nothing. */
  triesCost(): Usage | undefined;
  /** The models that it asks: each takes files in its own way. */
  readonly takers: readonly TakesFiles[];
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
  /** Drives an agent, or a chain that has one; undefined: each request can be asked by itself. */
  readonly drive: Drive | undefined;
  /** The adapters that it is made of, itself among them. */
  readonly adapters: readonly ProviderAdapter[];
}

interface AskedSetup extends Pick<Asked, "prices" | "pace" | "isChain" | "reportsCost"> {
  readonly provider: Setup["provider"];
  readonly drive: Drive;
}

/** What an adapter of one model, of an agent or of a chain brings to another chain. */
export function askedOf(
  adapter: ProviderAdapter,
  setup: AskedSetup,
  options: Environment,
  chain: Chain | undefined,
): Asked {
  const { prices, pace, isChain, reportsCost } = setup;
  const isAgent = !isModelProvider(setup.provider);
  const provider = isModelProvider(setup.provider) ? setup.provider : faceOf(setup.provider);
  return {
    provider,
    providerFor: chain?.providerFor ?? (() => provider),
    prices,
    pace,
    isChain,
    reportsCost,
    atOnce: chain?.atOnce ?? 1,
    drive: isAgent ? setup.drive : chain?.drive,
    secrets: options.secrets ?? [],
    adapters: [adapter, ...(chain?.adapters ?? [])],
  };
}

/** What an agent can do, as a chain asks for it. */
function faceOf({ name, model, capabilities }: Setup["provider"]): ModelProvider {
  return {
    name,
    model,
    capabilities: { ...capabilities, tools: true, nativeOutput: false },
    generate: () => Promise.reject(new Error(`${name} is an agent: it is asked for a whole evaluation.`)),
  };
}

function isModelProvider(provider: object): provider is ModelProvider {
  return "generate" in provider;
}

/** Several adapters as one. */
export interface Chain extends Pick<
  Asked,
  "provider" | "providerFor" | "prices" | "atOnce" | "drive" | "secrets" | "adapters"
> {
  readonly environment: Environment;
  /** undefined: its evaluations do not begin again. */
  readonly beginAgain: BeginAgain | undefined;
}
