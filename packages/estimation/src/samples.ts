/** What one evaluation spent, taken from its events. Names and numbers only: no text of a prompt or an answer. */
export interface UsageSample {
  /** `ns/key`. */
  readonly prompt: string;
  /** The one that was asked. */
  readonly model: string;
  /** UTF-16 units of the rendered prompt; at least 1. */
  readonly characters: number;
  /** Input tokens of all turns, as `Usage` counts them. */
  readonly inputTokens: number;
  /** Input tokens that the provider read from its cache. */
  readonly cachedInputTokens: number;
  /** Tokens of the answers, with those of reasoning. */
  readonly outputTokens: number;
  /** Output tokens of the turn with the most. */
  readonly largestOutputTokens: number;
  /** Answers of the model. */
  readonly turns: number;
  /** Milliseconds. */
  readonly durationMs: number;
  /** US dollars; left out where the provider reports none. */
  readonly costUsd?: number | undefined;
}

/** What is left out matches everything. */
export interface UsageQuery {
  /** Only samples of this prompt. Default: of every prompt. */
  readonly prompt?: string | undefined;
  /** Only samples of this model. Default: of every model. */
  readonly model?: string | undefined;
}

/** What `estimate` reads; it never writes. */
export interface UsageHistory {
  /** The newest that match, at most 512 (`samplesKept`), in any order. */
  samples(query: UsageQuery): readonly UsageSample[] | Promise<readonly UsageSample[]>;
}

/** Where samples are kept. */
export interface UsageStore extends UsageHistory {
  /** Kept when this returns; throws when it cannot be. */
  record(sample: UsageSample): void;
}

/** Samples that count for one prompt and model, the newest; the memory and work of an estimate are bounded by it. */
export const samplesKept = 512;
