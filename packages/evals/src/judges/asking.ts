import {
  deadlineIn,
  errorReason,
  isEvaluationFailure,
  type Prompt,
  type ProviderAdapter,
  type Usage,
} from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { bounded, defaultTimeoutMs, Unsettled } from "../bounded.ts";
import type { AnyDefinition } from "../define/define-eval.ts";
import type { AttemptWorld } from "../run/attempt.ts";
import { Spending } from "../spending.ts";

/** Runs the scorers of one attempt within the limits of the run, and adds up what its judges spend. */
export class JudgesOfAttempt {
  readonly #world: AttemptWorld;
  readonly #ms: number;
  readonly #spending = new Spending();
  /** Why the run cut a judge short. undefined: it did not. */
  cut: "budget" | "aborted" | undefined;

  constructor(world: AttemptWorld, { timeoutMs: ms = defaultTimeoutMs }: Pick<AnyDefinition, "timeoutMs">) {
    this.#world = world;
    this.#ms = ms;
  }

  /** What all of them spent so far, with evaluations inside their calls. */
  get usage(): Usage {
    return this.#spending.usage;
  }

  /** Waits for what a scorer returned, which may never settle. */
  readonly within = async <T>(scoring: PromiseLike<T>): Promise<T> => {
    const { clock, signal } = this.#world;
    try {
      return await bounded(scoring, { clock, signal, ms: this.#ms });
    } catch (error) {
      if (error instanceof Unsettled && error.why === "aborted") this.cut ??= "aborted";
      throw error;
    }
  };

  readonly ask = async <Verdict>(adapter: ProviderAdapter, prompt: Prompt<Verdict>): Promise<Verdict> => {
    const { clock, newId, budget, signal, pacing } = this.#world;
    const session = createSession({ id: newId() });
    this.#spending.follow(session);
    try {
      const asking = adapter.evaluate(prompt, {
        session,
        signal,
        deadline: deadlineIn(defaultTimeoutMs, clock),
        ...(budget === undefined ? {} : { budget }),
        ...(pacing === undefined ? {} : { pacing }),
      });
      return (await this.#spending.of(asking)).output;
    } catch (error) {
      if (signal.aborted) this.cut = "aborted";
      else if (budget !== undefined && isEvaluationFailure(error) && errorReason(error) === "budget_error")
        this.cut = "budget";
      throw error;
    }
  };
}
