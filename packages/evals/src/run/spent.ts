import {
  isEvaluationFailure,
  type EvaluateOptions,
  type PromptResponse,
  type Session,
  type Usage,
} from "@proviso/core";
import { addUsage, noUsage, SpentByRun } from "@proviso/core/internal";
import type { AttemptWorld } from "./attempt.ts";

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
