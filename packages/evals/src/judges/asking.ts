import { deadlineIn, errorReason, isEvaluationFailure, type Prompt, type ProviderAdapter } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import { createSession } from "@proviso/runtime";
import type { AttemptWorld } from "../run/attempt.ts";

/** Milliseconds that a judge has for one verdict. */
const timeoutMs = 600_000;

/** Asks the judges of one attempt within the limits of the run, and adds up what they spend. */
export class JudgesOfAttempt {
  readonly #world: AttemptWorld;
  usage = noUsage;
  /** Why the run cut a judge short. undefined: it did not. */
  cut: "budget" | "aborted" | undefined;

  constructor(world: AttemptWorld) {
    this.#world = world;
  }

  readonly ask = async <Verdict>(adapter: ProviderAdapter, prompt: Prompt<Verdict>): Promise<Verdict> => {
    const { clock, newId, budget, signal, pacing } = this.#world;
    try {
      const { output, usage } = await adapter.evaluate(prompt, {
        session: createSession({ id: newId() }),
        signal,
        deadline: deadlineIn(timeoutMs, clock),
        ...(budget === undefined ? {} : { budget }),
        ...(pacing === undefined ? {} : { pacing }),
      });
      this.usage = addUsage(this.usage, usage);
      return output;
    } catch (error) {
      if (isEvaluationFailure(error)) this.usage = addUsage(this.usage, error.usage);
      if (signal.aborted) this.cut = "aborted";
      else if (budget !== undefined && isEvaluationFailure(error) && errorReason(error) === "budget_error")
        this.cut = "budget";
      throw error;
    }
  };
}
