import type { ModelFailure, ModelResponse, Usage } from "@proviso/core";
import { isFailure, type Failure } from "../failures.ts";
import { estimatedTokens, answerTokensOf } from "../tokens.ts";

/** What is known of a request beside how it ended. */
export interface EstimatedWork {
  /** An estimate of what is sent. */
  inputTokens(): number;
  /** An estimate of the tokens that it has produced so far. Left out: those of its deltas. */
  produced?(): number;
  /** The limit of its answer in tokens; undefined where there is none. */
  limit?(): number | undefined;
}

/**
 * What a request cost where its provider does not say it; each number is a pass over texts, made when it is asked for.
 * A class: V8 makes a new hidden class for each object literal with getters, and what those close over, here a whole
 * evaluation, then stays in memory until the next full collection.
 */
export class TryEstimate implements Pick<Usage, "inputTokens" | "outputTokens"> {
  readonly #work: EstimatedWork;
  readonly #end: ModelResponse | ModelFailure | Failure;
  readonly #streamed: string;

  constructor(work: EstimatedWork, end: ModelResponse | ModelFailure | Failure, streamed: string) {
    this.#work = work;
    this.#end = end;
    this.#streamed = streamed;
  }

  get inputTokens(): number {
    return this.#work.inputTokens();
  }

  get outputTokens(): number {
    const end = this.#end;
    if (!isFailure(end) && end.failure === undefined) return answerTokensOf(end.message);
    // What a model could not finish within its limit, it has produced up to there.
    const isCut = !isFailure(end) && end.failure === "provider" && end.reason === "truncated";
    return (isCut ? this.#work.limit?.() : undefined) ?? this.#work.produced?.() ?? estimatedTokens(this.#streamed);
  }

  /** Whether the work ended before it had reported or produced anything. */
  get isFree(): boolean {
    const end = this.#end;
    if (!isFailure(end) && (end.failure === undefined || end.usage !== undefined)) return false;
    return this.outputTokens === 0;
  }
}
