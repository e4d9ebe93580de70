import type {
  ModelFailure,
  ModelProvider,
  ModelRequest,
  ModelResponse,
  Pace,
  ProviderAdapter,
  RouteStep,
  Usage,
} from "@proviso/core";
import type { OutputLimits } from "../answer-lengths.ts";
import type { TakesFiles } from "../content/contract.ts";
import type { WindowedModel } from "../context/window.ts";
import type { Environment } from "../environment.ts";
import type { Failure } from "../failures.ts";
import type { Prices } from "../prices.ts";
import type { BeginAgain, Drive, Run, Setup } from "../run.ts";
import type { RoomForTries } from "./tries-room.ts";

/** A provider that asks several models, for one evaluation. */
export interface ChainProvider extends ModelProvider, Pick<ChainMember, "atOnce"> {
  /** Asks one model after another, or several at once, within the room that there is for all of them. */
  ask(request: ModelRequest, room: RoomForTries): ChainRequest;
  /** The models that it asks: each takes files in its own way, and has a window of its own. */
  readonly takers: readonly (TakesFiles & WindowedModel)[];
}

export function isChainProvider(provider: ModelProvider): provider is ChainProvider {
  return "ask" in provider;
}

/** One request to a chain, from its first try to its end. */
export interface ChainRequest {
  readonly answer: Promise<ModelResponse | ModelFailure>;
  /** The budget that had no room for another model, where that is why the answer is a failure. */
  readonly noRoom: Failure | undefined;
  /**
   * What all tries have cost so far: those that are over, those that have lost, and an estimate of what one under way has
   * streamed. undefined: nothing.
   */
  spent(): Usage | undefined;
  /** Leaves what is under way, because another answer is used: nothing of it counts but what it has cost. */
  lose(): Lost;
}

/** A try that has lost, or all tries of a chain that has. */
export interface Lost {
  /** undefined: nothing was sent. In dollars where the price is known by now. */
  cost(): Usage | undefined;
  steps(): readonly RouteStep[];
}

/** What an adapter brings to a chain. */
export interface ChainMember {
  /** What its model can do. */
  readonly provider: ModelProvider & Pick<WindowedModel, "takers">;
  /** The provider of one evaluation: a chain keeps for each where it went. */
  providerFor(run: Run): ModelProvider;
  readonly prices: Prices;
  readonly pace: Pace | undefined;
  /** Whether it has members with paces of their own. */
  readonly isChain: boolean;
  readonly reportsCost: boolean;
  /** The limits of an answer that its model takes. */
  readonly outputLimits: OutputLimits;
  /** The most models that one request goes to at the same time. */
  readonly atOnce: number;
  /** Texts that nothing may show. */
  readonly secrets: readonly string[];
  /** Drives an agent, or a chain that has one; undefined: each request can be asked by itself. */
  readonly drive: Drive | undefined;
  /** The adapters that it is made of, itself among them. */
  readonly adapters: readonly ProviderAdapter[];
}

interface MemberSetup extends Pick<ChainMember, "prices" | "pace" | "isChain" | "reportsCost" | "outputLimits"> {
  readonly provider: Setup["provider"];
  readonly drive: Drive;
}

/** What an adapter of one model, of an agent or of a chain brings to another chain. */
export function chainMemberOf(
  adapter: ProviderAdapter,
  setup: MemberSetup,
  options: Environment,
  chain: Chain | undefined,
): ChainMember {
  const { prices, pace, isChain, reportsCost, outputLimits } = setup;
  const isAgent = !isModelProvider(setup.provider);
  const provider = isModelProvider(setup.provider) ? setup.provider : faceOf(setup.provider);
  return {
    provider,
    providerFor: chain?.providerFor ?? (() => provider),
    prices,
    pace,
    isChain,
    reportsCost,
    outputLimits,
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
  ChainMember,
  "provider" | "providerFor" | "prices" | "atOnce" | "drive" | "secrets" | "adapters"
> {
  readonly environment: Environment;
  /** undefined: its evaluations do not begin again. */
  readonly beginAgain: BeginAgain | undefined;
}
