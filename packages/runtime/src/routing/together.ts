// Several adapters as one: what all of them can do, and the adapter that is made of them.
import {
  DefinitionError,
  type FileRef,
  type FileSupport,
  type ModelProvider,
  type ProviderAdapter,
} from "@proviso/core";
import { contentHash, describeValue } from "@proviso/core/internal";
import type { ModelCapabilities } from "@proviso/core/provider";
import { tokensOfFile } from "../tokens.ts";
import type { Environment } from "../environment.ts";
import { internalsOf } from "../nested/adapter-internals.ts";
import type { Prices, Pricing } from "../prices.ts";
import type { ChainMember, Chain, ChainProvider } from "../request/chain.ts";
import { unlimitedTries } from "../request/tries-room.ts";
import { refusedSetting } from "../evaluate-options.ts";
import type { Run } from "../run.ts";

/**
 * What the adapters bring to a chain.
 * @throws {DefinitionError} for none, one that modelAdapter did not make, one that is there twice, and for an agent where
 * agents cannot be.
 */
export function checkMembers(
  what: string,
  adapters: readonly ProviderAdapter[],
  { agents }: { readonly agents: boolean },
): readonly ChainMember[] {
  if (!Array.isArray(adapters) || adapters.length === 0) {
    throw new DefinitionError(`${what} needs a list of at least one adapter, not ${describeValue(adapters)}.`);
  }
  const seen = new Set<ProviderAdapter>();
  return adapters.map((adapter: ProviderAdapter) => {
    const asked = internalsOf(adapter)?.asked;
    const isAgent = asked?.drive !== undefined;
    if (asked === undefined || (isAgent && !agents)) {
      const why = isAgent ? " An agent asks its model itself, and its tools would run twice." : "";
      throw new DefinitionError(
        `${what} needs adapters that modelAdapter made, openai(…) for example: not ${describeValue(adapter)}.${why}`,
      );
    }
    if (asked.isChain && asked.drive !== undefined) {
      throw new DefinitionError(`${what}: the chain "${adapter.name}" has agents: give them to ${what} itself.`);
    }
    for (const one of asked.adapters) {
      if (seen.has(one)) throw new DefinitionError(`${what}: the adapter "${one.name}" is in the chain twice.`);
      seen.add(one);
    }
    return asked;
  });
}

/** What a chain does for one evaluation. */
export type Ask = Pick<ChainProvider, "ask">;

/** What an adapter is made of. */
export interface Together extends Pick<ChainMember, "atOnce">, Partial<Pick<Chain, "drive" | "beginAgain">> {
  readonly adapters: readonly ProviderAdapter[];
  readonly members: readonly ChainMember[];
}

/** An adapter of adapters that were checked; the first one's policy holds for all. */
export function adapterOf(
  kind: string,
  { adapters, members, atOnce, drive, beginAgain }: Together,
  environment: Environment,
  askerOf: (run: Run) => Ask,
): ProviderAdapter {
  const [first] = adapters as readonly [ProviderAdapter];
  const leader = internalsOf(first);
  const facts = factsOf(kind, members);
  const provider: ChainMember["provider"] = {
    ...facts,
    generate: () => Promise.reject(new Error(`${facts.name} is asked by an evaluation alone.`)),
  };
  const made = leader?.leads({
    provider,
    providerFor: keptByRun((run): ChainProvider => {
      const asker = askerOf(run);
      return {
        ...facts,
        atOnce,
        ask: (request, room) => asker.ask(request, room),
        generate: (request) => asker.ask(request, unlimitedTries).answer,
      };
    }),
    atOnce,
    drive,
    beginAgain,
    prices: dearest(members),
    secrets: [...members.flatMap(({ secrets }) => secrets), ...(environment.secrets ?? [])],
    adapters: members.flatMap((member) => member.adapters),
    environment,
  });
  return made as ProviderAdapter;
}

/** Makes a value once for each evaluation, which keeps it. A WeakMap in its place costs the collector more than all else. */
export function keptByRun<T extends object>(make: (run: Run) => T): (run: Run) => T {
  return (run) => {
    const kept = (run.chains ??= new Map<object, unknown>());
    let own = kept.get(make) as T | undefined;
    if (own === undefined) kept.set(make, (own = make(run)));
    return own;
  };
}

