// Assumptions, not measurements: the estimate before there is any history. specs/estimation.md lists them.
import { mapDistribution, type Distribution } from "./quantile.ts";
import type { PromptSize } from "./size.ts";

/** Everything about an evaluation but its price. */
export interface Quantities {
  readonly inputTokens: Distribution;
  readonly outputTokens: Distribution;
  readonly outputTokensPerTurn: Distribution;
  readonly turns: Distribution;
  /** Milliseconds. */
  readonly durationMs: Distribution;
}

/** Tokens of a request to each that is estimated: the estimate may be a fifth too low (LIM-11). */
const tokensPerEstimated: Distribution = { p50: 1, p90: 1.25 };
const turnsWithTools: Distribution = { p50: 3, p90: 10 };
const turnsWithoutTools: Distribution = { p50: 1, p90: 2 };
const outputTokensPerTurn: Distribution = { p50: 250, p90: 1_000 };
/** What comes back from the tools of a turn. */
const toolTokensPerTurn: Distribution = { p50: 200, p90: 1_000 };
const requestMs: Distribution = { p50: 800, p90: 3_000 };
const outputTokenMs: Distribution = { p50: 15, p90: 40 };

/** @param maxOutputTokens of one request, where it is known. */
export function priorQuantities(size: PromptSize, maxOutputTokens = Infinity): Quantities {
  const at = (level: keyof Distribution): Readonly<Record<keyof Quantities, number>> => {
    const turns = (size.hasTools ? turnsWithTools : turnsWithoutTools)[level];
    const output = Math.min(outputTokensPerTurn[level], maxOutputTokens);
    const request = size.tokens * tokensPerEstimated[level];
    // Every turn sends what the turns before it have added.
    const added = ((turns * (turns - 1)) / 2) * (output + (size.hasTools ? toolTokensPerTurn[level] : 0));
    return {
      inputTokens: turns * request + added,
      outputTokens: turns * output,
      outputTokensPerTurn: output,
      turns,
      durationMs: turns * (requestMs[level] + output * outputTokenMs[level]),
    };
  };
  const [p50, p90] = [at("p50"), at("p90")];
  const of = (name: keyof Quantities): Distribution => mapDistribution({ p50: p50[name], p90: p90[name] }, Math.ceil);
  return {
    inputTokens: of("inputTokens"),
    outputTokens: of("outputTokens"),
    outputTokensPerTurn: of("outputTokensPerTurn"),
    turns: of("turns"),
    durationMs: of("durationMs"),
  };
}
