import type { PaceRequest } from "@proviso/core";
import { costNumbers } from "./pace-numbers.ts";

/** What is limited. */
export type Kind = "requests" | "tokens" | "inputTokens" | "outputTokens";

const { learning, mostRatio, longestAnswer } = costNumbers;

/** One request, or all that wait: `unknown` of them have answers of no known length. */
export interface Charged extends PaceRequest {
  readonly requests: number;
  readonly unknown: number;
}

/** What one limit was charged for a request, and how much of its answer's bound counts, however long the answer is. */
export interface Charge {
  readonly cost: number;
  readonly boundShare: number;
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

  /** `boundShare`: how much of what answers leave unused of their bounds the service counts, too, 0 to 1. */
  of(kind: Kind, { requests, inputTokens, outputTokens, unknown }: Charged, boundShare: number): number {
    const input = inputTokens * this.#inputRatio;
    const ratio = this.#outputRatio + boundShare * Math.max(0, 1 - this.#outputRatio);
    const output = outputTokens * ratio + unknown * this.#usualOutput;
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