function factsOf(
  kind: string,
  members: readonly ChainMember[],
): Omit<ModelProvider, "generate"> & Pick<ChainProvider, "takers"> {
  const providers = members.map(({ provider }) => provider);
  return {
    name: `${kind}(${providers.map(({ name }) => name).join(", ")})`,
    model: (providers[0] as ModelProvider).model,
    settingsHash: contentHash(providers.map(({ name, model, settingsHash = "" }) => [name, model, settingsHash])),
    maxOutputTokens: known(
      providers.map(({ maxOutputTokens }) => maxOutputTokens),
      Math.max,
    ),
    capabilities: capabilitiesOf(members),
    takers: providers,
  };
}

/** undefined where one of them is. */
function known(numbers: readonly (number | undefined)[], of: (...all: number[]) => number): number | undefined {
  const all = numbers.filter((number) => number !== undefined);
  return all.length === numbers.length ? of(...all) : undefined;
}

/** Files: what one of them takes, for the others are passed over then. It bounds their tokens for all of them. */
function filesOf(all: readonly ModelCapabilities[]): FileSupport | undefined {
  const supports = all.flatMap(({ files }) => files ?? []);
  if (supports.length === 0) return undefined;
  return Object.freeze({
    types: [...new Set(supports.flatMap(({ types }) => types))],
    from: [...new Set(supports.flatMap(({ from }) => from))],
    tokensOf: (file: FileRef) =>
      Math.max(...supports.map((one) => tokensOfFile(file, (given) => one.tokensOf?.(given)))),
  });
}

/**
 * Tools, native output and limits of an answer: what all can. Settings and files: what one can, for it alone is asked
 * then.
 */
function capabilitiesOf(members: readonly ChainMember[]): ModelCapabilities {
  const all = members.map(({ provider }) => provider.capabilities);
  const least = known(
    all.map(({ outputLimit }) => outputLimit?.least),
    Math.max,
  );
  return {
    tools: all.every(({ tools }) => tools),
    nativeOutput: all.every(({ nativeOutput }) => nativeOutput),
    outputLimit: least === undefined ? undefined : { least },
    files: filesOf(all),
    reportsCost: members.every(({ reportsCost }) => reportsCost),
    settings: [...new Set(all.flatMap(({ settings = [] }) => settings))],
    refusesSetting(settings) {
      const refusals = members.map(({ provider }) => refusedSetting(provider, settings)?.message);
      if (refusals.includes(undefined)) return undefined;
      const { settings: taken = [], refusesSetting } = all[0] as ModelCapabilities;
      const names = Object.keys(settings) as (keyof typeof settings)[];
      const unknown = names.find((name) => name !== "providerOptions" && !taken.includes(name));
      const setting = unknown ?? refusesSetting?.(settings)?.setting ?? (names[0] as keyof typeof settings);
      return { setting, why: refusals.join(" ") };
    },
  };
}

/** The highest price of a request at any of the models; unknown where the price of one is. */
function dearest(members: readonly ChainMember[]): Prices {
  let current: Pricing | undefined;
  const load = async (): Promise<Pricing> => {
    const all = await Promise.all(members.map(({ prices }) => prices.load()));
    return unknownOf(members, all) ?? dearestOf(all);
  };
  return { current: () => current, load: async () => (current ??= await load()) };
}

/** One without a price, where one has none: first of all one that does not report its costs either. */
function unknownOf(members: readonly ChainMember[], all: readonly Pricing[]): Pricing | undefined {
  const unknown = members.flatMap(({ provider, reportsCost }, index) => {
    const pricing = all[index];
    if (pricing === undefined || pricing.known) return [];
    const { model = provider.model, isReported = reportsCost } = pricing;
    return [{ ...pricing, model, isReported }];
  });
  return unknown.find(({ isReported }) => !isReported) ?? unknown[0];
}

function dearestOf(all: readonly Pricing[]): Pricing {
  return {
    known: true,
    priceOf: (tokens, at) => Math.max(...all.map((pricing) => (pricing.known ? pricing.priceOf(tokens, at) : 0))),
  };
}
