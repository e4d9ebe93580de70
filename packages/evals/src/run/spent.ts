import type { EvaluateOptions, PromptResponse, Session, Usage } from "@proviso/core";
import { Spending } from "../spending.ts";
import type { AttemptWorld } from "./attempt.ts";

/** The evaluations of an attempt: what they spend, and the run of the journal that each is. */
export class Spent {
  readonly #journal: AttemptWorld["journal"];
  readonly #spending = new Spending();
  readonly runIds: string[] = [];
  model: string | undefined;

  readonly #inFlight = new Set<Promise<unknown>>();

  constructor(journal: AttemptWorld["journal"]) {
    this.#journal = journal;
  }

  /** What was spent so far. */
  get usage(): Usage {
    return this.#spending.usage;
  }

  /** The attempt's session, before anything is evaluated in it. */
  follow(session: Session): void {
    this.#spending.follow(session);
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
    const response = await this.#spending.of(evaluating);
    this.model = response.model;
    return response;
  }
}
