import { DefinitionError, type ProviderAdapter, type ThrottlePolicy, type ToolChoice } from "@proviso/core";
import type { OptionNames } from "@proviso/core/provider";
import { describeValue, messageOf } from "@proviso/core/internal";
import { environmentNames, resolveEnvironment, type Environment } from "./environment.ts";
import { checkToolChoice } from "./evaluate-options.ts";
import { checkPricing, type TokenPrices } from "./prices.ts";
import type { RunJournal } from "./recording/run-journal.ts";
import { throttlePolicy } from "./request/policy.ts";

/** The last part of every adapter's options. */
export interface AdapterOptions extends Environment {
  /** How refusals are retried. What is left out has its default. */
  readonly throttle?: Partial<ThrottlePolicy> | undefined;
  /** The default; an evaluation's own wins. */
  readonly toolChoice?: ToolChoice | undefined;
  /**
   * What the model's tokens cost: US dollars for a million of them. Left out: what `@pydantic/genai-prices` says, where
   * that is installed. A cost that the provider reports itself counts before both.
   */
  readonly pricing?: TokenPrices | undefined;
  /**
   * Keeps each evaluation that is given no `run` as a run of its own; `response.run` has its id, and so has a RunError.
   * What a tool call evaluates by its context is part of the run around it. Of several adapters, as in `fallback`, the first
   * one's counts. Default: only what is given a `run` is kept.
   */
  readonly journal?: RunJournal | undefined;
}

/**
 * Validates adapter options without making an adapter.
 * @throws {DefinitionError} for a throttle policy or a tool choice that cannot be, or an empty secret.
 */
export function checkAdapterOptions(options: AdapterOptions): void {
  resolveEnvironment(options);
  throttlePolicy(options.throttle);
  checkToolChoice(options.toolChoice);
  checkPricing(options.pricing);
  checkJournal(options.journal);
}

/** @throws {DefinitionError} for what makes no runs. */
export function checkJournal(journal: unknown): void {
  if (journal === undefined || typeof (journal as RunJournal | null)?.run === "function") return;
  throw new DefinitionError(
    `The option journal must be a journal of "@proviso/journal", not ${describeValue(journal)}.`,
  );
}

/** What `checkOptions` answers with. */
export type OptionsCheck =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** What the adapter would have refused, as its DefinitionError words it. */
      readonly reason: string;
    };

/**
 * Whether an adapter can be made with these options, and if not, why: `checkOptions(openai, { model: "gpt-5.4" })`. It
 * makes the adapter and throws it away. It never throws, whatever it is given, and sends no request.
 */
export function checkOptions<Options>(
  adapter: (options: Options) => ProviderAdapter,
  options: NoInfer<Options>,
): OptionsCheck {
  try {
    adapter(options);
    return { ok: true };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}

/** The names of AdapterOptions, to check the names of options that include them. */
export const adapterOptionNames = {
  throttle: true,
  toolChoice: true,
  pricing: true,
  journal: true,
  ...environmentNames,
} as const satisfies OptionNames<AdapterOptions>;

/** The options that all adapters share. */
export function adapterOptionsOf(options: AdapterOptions): AdapterOptions {
  const { throttle, toolChoice, pricing, journal, clock, random, newId, logger, observers, secrets } = options;
  return { throttle, toolChoice, pricing, journal, clock, random, newId, logger, observers, secrets };
}
