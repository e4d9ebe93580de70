import type { PromptTemplate } from "../prompt/template.ts";
import type { ProviderAdapter } from "./adapter.ts";

/**
 * How a history is kept inside the model's window. Shares are of the room for input: the window without what one answer
 * may take.
 */
export interface ContextPolicy {
  /**
   * Tokens of input and output together, at least 1. Default: the model's own, where its adapter or
   * `@pydantic/genai-prices` knows it; where neither does, the evaluation ends with a PromptRenderError.
   */
  readonly window?: number | undefined;
  /** The history is shortened when the next request would pass this share. Above 0, at most 1. Default 0.8. */
  readonly compactAt?: number | undefined;
  /**
   * The history is shortened down to this share, so that it is not shortened again soon and the provider's cache of
   * prompts holds. Above 0, less than `compactAt`. Default 0.5, or five eighths of `compactAt` where that is less.
   */
  readonly compactTo?: number | undefined;
  /** The newest turns that stay as they are as long as they fit, a whole number from 0. Default 4. */
  readonly keepTurns?: number | undefined;
  /**
   * UTF-16 units of a tool's text that the model sees at once, at least 200. The rest is stored, and the model reads it
   * with `read_result`. Default 65,536.
   */
  readonly toolResultCharacters?: number | undefined;
  /** How turns that give way are summarised. Default: they are only counted in a note. */
  readonly summary?: SummaryPolicy | undefined;
}

/** How the oldest turns of a history are summarised. The summary is an evaluation inside the same limits and budget. */
export interface SummaryPolicy {
  /** The adapter that writes the summary, made by `modelAdapter` or `agentAdapter`. Default: that of the evaluation. */
  readonly adapter?: ProviderAdapter | undefined;
  /**
   * The prompt of the summary. `conversation` is the text of the turns; `earlier` is the summary before this one, or
   * empty. Default: a prompt that asks for goals, decisions, facts with their sources, and what is open.
   */
  readonly prompt?: PromptTemplate<{ conversation: string; earlier: string }, string> | undefined;
  /** Tokens of the summary at most; a longer one is cut. At least 1. Default 2,000. */
  readonly maxTokens?: number | undefined;
}
