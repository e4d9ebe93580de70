// 1. At most `concurrency` evaluations run, and no more results wait unread than a few times that.
// 2. Each prompt that was begun gets one result, a failure as a value.
// 3. Leaving the iteration aborts what runs and begins nothing more.
import {
  DefinitionError,
  type EvaluateOptions,
  type JournalRun,
  type OutputOf,
  type Prompt,
  type ProviderAdapter,
} from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { describeValue } from "@proviso/core/internal";
import { trackerOf } from "./budgets.ts";
import { checkEvaluateOptions, evaluateOptionNames } from "./evaluate-options.ts";
import { beginFailure, readOption } from "./failures.ts";
import { checkGivenHistory } from "./history.ts";
import { onAbort } from "./abort.ts";
import { Batch, type Evaluated, type EvaluateOne } from "./batch.ts";
import { openerOf } from "./recording/run-value.ts";
import { coreOf } from "./session/session-core.ts";

/** How many prompts are evaluated, and how; the options of `evaluate` hold for each, but `run`, which is asked for each. */
export interface EvaluateAllOptions extends Omit<EvaluateOptions, "run"> {
  /** The adapter that evaluates them. */
  readonly adapter: ProviderAdapter;
  /** Evaluations at once, at most. Default 16. */
  readonly concurrency?: number | undefined;
  /** "given": in the order of the prompts. "settled": each as soon as it is there. Default "given". */
  readonly order?: "given" | "settled" | undefined;
  /**
   * Returns the run that a prompt is kept in, asked when the prompt begins; undefined: none of its own. `index` is the
   * prompt's place, from 0. Give the same prompt the same id the next time, and a batch whose process ended goes on: what
   * was answered is answered from its record. What it throws is the prompt's error. Default: nothing is kept, but by the
   * adapter's own journal.
   */
  readonly run?: ((prompt: Prompt, index: number) => JournalRun | undefined) | undefined;
}

/** How far all of them are. */
export interface EvaluateAllProgress {
  /** Prompts that were begun. */
  readonly begun: number;
  /** Prompts that were answered. */
  readonly succeeded: number;
  /** Prompts that failed. */
  readonly failed: number;
}

/** The results, to be iterated once, and how far they are. */
export interface EvaluatedAll<Output> extends AsyncIterable<Evaluated<Output>, void> {
  /** Counts what was begun and what has ended, read or not. */
  progress(): EvaluateAllProgress;
}

const defaultConcurrency = 16;

/**
 * Evaluates many prompts, some at a time. Results are yielded in the order of the prompts; a failure is a result too. The
 * prompts may be any iterable, also one that makes them when they are needed. Limits given as `budget` hold for all of
 * them together. An abort of `signal` begins nothing more: what runs ends with an AbortedError as its result. Leaving the
 * loop aborts what runs. A source of prompts that throws ends the iteration with its error, after the results of what was
 * begun.
 * @throws {DefinitionError} for prompts that cannot be iterated, a missing adapter, an option that cannot be, whatever the
 * prompt, or one run for all prompts.
 */
export function evaluateAll<Output>(
  prompts: Iterable<Prompt<Output>> | AsyncIterable<Prompt<Output>>,
  options: EvaluateAllOptions,
): EvaluatedAll<Output>;
/** Evaluates prompts of several types: the output is one of theirs. */
export function evaluateAll<P extends Prompt>(
  prompts: Iterable<P> | AsyncIterable<P>,
  options: EvaluateAllOptions,
): EvaluatedAll<OutputOf<P>>;
export function evaluateAll<Output>(
  prompts: Iterable<Prompt<Output>> | AsyncIterable<Prompt<Output>>,
  options: EvaluateAllOptions,
): EvaluatedAll<Output> {
  const { adapter, concurrency = defaultConcurrency, order = "given", run, ...each } = checked(options);
  checkEach(each);
  checkPrompts(prompts);
  const budget = trackerOf(each.budget);
  const counts = { begun: 0, succeeded: 0, failed: 0 };
  let isRead = false;
  return {
    progress: () => ({ ...counts }),
    [Symbol.asyncIterator]() {
      if (isRead)
        throw new DefinitionError("The results of evaluateAll are iterated once: they have a reader already.");
      isRead = true;
      // Async: what an adapter throws at once is a result too.
      const evaluateOne: EvaluateOne<Output> = async (prompt, index, signal) =>
        adapter.evaluate(prompt, { ...each, budget, signal, run: run?.(prompt, index) });
      return resultsOf(prompts, evaluateOne, { concurrency, order, counts, signal: each.signal });
    },
  };
}

