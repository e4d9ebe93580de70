import type { PaceRequest, RateLimit } from "@proviso/core";

/** How fast the learnt cost of a request follows: the weight of the newest. */
const learning = 0.1;
/** An estimate is wrong by no more than this factor; what reports more is wrong itself. */
const mostRatio = 100;
/** Tokens: no model in use answers with more. */
const longestAnswer = 131_072;

/** One request, or all that wait: `unknown` of them have answers of no known length. */
export interface Charged extends PaceRequest {
  readonly requests: number;
  readonly unknown: number;
}

/** One request as it is charged. */
export function chargedOnce(request: PaceRequest): Charged {
  return { ...request, requests: 1, unknown: request.outputTokens === 0 ? 1 : 0 };
}

/** What requests are charged, learnt from what earlier ones have cost. */
export class Costs {
  /** Real tokens for each estimated one. */
  #inputRatio = 1;
  #outputRatio = 1;
  /** Tokens of an answer whose length was not known before. */
  #usualOutput = 0;

  of(kind: keyof RateLimit, { requests, inputTokens, outputTokens, unknown }: Charged): number {
    const input = inputTokens * this.#inputRatio;
    const output = outputTokens * this.#outputRatio + unknown * this.#usualOutput;
    if (kind === "requests") return requests;
    return kind === "tokens" ? input + output : kind === "inputTokens" ? input : output;
  }

  learn(request: PaceRequest, real: PaceRequest): void {
    this.#inputRatio = learnt(this.#inputRatio, real.inputTokens, request.inputTokens);
    if (request.outputTokens > 0) {
      this.#outputRatio = learnt(this.#outputRatio, real.outputTokens, request.outputTokens);
      return;
    }
    const seen = Math.min(longestAnswer, real.outputTokens);
    this.#usualOutput += (this.#usualOutput === 0 ? 1 : learning) * (seen - this.#usualOutput);
  }
}

function learnt(ratio: number, real: number, estimated: number): number {
  if (!(estimated > 0 && real > 0)) return ratio;
  return ratio + learning * (Math.min(mostRatio, real / estimated) - ratio);
}
