import { DefinitionError, type Clock } from "@proviso/core";
import { checkOptionNames, isRecord, type OptionNames } from "@proviso/core/provider";
import { describeValue, messageOf } from "@proviso/core/internal";
import { testModels } from "./test-models.ts";

/** What a model's tokens cost: US dollars for a million of them. */
export interface TokenPrices {
  /** US dollars for a million input tokens. */
  readonly input: number;
  /** US dollars for a million output tokens. */
  readonly output: number;
  /** US dollars for a million input tokens that came from the provider's cache. Default: as `input`. */
  readonly cachedInput?: number | undefined;
  /** US dollars for a million input tokens that were written to the provider's cache. Default: as `input`. */
  readonly cacheWrite?: number | undefined;
  /** US dollars for a million output tokens of reasoning. Default: as `output`. */
  readonly reasoning?: number | undefined;
}

/** Tokens of one request, to be priced; fractions will do. */
export interface PricedTokens {
  readonly inputTokens: number;
  /** Input tokens that came from the provider's cache; `inputTokens` includes them. */
  readonly cachedInputTokens?: number | undefined;
  /** Input tokens that were written to the provider's cache; `inputTokens` includes them. */
  readonly cacheWriteTokens?: number | undefined;
  readonly outputTokens: number;
  /** Output tokens of reasoning; `outputTokens` includes them. */
  readonly reasoningTokens?: number | undefined;
}

/** US dollars for the tokens of a request at a moment (milliseconds since 1970), or why the price is not known. */
export type Pricing =
  | { readonly known: true; priceOf(tokens: PricedTokens, at: number): number }
  | {
      readonly known: false;
      readonly reason: string;
      /** The model whose price it is, of several. */
      readonly model?: string | undefined;
      /** Whether each model without a price reports its costs. Default false. */
      readonly isReported?: boolean | undefined;
    };

/** The prices of one model, looked up once, when they are first needed. */
export interface Prices {
  /** What `load` has returned; undefined until then. */
  current(): Pricing | undefined;
  /** Never rejects. */
  load(): Promise<Pricing>;
}

/** US dollars for the tokens of a request at the price of now; undefined where none is known by now. */
export function dollarsFor(prices: Pick<Prices, "current">, tokens: PricedTokens, clock: Clock): number | undefined {
  const pricing = prices.current();
  const costUsd = pricing?.known === true ? pricing.priceOf(tokens, clock.now()) : Number.NaN;
  return Number.isFinite(costUsd) ? costUsd : undefined;
}

const priceNames = {
  input: true,
  output: true,
  cachedInput: true,
  cacheWrite: true,
  reasoning: true,
} as const satisfies OptionNames<TokenPrices>;

/** @throws {DefinitionError} for prices that are none. */
export function checkPricing(pricing: unknown): void {
  if (pricing === undefined) return;
  const example = "{ input: 2.5, output: 15 }, US dollars for a million tokens";
  if (!isRecord(pricing)) {
    throw new DefinitionError(`The option pricing must be ${example}, not ${describeValue(pricing)}.`);
  }
  checkOptionNames("The option pricing", pricing, priceNames);
  for (const name of Object.keys(priceNames)) {
    const price = pricing[name];
    if (price === undefined && name !== "input" && name !== "output") continue;
    if (typeof price === "number" && Number.isFinite(price) && price >= 0) continue;
    throw new DefinitionError(
      `The option pricing.${name} must be a number from 0 (pricing is ${example}), not ${describeValue(price)}.`,
    );
  }
}

/**
 * Makes the prices: those that were given, else those of an optional package's catalog, by the provider's and the
 * model's name.
 */
export function pricesOf(of: {
  readonly pricing?: TokenPrices | undefined;
  readonly model: string | undefined;
  readonly provider?: string | undefined;
}): Prices {
  let current: Pricing | undefined = of.pricing === undefined ? undefined : atPrices(of.pricing);
  let loading: Promise<Pricing> | undefined;
  return {
    current: () => current,
    load: () =>
      (loading ??=
        current === undefined ? fromCatalog(of).then((found) => (current = found)) : Promise.resolve(current)),
  };
}

const perMillion = 1e-6;

function atPrices(prices: TokenPrices): Pricing & { known: true } {
  const { input, output, cachedInput = input, cacheWrite = input, reasoning = output } = prices;
  return {
    known: true,
    priceOf(tokens) {
      const { inputTokens, outputTokens } = tokens;
      // A part is no larger than the whole, whatever was reported.
      const cached = Math.min(tokens.cachedInputTokens ?? 0, inputTokens);
      const thought = Math.min(tokens.reasoningTokens ?? 0, outputTokens);
      const written = Math.min(tokens.cacheWriteTokens ?? 0, inputTokens - cached);
      const ofInput = (inputTokens - cached - written) * input + cached * cachedInput + written * cacheWrite;
      return (ofInput + (outputTokens - thought) * output + thought * reasoning) * perMillion;
    },
  };
}

const packageName = "@pydantic/genai-prices";
type Catalog = Pick<typeof import("@pydantic/genai-prices"), "calcPrice">;
type Found = NonNullable<ReturnType<Catalog["calcPrice"]>>;