interface Plan {
  readonly concurrency: number;
  readonly order: "given" | "settled";
  readonly counts: { begun: number; succeeded: number; failed: number };
  readonly signal: AbortSignal | undefined;
}

async function* resultsOf<Output>(
  prompts: Iterable<Prompt<Output>> | AsyncIterable<Prompt<Output>>,
  evaluateOne: EvaluateOne<Output>,
  { order, signal, ...plan }: Plan,
): AsyncGenerator<Evaluated<Output>, void> {
  const leaving = new AbortController();
  const news = newsOf(signal, leaving);
  const source = Symbol.asyncIterator in prompts ? prompts[Symbol.asyncIterator]() : prompts[Symbol.iterator]();
  const batch = new Batch(source, evaluateOne, { ...plan, leaving: leaving.signal, news: () => news.come() });
  const { settled } = batch;
  /** The result that is read next, if it is there. */
  const nextOf = (read: number): Evaluated<Output> | undefined =>
    order === "given" ? settled.get(read) : settled.values().next().value;

  let read = 0;
  try {
    while (true) {
      const result = nextOf(read);
      if (result !== undefined) {
        settled.delete(result.index);
        read++;
        batch.beginNext();
        yield result;
        continue;
      }
      batch.isAwaited = true;
      batch.beginNext();
      if (batch.isOver()) break;
      await news.next();
      batch.isAwaited = false;
    }
    if (batch.failure !== undefined) throw batch.failure.error;
  } finally {
    news.end();
    leaving.abort(new DOMException("The reader of evaluateAll left.", "AbortError"));
    await batch.end();
  }
}

/** What an iteration waits for: something has ended, or is aborted. */
interface News {
  /** Lets the one go on that waits. */
  come(): void;
  /** Resolves when more has come. A race would leave something behind at each promise that lasts. */
  next(): Promise<void>;
  /** Leaves no listener behind. */
  end(): void;
}

function newsOf(signal: AbortSignal | undefined, leaving: AbortController): News {
  let come = (): void => {};
  const end = onAbort(signal, (reason) => {
    leaving.abort(reason);
    come();
  });
  return { come: () => come(), next: () => new Promise<void>((resolve) => (come = resolve)), end };
}

const optionNames = { adapter: true, concurrency: true, order: true, ...evaluateOptionNames };

function checked(options: EvaluateAllOptions): EvaluateAllOptions {
  checkOptionNames("evaluateAll", options, optionNames);
  const { adapter, concurrency, order, run }: Partial<EvaluateAllOptions> = options ?? {};
  if (typeof (adapter as Partial<ProviderAdapter> | undefined)?.evaluate !== "function") {
    throw new DefinitionError(
      `evaluateAll needs an adapter, { adapter: openai({ … }) }, not ${describeValue(adapter)}.`,
    );
  }
  if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency > 0)) {
    throw new DefinitionError(
      `evaluateAll: concurrency must be a positive whole number, not ${describeValue(concurrency)}.`,
    );
  }
  if (order !== undefined && order !== "given" && order !== "settled") {
    throw new DefinitionError(`evaluateAll: order must be "given" or "settled", not ${describeValue(order)}.`);
  }
  if (run !== undefined && typeof run !== "function") {
    const given = openerOf(run) === undefined ? describeValue(run) : "one run, which serves one prompt at a time";
    throw new DefinitionError(
      `evaluateAll: run must be a function that returns the run of a prompt, (prompt, index) => journal.run(\`row \${index}\`), not ${given}.`,
    );
  }
  return options;
}

/**
 * What can be seen of the options of `evaluate` without a prompt is refused as it refuses it, before any is begun. What a
 * context policy says is read by code that is loaded with the first evaluation that has one.
 */
function checkEach(each: EvaluateOptions): void {
  const { session } = each;
  try {
    checkEvaluateOptions(each);
    readOption("session", () => session && coreOf(session));
    checkGivenHistory(each);
  } catch (error) {
    throw beginFailure(error).cause;
  }
}

function checkPrompts(prompts: unknown): void {
  const given = typeof prompts === "object" && prompts !== null ? (prompts as Partial<AsyncIterable<unknown>>) : {};
  if (Symbol.asyncIterator in given || Symbol.iterator in given) return;
  throw new DefinitionError(
    `evaluateAll needs prompts that can be iterated, a list for example, not ${describeValue(prompts)}.`,
  );
}
