import type { ModelProvider } from "@proviso/core";
import type { Room, Wanted } from "../budget-room.ts";
import type { Run } from "../run.ts";

/** The tokens reserved for an answer whose length is neither bounded nor estimated. */
const usualOutputTokens = 16_384;
/** What is known of how long an answer can be. */
export interface AnswerBounds {
  /** The model's own. */
  readonly maxOutputTokens?: number | undefined;
  /** The smallest limit that a request can set; undefined: it can set none. */
  readonly least?: number | undefined;
}

/** What a request sends. */
export interface Sent {
  /** An estimate. */
  readonly inputTokens: number;
  /** How many models it may go to at the same time: each of them costs. */
  readonly atOnce: number;
}

/** What a request wants of a budget. */
export function wantedOf(run: Run, bounds: AnswerBounds, { inputTokens, atOnce }: Sent): Wanted {
  const { maxOutputTokens: bound = Infinity, least } = bounds;
  const expected = run.expected?.outputTokensPerTurn.p90;
  const unbounded = bound === Infinity ? usualOutputTokens : bound;
  const usual = Math.min(bound, Math.ceil(expected ?? unbounded));
  // What cannot be cut short needs room for all that it may answer, where that is known.
  const needed = expected === undefined && bound === Infinity ? 1 : usual;
  const leastOutputTokens = least === undefined ? needed : Math.min(bound, least);
  return {
    inputTokens: inputTokens * atOnce,
    outputTokens: Math.max(usual, leastOutputTokens) * atOnce,
    leastOutputTokens: leastOutputTokens * atOnce,
    costOf: costsOf(run),
  };
}

function costsOf({ prices, world: { clock } }: Run): Wanted["costOf"] {
  const current = prices.current();
  if (current?.known !== true) return undefined;
  return (inputTokens, outputTokens) => current.priceOf({ inputTokens, outputTokens }, clock.now());
}

/** The longest answer of one turn, in tokens: what the evaluation sets, else the model's own bound. */
export function boundOf({ maxOutputTokens }: ModelProvider, { settings }: Run): number | undefined {
  return settings.maxOutputTokens ?? maxOutputTokens;
}

/** The limit that a budget sets to an answer; undefined where the model's own bound is lower, or it takes none. */
export function outputLimitIn(
  room: Room | undefined,
  run: Run,
  { provider, atOnce }: Pick<Sent, "atOnce"> & { readonly provider: ModelProvider },
): number | undefined {
  if (room === undefined || provider.capabilities.outputLimit === undefined) return undefined;
  const tokens = Math.floor(room.tokens / atOnce);
  return tokens < (boundOf(provider, run) ?? Infinity) && run.outputLimits.takes(tokens) ? tokens : undefined;
}
