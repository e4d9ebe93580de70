import {
  DefinitionError,
  isEvaluationFailure,
  type JournalRun,
  type Prompt,
  type PromptResponse,
  type PromptTemplate,
} from "@proviso/core";
import { boundAgain } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import type { Journal } from "@proviso/journal";

type Evaluate<Output> = (prompt: Prompt<Output>, run: JournalRun) => Promise<PromptResponse<Output>>;

/** A run that has ended, with the params of its record. */
interface EndedRun {
  readonly id: string;
  readonly isExecuted: boolean;
  readonly params: unknown;
}

/** Reads what runs that have ended came to, from their records. */
export class EndedAnswers {
  readonly #journal: Journal;
  /** Answers of changed prompts that are being read: a journal gives a run to one evaluation at a time. */
  readonly #reading = new Map<string, Promise<unknown>>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /**
   * Replays the run; where its prompt has changed since, takes the answer as it is: nothing is asked of an ended run again.
   * The recorded params are those that the schema made, which it may refuse or change once more. They are taken as they are
   * then; they are bound first, because only the schema makes a Date of the text in the record.
   */
  async of<Output>(
    { id, isExecuted, params }: EndedRun,
    template: PromptTemplate<never, Output>,
    evaluate: Evaluate<Output>,
  ): Promise<PromptResponse<Output>> {
    const asRecorded = (): Prompt<Output> => boundAgain(template, isRecord(params) ? params : {});
    let difference: unknown;
    for (const prompt of [() => (template as PromptTemplate<unknown, Output>).bind(params), asRecorded]) {
      try {
        return await evaluate(prompt(), this.#journal.replay(id));
      } catch (error) {
        if (!isOtherPrompt(error)) throw error;
        difference = error;
      }
    }
    if (!isExecuted) throw difference;
    return await this.#adopted(id, (run) => evaluate(asRecorded(), run));
  }

  async #adopted<Response>(id: string, evaluate: (run: JournalRun) => Promise<Response>): Promise<Response> {
    for (let other = this.#reading.get(id); other !== undefined; other = this.#reading.get(id)) {
      await other.catch(() => {});
    }
    const answer = evaluate(this.#journal.run(id, { onChange: "adopt" }));
    this.#reading.set(id, answer);
    return await answer.finally(() => this.#reading.delete(id));
  }
}

/** Whether the prompt refuses the recorded params, or is another one with them than the recorded one. */
function isOtherPrompt(error: unknown): boolean {
  if (error instanceof DefinitionError) return true;
  return isEvaluationFailure(error) && error.code === "run" && error.reason === "diverged";
}