let catalog: Promise<Catalog | { readonly missing: string }> | undefined;

/** `missing`: why it cannot be loaded. Bundlers pass over a package that is not installed where its import stands in a `try`. */
async function loadCatalog(): Promise<Catalog | { readonly missing: string }> {
  try {
    return await import("@pydantic/genai-prices");
  } catch (error) {
    return { missing: messageOf(error) };
  }
}

/** Never rejects. */
async function fromCatalog({
  model,
  provider,
}: {
  readonly model: string | undefined;
  readonly provider?: string | undefined;
}): Promise<Pricing> {
  if (model === undefined) return unknown("The adapter does not say its model: give the option model.");
  // No catalog has them, and a test should not wait until one is loaded. One that takes another name is looked up.
  if (Object.values<string>(testModels).includes(model))
    return unknown(`${packageName} has no price for the model "${model}".`);
  const loaded = await (catalog ??= loadCatalog());
  if ("missing" in loaded) {
    return unknown(`The package ${packageName} is needed for prices: npm install ${packageName} (${loaded.missing})`);
  }
  const { calcPrice } = loaded;
  for (const [modelId, options] of namesOf(model, provider)) {
    try {
      const found = calcPrice({ input_tokens: 1_000, output_tokens: 1_000 }, modelId, options);
      if (found === null) continue;
      // A model that is priced by minutes or images costs nothing by tokens.
      if (!["input_mtok", "output_mtok"].every((key) => found.model_price[key] !== undefined)) {
        return unknown(`${packageName} has no price by tokens for the model "${model}".`);
      }
      return listed(calcPrice, found, modelId);
    } catch (error) {
      return unknown(`${packageName} cannot price the model "${model}": ${messageOf(error)}`);
    }
  }
  return unknown(`${packageName} has no price for the model "${model}".`);
}

/**
 * Returns the names to look up: that of the model's own provider, the plain one, then the form of gateways:
 * `provider/model`.
 */
function namesOf(
  model: string,
  provider: string | undefined,
): readonly (readonly [modelId: string, { readonly providerId?: string }])[] {
  const own = provider === undefined ? [] : [[model, { providerId: provider }] as const];
  const slash = model.indexOf("/");
  const split = slash > 0 ? [[model.slice(slash + 1), { providerId: model.slice(0, slash) }] as const] : [];
  return [...own, [model, {}], ...split];
}

/** Tokens that a model takes in a request and its answer, by the catalog; undefined where it does not know. Never rejects. */
export async function catalogWindow({
  model,
  name,
}: {
  readonly model: string;
  readonly name: string;
}): Promise<number | undefined> {
  if (Object.values<string>(testModels).includes(model)) return undefined;
  const loaded = await (catalog ??= loadCatalog());
  if ("missing" in loaded) return undefined;
  const { calcPrice } = loaded;
  try {
    for (const [modelId, options] of namesOf(model, name)) {
      const window = calcPrice({ input_tokens: 1, output_tokens: 1 }, modelId, options)?.model.context_window;
      if (window !== undefined) return window;
    }
  } catch {
    // The catalog may not know the model.
  }
  return undefined;
}

/** The catalog's own arithmetic, but for requests that plain prices hold for: it takes a millisecond to look up. */
function listed(calcPrice: Catalog["calcPrice"], found: Found, modelId: string): Pricing {
  // The search is limited to a provider that has this model alone.
  const provider = { ...found.provider, models: [found.model] };
  const plain = plainPrices(found);
  return {
    known: true,
    priceOf(tokens, at) {
      const { inputTokens, outputTokens } = tokens;
      if (plain !== undefined && inputTokens + outputTokens <= plain.upTo) return plain.priceOf(tokens, at);
      const cached = Math.min(tokens.cachedInputTokens ?? 0, inputTokens);
      const usage = {
        input_tokens: inputTokens,
        cache_read_tokens: cached,
        cache_write_tokens: Math.min(tokens.cacheWriteTokens ?? 0, inputTokens - cached),
        output_tokens: outputTokens,
        output_reasoning_tokens: Math.min(tokens.reasoningTokens ?? 0, outputTokens),
      };
      return calcPrice(usage, modelId, { provider, timestamp: new Date(at) })?.total_price ?? Number.NaN;
    },
  };
}

/** undefined where prices depend on the day or the hour. */
function plainPrices({ model, model_price: prices }: Found) {
  if (Array.isArray(model.prices)) return undefined;
  let upTo = Infinity;
  const base = (key: string, otherwise: number): number => {
    const price = prices[key];
    if (price === undefined || typeof price === "number") return price ?? otherwise;
    for (const { start } of price.tiers) upTo = Math.min(upTo, start);
    return price.base;
  };
  const [input, output] = [base("input_mtok", 0), base("output_mtok", 0)];
  const cachedInput = base("cache_read_mtok", input);
  const cacheWrite = base("cache_write_mtok", input);
  const reasoning = base("output_reasoning_mtok", output);
  const { priceOf } = atPrices({ input, output, cachedInput, cacheWrite, reasoning });
  return { priceOf, upTo };
}

function unknown(reason: string): Pricing {
  return { known: false, reason };
}
