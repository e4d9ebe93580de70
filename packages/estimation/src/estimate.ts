import { DefinitionError, systemClock, type Message, type Prompt, type ProviderAdapter } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { internalsOf, pricesOf } from "@proviso/runtime/internal";
import { costFromPriors, costFromSamples, type CostEstimate } from "./cost.ts";
import { learnedFrom, type Learned } from "./learned.ts";
import { perEvaluation } from "./prices.ts";
import { priorQuantities, type Quantities } from "./priors.ts";
import type { UsageHistory } from "./samples.ts";
import { sizeOf, type PromptSize, type Unrendered } from "./size.ts";

/** What `estimate` goes by. */
export interface EstimateOptions {
  /** The one that would evaluate the prompt; nothing is asked of it. */
  readonly adapter: ProviderAdapter;
  /** What evaluations have spent: `usageStatistics(…)` or a store. Left out: priors. */
  readonly history?: UsageHistory | undefined;
  /** The model to estimate for. Default: the adapter's own. */
  readonly model?: string | undefined;
  /** Earlier turns of a conversation, as they would be given to `evaluate`. */
  readonly messages?: readonly Message[] | undefined;
}

/** What one evaluation will spend. Fractions of tokens are rounded up. */
export interface Estimate extends Quantities {
  /** US dollars, where the price is known. */
  readonly costUsd: CostEstimate;
  /**
   * How much the estimate can be trusted, from 0 to 1: 0.05 from priors, else 0.05 + 0.95 · w · n / (n + 20) for n
   * samples, where w is 1 for samples of this prompt on this model, 0.5 for those of the model, 0.25 for any.
   */
  readonly confidence: number;
  /** Whether it comes from the priors alone or from history. */
  readonly basis: "priors" | "history";
  /** How many evaluations it rests on. */
  readonly samples: number;
  /** Why the history could not be read, or the prompt not rendered. */
  readonly fault?: string;
}

const estimateNames = { adapter: true, history: true, model: true, messages: true };
const priorConfidence = 0.05;

/**
 * What evaluating a prompt will probably spend: free of side effects, no request, no event, nothing written. It
 * answers for every prompt: without history from priors, with little confidence; when the prompt cannot be rendered
 * nothing would be sent, so nothing is spent.
 * @example
 * ```ts
 * import { definePrompt } from "@proviso/core";
 * import { estimate } from "@proviso/estimation";
 * import { modelAdapter } from "@proviso/runtime";
 * import { scriptedModel } from "@proviso/runtime/testing";
 *
 * const prompt = definePrompt({ key: "greet", text: "Say hello." }).bind();
 * const { basis, turns } = await estimate(prompt, { adapter: modelAdapter(scriptedModel([])) });
 * console.log(basis, turns.p50); // priors 1
 * ```
 * @throws {DefinitionError} for an argument that is no bound prompt, adapter, history or conversation.
 */
export async function estimate(prompt: Prompt, options: EstimateOptions): Promise<Estimate> {
  checkArguments(prompt, options);
  checkOptionNames("estimate", options, estimateNames);
  const facts = internalsOf(options.adapter)?.facts;
  const model = options.model ?? facts?.model;
  const size = sizeOf(prompt, facts, options.messages);
  if (isUnrendered(size)) return nothingSpent(size);
  const prices = facts !== undefined && model === facts.model ? facts.prices : pricesOf({ model });
  const pricing = perEvaluation(await prices.load(), (facts?.clock ?? systemClock).now());
  const priors = priorQuantities(size, facts?.maxOutputTokens);
  const { ns, key } = prompt.template;
  const learned = await learnedFrom(options.history, { prompt: `${ns}/${key}`, model }, size, priors);
  if (isFault(learned))
    return { ...fromPriors(priors), costUsd: costFromPriors(priors, pricing), fault: learned.fault };
  if (learned === undefined) return { ...fromPriors(priors), costUsd: costFromPriors(priors, pricing) };
  return fromHistory(learned, costFromSamples(learned, priors, model, pricing));
}

function fromPriors(priors: Quantities): Omit<Estimate, "costUsd"> {
  return { ...priors, confidence: priorConfidence, basis: "priors", samples: 0 };
}

function fromHistory({ quantities, expected, weight }: Learned, costUsd: CostEstimate): Estimate {
  const samples = expected.length;
  const confidence = priorConfidence + (1 - priorConfidence) * weight * (samples / (samples + 20));
  return { ...quantities, costUsd, confidence, basis: "history", samples };
}

function nothingSpent({ fault }: Unrendered): Estimate {
  const none = { p50: 0, p90: 0 };
  return {
    inputTokens: none,
    outputTokens: none,
    outputTokensPerTurn: none,
    turns: none,
    durationMs: none,
    costUsd: { known: false, reason: `No request would be sent: ${fault}` },
    confidence: priorConfidence,
    basis: "priors",
    samples: 0,
    fault,
  };
}

function isUnrendered(size: PromptSize | Unrendered): size is Unrendered {
  return "fault" in size;
}

function isFault(learned: Learned | { readonly fault: string } | undefined): learned is { readonly fault: string } {
  return learned !== undefined && "fault" in learned;
}

function checkArguments(prompt: Prompt, options: EstimateOptions): void {
  const given: { readonly [K in keyof EstimateOptions]?: unknown } = options ?? {};
  const { adapter, history, model } = given;
  if (typeof (prompt as Partial<Prompt> | undefined)?.render !== "function")
    throw new DefinitionError("estimate takes a bound prompt: template.bind(params).");
  if (typeof (adapter as Partial<ProviderAdapter> | undefined)?.evaluate !== "function")
    throw new DefinitionError("estimate needs the option adapter: the one that would evaluate the prompt.");
  if (history !== undefined && typeof (history as Partial<UsageHistory> | null)?.samples !== "function")
    throw new DefinitionError("The option history must be usageStatistics(…) or a store of samples.");
  if (model !== undefined && (typeof model !== "string" || model === ""))
    throw new DefinitionError("The option model must be a model's name.");
}
