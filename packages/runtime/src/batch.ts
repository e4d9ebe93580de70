// The evaluations of a batch: which of its prompts are begun, and their results until they are read.
import type { Prompt, PromptResponse } from "@proviso/core";

/** What became of one prompt. */
export type Evaluated<Output> =
  | {
      readonly ok: true;
      /** The prompt's place among the prompts, from 0. */
      readonly index: number;
      /** What `evaluate` returned. */
      readonly response: PromptResponse<Output>;
    }
  | {
      readonly ok: false;
      /** The prompt's place among the prompts, from 0. */
      readonly index: number;
      /** What `evaluate` rejected with: an EvaluationFailure, unless an adapter of other making threw. */
      readonly error: unknown;
    };

/** Results that may wait unread, for each evaluation that may run. */
const unreadForEach = 4;

export type EvaluateOne<Output> = (
  prompt: Prompt<Output>,
  index: number,
  signal: AbortSignal,
) => Promise<PromptResponse<Output>>;

interface BatchPlan {
  readonly concurrency: number;
  readonly counts: { begun: number; succeeded: number; failed: number };
  /** Fires when nothing more is begun. */
  readonly leaving: AbortSignal;
  /** Called when a result or a prompt has come. */
  readonly news: () => void;
}

/** Begins prompts while there is room, also while the reader works with a result. */
export class Batch<Output> {
  /** Results that are not read yet, by place. */
  readonly settled = new Map<number, Evaluated<Output>>();
  /** Whether the reader waits for a result: that one will not wait unread. */
  isAwaited = false;
  /** What the source threw. */
  failure: { readonly error: unknown } | undefined;
  readonly #source: Iterator<Prompt<Output>> | AsyncIterator<Prompt<Output>>;
  readonly #evaluateOne: EvaluateOne<Output>;
  readonly #plan: BatchPlan;
  readonly #running = new Set<Promise<void>>();
  #pulling: Promise<void> | undefined;
  #isDrained = false;

  constructor(
    source: Iterator<Prompt<Output>> | AsyncIterator<Prompt<Output>>,
    evaluateOne: EvaluateOne<Output>,
    plan: BatchPlan,
  ) {
    this.#source = source;
    this.#evaluateOne = evaluateOne;
    this.#plan = plan;
  }

  beginNext(): void {
    // Cleared behind the assignment, also where the source throws at once.
    if (this.#pulling === undefined && this.#mayBegin()) this.#pulling = Promise.resolve().then(() => this.#pull());
  }

  /** Whether no result comes any more. A source that is asked already may never answer. */
  isOver(): boolean {
    return this.#running.size === 0 && (this.#pulling === undefined || this.#plan.leaving.aborted);
  }

  /** Closes the source, and waits for what runs. */
  async end(): Promise<void> {
    if (this.#pulling !== undefined) void endLater(this.#source);
    else if (!this.#isDrained) await this.#source.return?.();
    await Promise.all(this.#running);
  }

  #mayBegin(): boolean {
    const { concurrency, leaving } = this.#plan;
    if (this.#isDrained || leaving.aborted || this.#running.size >= concurrency) return false;
    const most = concurrency * unreadForEach + (this.isAwaited ? 1 : 0);
    return this.settled.size + this.#running.size < most;
  }

  /** Begins the next prompt as soon as it is there; a source that waits holds no result back. */
  async #pull(): Promise<void> {
    const { counts, leaving, news } = this.#plan;
    try {
      const next = await this.#source.next();
      if (next.done === true) this.#isDrained = true;
      else if (!leaving.aborted) this.#begin(next.value, counts.begun++);
    } catch (error) {
      this.#isDrained = true;
      this.failure = { error };
    }
    this.#pulling = undefined;
    news();
    this.beginNext();
  }

  #begin(prompt: Prompt<Output>, index: number): void {
    const { counts, leaving, news } = this.#plan;
    const evaluating = resultOf(index, this.#evaluateOne(prompt, index, leaving)).then((result) => {
      counts[result.ok ? "succeeded" : "failed"]++;
      this.settled.set(result.index, result);
      this.#running.delete(evaluating);
      news();
      this.beginNext();
    });
    this.#running.add(evaluating);
  }
}

/** Ends a source without waiting for it. Never rejects: the results that were read are not less for it. */
async function endLater(source: Iterator<unknown> | AsyncIterator<unknown>): Promise<void> {
  try {
    await source.return?.();
  } catch {}
}

function resultOf<Output>(index: number, evaluating: Promise<PromptResponse<Output>>): Promise<Evaluated<Output>> {
  return evaluating.then(
    (response) => ({ ok: true, index, response }),
    (error: unknown) => ({ ok: false, index, error }),
  );
}
