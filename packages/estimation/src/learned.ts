import { messageOf } from "@proviso/core/internal";
import type { PricedUsage } from "./prices.ts";
import type { Quantities } from "./priors.ts";
import { distributionOf, fewestForP90, mapDistribution, type Distribution } from "./quantile.ts";
import { samplesKept, type UsageHistory, type UsageQuery, type UsageSample } from "./samples.ts";
import type { PromptSize } from "./size.ts";

/** What each sample lets expect of a prompt of this size. */
export interface ExpectedUsage extends PricedUsage {
  readonly sample: UsageSample;
}

export interface Learned {
  readonly quantities: Quantities;
  readonly expected: readonly ExpectedUsage[];
  /** How near the samples are to what is estimated; 1: the same prompt on the same model. */
  readonly weight: number;
  /** Too few for a p90 of their own: the priors' bounds it from below. */
  readonly few: boolean;
}

interface Level {
  readonly query: UsageQuery;
  readonly weight: number;
}

/**
 * Learns from the most specific level (prompt and model, model, all) that has enough samples, else from the most
 * specific level that has any. Returns undefined where there are none.
 */
export async function learnedFrom(
  history: UsageHistory | undefined,
  about: Required<UsageQuery>,
  size: PromptSize,
  priors: Quantities,
): Promise<Learned | { readonly fault: string } | undefined> {
  if (history === undefined) return undefined;
  let nearest: { readonly samples: readonly UsageSample[]; readonly weight: number } | undefined;
  for (const { query, weight } of levelsOf(about)) {
    let samples: readonly UsageSample[];
    try {
      samples = (await history.samples(query)).slice(-samplesKept);
    } catch (error) {
      return { fault: messageOf(error) };
    }
    if (samples.length > 0) nearest ??= { samples, weight };
    if (samples.length >= fewestForP90) {
      nearest = { samples, weight };
      break;
    }
  }
  return nearest && learn(nearest.samples, nearest.weight, size, priors);
}

function levelsOf({ prompt, model }: Required<UsageQuery>): readonly Level[] {
  const everything = { query: {}, weight: 0.25 };
  if (model === undefined) return [everything];
  return [{ query: { prompt, model }, weight: 1 }, { query: { model }, weight: 0.5 }, everything];
}

function learn(samples: readonly UsageSample[], weight: number, size: PromptSize, priors: Quantities): Learned {
  // What goes beside the text is known of this prompt only; of other prompts it is part of the ratio.
  const beside = weight === 1 ? size.overhead : 0;
  const expected = samples.map((sample) => {
    const scale = (size.characters + size.overhead) / (Math.max(1, sample.characters) + beside);
    return {
      sample,
      inputTokens: sample.inputTokens * scale,
      cachedInputTokens: sample.cachedInputTokens * scale,
      outputTokens: sample.outputTokens,
      turns: sample.turns,
    };
  });
  const few = samples.length < fewestForP90;
  const of = (name: keyof Quantities, count: (of: (typeof expected)[number]) => number): Distribution => {
    const { p50, p90 } = mapDistribution(distributionOf(expected.map(count)), Math.ceil);
    return { p50, p90: few ? Math.max(p90, priors[name].p90) : p90 };
  };
  const quantities: Quantities = {
    inputTokens: of("inputTokens", ({ inputTokens }) => inputTokens),
    outputTokens: of("outputTokens", ({ sample }) => sample.outputTokens),
    outputTokensPerTurn: of("outputTokensPerTurn", ({ sample }) => sample.largestOutputTokens),
    turns: of("turns", ({ sample }) => sample.turns),
    durationMs: of("durationMs", ({ sample }) => sample.durationMs),
  };
  return { quantities, expected, weight, few };
}
