/** How much a model reasons before it answers. */
export type ReasoningEffort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/**
 * What one evaluation wants of the model. Each setting wins over the adapter's own. Only what is set is sent. A setting
 * that the adapter does not take ends the evaluation with a ProviderError, "bad_request", before anything is sent.
 */
export interface EvaluationSettings {
  /** How freely tokens are chosen, 0 to 2. */
  readonly temperature?: number;
  /** The share of probability that tokens are chosen from, 0 to 1. */
  readonly topP?: number;
  /** Tokens of one turn's answer at most, reasoning included; a whole number, at least 1. A budget reserves it. */
  readonly maxOutputTokens?: number;
  /** Texts at which the model stops: 1 to 16, none empty. */
  readonly stop?: readonly string[];
  /** Asks for answers that can be reproduced; a whole number. */
  readonly seed?: number;
  /** How much the model reasons, and what it says of its thoughts. Left out: as the provider does by itself. */
  readonly reasoning?: ReasoningSetting;
  /** How many alternatives of each token are returned with their log probabilities, 0 to 20; 0: the token's own alone. */
  readonly logprobs?: number;
  /** The tier that serves the request, as the provider names it: "flex", "priority". */
  readonly serviceTier?: string;
  /** Whether, and how, the provider keeps the beginning of the request in its cache. Left out: it does as it does. */
  readonly cache?: CacheSetting;
  /** Options of one provider each, under the adapter's key. An adapter passes over the keys of others. */
  readonly providerOptions?: ProviderOptions;
}

/** What is asked of a model that reasons. */
export interface ReasoningSetting {
  /** How much the model reasons. Default: as the provider does by itself. */
  readonly effort?: ReasoningEffort;
  /** The length of the summary of its thoughts that the model is asked for. "none": it is not asked. Default "none". */
  readonly summary?: "auto" | "concise" | "detailed" | "none";
}

/**
 * How the provider's cache of prompts is used. "auto": marks at the end of the system text and of the last message, and
 * the prompt's name as the key. Sections that are `cached` add their marks.
 */
export type CacheSetting =
  | "auto"
  | {
      /** Requests with the same key are served by the same cache. Default: the prompt's name. */
      readonly key?: string;
      /** How long the provider keeps it at least. Left out: the provider's own default. */
      readonly ttl?: "5m" | "30m" | "1h" | "12h";
      /** Whether marks are set. Default true. */
      readonly breakpoints?: boolean;
    };

/**
 * The options of single providers. It is empty in core: the package of each adapter declares its own key, so that a key
 * or a field that no installed adapter knows does not compile.
 */
export interface ProviderOptions {}

/** A token of the answer with its log probability, a natural logarithm. */
export interface TokenLogprob {
  /** The token's text. */
  readonly token: string;
  /** The natural logarithm of its probability. */
  readonly logprob: number;
  /** The likeliest tokens at this place, as many as were asked for. */
  readonly top: readonly { readonly token: string; readonly logprob: number }[];
}
