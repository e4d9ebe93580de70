// The limits that a budget sets to the answers of one request, at each of the models that it goes to.
import type { ModelFailure, ModelProvider } from "@proviso/core";
import type { OutputLimits } from "../answer-lengths.ts";
import type { Run } from "../run.ts";

/** An adapter of one model, as its answers are limited. */
interface LimitedModel {
  readonly provider: ModelProvider;
  readonly outputLimits: OutputLimits;
}

/** What one request knows of its limits in all of its attempts. A model that refused one is sent none from then on. */
export class AnswerLimits {
  readonly #run: Run;
  /** The limits that were refused; undefined: it may have been for the length of the history. */
  #lifted: Map<OutputLimits, number | undefined> | undefined;

  constructor(run: Run) {
    this.#run = run;
  }

  /** The limit that the request carries where a budget has so much room; undefined: the model's own bound is lower, or it takes none. */
  of(tokens: number, { provider, outputLimits }: LimitedModel): number | undefined {
    if (provider.capabilities.outputLimit === undefined || this.#lifted?.has(outputLimits) === true) return undefined;
    return tokens < (boundOf(provider, this.#run) ?? Infinity) && outputLimits.takes(tokens) ? tokens : undefined;
  }

  /**
   * Takes the limit away where a refusal may be for it, and returns whether it did: then the request goes out once more.
   * A service refuses a limit above the model's maximum, or above what its window leaves. Without the limit the answer
   * stops there by itself.
   */
  lift(maxOutputTokens: number, { outputLimits }: Pick<LimitedModel, "outputLimits">, refusal: ModelFailure): boolean {
    if (refusal.failure !== "provider") return false;
    const { reason, message } = refusal;
    if (reason !== "bad_request" && reason !== "context_length") return false;
    const run = this.#run;
    run.log("warn", { turn: run.turn, maxOutputTokens, reason: message }, "budget.limit.refused");
    (this.#lifted ??= new Map()).set(outputLimits, maxOutputTokens);
    return true;
  }

  /** The history is shorter from here on: an answer says no more that it was the limit that was refused before. */
  shortened(): void {
    for (const model of this.#lifted?.keys() ?? []) this.#lifted?.set(model, undefined);
  }

  /** The model has answered: its adapter remembers the limit that it refused before. */
  answered({ outputLimits }: Pick<LimitedModel, "outputLimits">): void {
    const refused = this.#lifted?.get(outputLimits);
    if (refused !== undefined) outputLimits.refused(refused);
  }
}

/** The longest answer of one turn, in tokens: what the evaluation sets, else the model's own bound. */
export function boundOf({ maxOutputTokens }: ModelProvider, { settings }: Run): number | undefined {
  return settings.maxOutputTokens ?? maxOutputTokens;
}
