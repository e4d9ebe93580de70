import { messageOf } from "../failures.ts";

/** Tokens of one evaluation, to be priced. */
export interface PricedUsage {
  readonly inputTokens: number;
  /** Of the input. */
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly turns: number;
}

/** US dollars for a usage, or why nobody knows. */
export type Pricing =
  | { readonly known: true; priceOf(usage: PricedUsage): number }
  | { readonly known: false; readonly reason: string };

const packageName = "@pydantic/genai-prices";
type Package = typeof import("@pydantic/genai-prices");

/** The prices of a model on that day, from the optional package. */
export async function pricingOf(model: string | undefined, at: Date): Promise<Pricing> {
  if (model === undefined) return unknown("The adapter does not say its model: give the option model.");
  let calcPrice: Package["calcPrice"];
  try {
    ({ calcPrice } = await import("@pydantic/genai-prices"));
  } catch (error) {
    return unknown(`The package ${packageName} is needed for prices: npm install ${packageName} (${messageOf(error)})`);
  }
  for (const [modelId, options] of namesOf(model)) {
    const price = (usage: Parameters<typeof calcPrice>[0]): ReturnType<typeof calcPrice> =>
      calcPrice(usage, modelId, { timestamp: at, ...options });
    try {
      const found = price({ input_tokens: 1_000, output_tokens: 1_000 });
      if (found === null) continue;
      // A model that is priced by minutes or images costs nothing by tokens.
      if (!["input_mtok", "output_mtok"].every((key) => found.model_price[key] !== undefined)) {
        return unknown(`${packageName} has no price by tokens for the model "${model}".`);
      }
      return { known: true, priceOf: (usage) => perTurn(usage, (turn) => price(turn)?.total_price ?? Number.NaN) };
    } catch (error) {
      return unknown(`${packageName} cannot price the model "${model}": ${messageOf(error)}`);
    }
  }
  return unknown(`${packageName} has no price for the model "${model}".`);
}

/** As it is, then as gateways write it: `provider/model`. */
function namesOf(model: string): readonly (readonly [modelId: string, { readonly providerId?: string }])[] {
  const slash = model.indexOf("/");
  const split = [model.slice(slash + 1), { providerId: model.slice(0, slash) }] as const;
  return slash > 0 ? [[model, {}], split] : [[model, {}]];
}

/** A price can depend on a request's size, so each turn is priced, as if all were alike. */
function perTurn(
  { inputTokens, cachedInputTokens, outputTokens, turns }: PricedUsage,
  price: (turn: { input_tokens: number; cache_read_tokens: number; output_tokens: number }) => number,
): number {
  const parts = Math.max(1, turns);
  const cached = Math.min(cachedInputTokens, inputTokens);
  const turn = {
    input_tokens: inputTokens / parts,
    cache_read_tokens: cached / parts,
    output_tokens: outputTokens / parts,
  };
  return price(turn) * parts;
}

function unknown(reason: string): Pricing {
  return { known: false, reason };
}
