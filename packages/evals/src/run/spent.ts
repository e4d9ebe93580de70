import { isEvaluationFailure, type EvaluateOptions, type PromptResponse, type Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import type { AttemptWorld } from "./attempt.ts";

/** Adds up what all evaluations of an attempt spend, and gives each a run of the journal. */
export class Spent {
  readonly #journal: AttemptWorld["journal"];
  readonly runIds: string[] = [];
  usage: Usage = noUsage;
  model: string | undefined;

  readonly #inFlight = new Set<Promise<unknown>>();

  constructor(journal: AttemptWorld["journal"]) {
    this.#journal = journal;
  }

  /** Where an evaluation is recorded; empty: nowhere. */
  recorded({ run: own }: Partial<EvaluateOptions> = {}): Pick<EvaluateOptions, "run"> {
    const run = own ?? this.#journal?.run();
    if (run === undefined) return {};
    this.runIds.push(run.id);
    return { run };
  }

  /** Like `add`, for an evaluation that its caller may not wait for. */
  tracked<Output>(evaluating: Promise<PromptResponse<Output>>): Promise<PromptResponse<Output>> {
    const adding = this.add(evaluating);
    this.#inFlight.add(adding);
    const ended = (): boolean => this.#inFlight.delete(adding);
    adding.then(ended, ended);
    return adding;
  }

  /** Resolves when the evaluations that are in flight have settled, as they do when a limit or an abort ends them. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#inFlight);
  }

  async add<Output>(evaluating: Promise<PromptResponse<Output>>): Promise<PromptResponse<Output>> {
    try {
      const response = await evaluating;
      this.usage = this.usage === noUsage ? response.usage : addUsage(this.usage, response.usage);
      this.model = response.model;
      return response;
    } catch (error) {
      if (isEvaluationFailure(error)) this.usage = addUsage(this.usage, error.usage);
      throw error;
    }
  }
}
