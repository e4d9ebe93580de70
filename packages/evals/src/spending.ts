import { isEvaluationFailure, type PromptResponse, type Session, type Usage } from "@proviso/core";
import { addUsage, noUsage, SpentByRun } from "@proviso/core/internal";

/** What evaluations spend, those inside their calls included: their sessions' events say it. */
export class Spending {
  readonly #seen = new SpentByRun();
  /** What the answers and errors say, without what is inside: all there is of an adapter that shows no events. */
  #answered: Usage = noUsage;

  /** Counts the evaluations of a session from now on. */
  follow(session: Session): void {
    const add = this.#seen.add.bind(this.#seen);
    session.on("provider.responded", (event) => void add(event));
    session.on("prompt.executed", (event) => void add(event));
    session.on("prompt.failed", (event) => void add(event));
  }

  /** Settles as the evaluation does, of a session that is followed. */
  async of<Output>(evaluating: Promise<PromptResponse<Output>>): Promise<PromptResponse<Output>> {
    try {
      const response = await evaluating;
      this.#answered = addUsage(this.#answered, response.usage);
      return response;
    } catch (error) {
      if (isEvaluationFailure(error)) this.#answered = addUsage(this.#answered, error.usage);
      throw error;
    }
  }

  /** What was spent so far. */
  get usage(): Usage {
    const seen = this.#seen.total();
    return seen === noUsage ? this.#answered : seen;
  }
}
