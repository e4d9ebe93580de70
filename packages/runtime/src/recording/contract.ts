// What the kernel knows of recording: types alone. The code comes with the value of the option `run`.
import type {
  AppEvent,
  EvaluateOptions,
  EvaluationFailure,
  FrameworkEvent,
  JournalRun,
  ModelFailure,
  ModelRequest,
  ModelResponse,
  Prompt,
  PromptOverride,
  PromptResponse,
  RunFacts,
  ToolCall,
  ToolMessage,
} from "@proviso/core";
import type { ModelDelta } from "@proviso/core/provider";
import type { World } from "../environment.ts";
import type { Failure } from "../failures.ts";
import type { Limits } from "../limits.ts";
import type { Run, Setup } from "../run.ts";
import type { SessionCore } from "../session/session-core.ts";
import type { CallContext } from "../tools/context.ts";
import type { Accepted, Invocation } from "../tools/invocation.ts";
import type { Transaction } from "../transactions/transaction.ts";

/** What came of an evaluation. */
export type EvaluationOutcome = { readonly response: PromptResponse<unknown> } | { readonly error: EvaluationFailure };

/** Calls of a turn that the record answers. */
export interface KeptCalls {
  /** The answers in the order of the calls; undefined: the record has no end of that call, so it is run. */
  readonly answers: readonly (ToolMessage | undefined)[];
  /** The limit that ended the evaluation meanwhile. */
  readonly stop: Failure | undefined;
}

type OnDelta = (delta: ModelDelta) => void;

/** A request, and how it is asked where the record has no answer to it. */
export interface RecordedRequest {
  readonly attempt: number;
  /** undefined: an agent's turn. */
  readonly request: ModelRequest | undefined;
  readonly onDelta: OnDelta | undefined;
  ask(onDelta: OnDelta | undefined): Promise<ModelResponse | ModelFailure>;
}

/** A handler that is about to begin. */
export interface HandlerParts {
  readonly calling: CallContext;
  execute(): Invocation | Promise<Invocation>;
  /** The result that a returned value makes. */
  checked(value: unknown): Invocation | Promise<Invocation>;
  /** Why it may not begin any more. */
  whyTooLate(): Omit<Invocation, "params"> | undefined;
}

/**
 * The record of a run, while an evaluation goes through it: first all is answered from what stands, then what happens is
 * appended. Evaluations inside calls share it and append alone. A difference is thrown, and counts more than what the
 * evaluation comes to.
 */
export interface Tape {
  readonly runId: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** Whether nothing is run and nothing is opened: all comes from the record. */
  readonly isReplay: boolean;
  /** Returns the setup with the clock, the ids and the randomness of the record. */
  setup<S extends Pick<Setup, "world">>(setup: S): S;
  /** The time and the timers outside the record. */
  readonly clock: World["clock"];
  /** Makes or finds the session of the run. @throws {DefinitionError} for one that is not the recorded one. */
  openSession(options: EvaluateOptions, prompt: Prompt): SessionCore;
  /** The id of the run's own evaluation. */
  readonly evaluationId: string;
  /** Returns limits whose end is in the record. */
  limits(limits: Limits): Limits;
  /** Fires when the run was cancelled or taken over. */
  readonly signal: AbortSignal;
  override(resolve: () => Promise<PromptOverride | undefined>): Promise<PromptOverride | undefined>;
  /** Called before the first event of an evaluation that is not inside a call. */
  begin(run: Run): void;
  /** Returns the event with its number, and whether listeners receive it; undefined: nothing is emitted any more. */
  number(run: Pick<Run, "core" | "evaluationId" | "isInside">, filled: object): NumberedEvent | undefined;
  /** An application's event that a call had dispatched counts now, and is about to be delivered. */
  dispatched(run: Run, event: AppEvent, callId: string): void;
  answer(run: Run, request: RecordedRequest): Promise<ModelResponse | ModelFailure>;
  /** Returns the options: those of the record where it is replayed. */
  options(given: EvaluateOptions): EvaluateOptions;
  /** Why an answer is not whole, where a budget's limit is the reason. */
  cut(run: Run, ask: () => Failure | undefined): Failure | undefined;
  /** Whether the next request is answered from the record, so that it waits for no pace. */
  isKept(): boolean;
  /** What a request cost in US dollars, where its provider does not say it. */
  cost(run: Run, compute: () => number | undefined): number | undefined;
  /** Waits, unless the record says that the wait is over. */
  waited(run: Run, wait: () => Promise<unknown>): Promise<unknown>;
  checked(run: Run, check: () => Promise<string | undefined>): Promise<string | undefined>;
  /** undefined: the record has none of these calls, so all are run. */
  calls(run: Run, calls: readonly ToolCall[]): Promise<KeptCalls | undefined> | undefined;
  /**
   * Runs a handler when it is kept that it begins. A call that may have been done by a process that ended is run again only
   * where its tool allows that; else its `reconcile` is asked.
   */
  handler(
    run: Run,
    accepted: Accepted,
    parts: HandlerParts,
    thrown: (error: unknown) => Invocation,
  ): Invocation | Promise<Invocation>;
  /** A call has succeeded: it counts, or will when its transaction has ended. */
  succeeded(run: Run, call: ToolCall, transaction: Transaction): void;
  /** A transaction of the run's calls is about to end. undefined: nothing of it is outside the record. */
  committing(run: Run, transaction: Transaction): Promise<void> | undefined;
  /** The transaction has ended. */
  committed(run: Run, transaction: Transaction): Promise<void> | undefined;
  facts(): RunFacts;
  /** Ends the record, and returns what the evaluation came to. */
  end(run: Run, outcome: EvaluationOutcome): Promise<EvaluationOutcome>;
  /** The evaluation could not begin: returns what it rejects with. */
  notBegun(error: EvaluationFailure): Promise<EvaluationFailure>;
}

/** A numbered event. */
export interface NumberedEvent {
  readonly event: FrameworkEvent;
  /** Whether listeners receive it: not where they did in an earlier attempt. */
  readonly isEmitted: boolean;
}

const opener = Symbol("open");
const beginning = Symbol("beginning");

/** What a recorded run began with. */
export interface RecordedBeginning {
  readonly prompt: string;
  /** The params as JSON. */
  readonly params: unknown;
  /** The name of the adapter. */
  readonly adapter: string;
  readonly model: string;
  /** Whether the model was given the schema of the output. */
  readonly nativeOutput: boolean;
  readonly session: { readonly id: string };
}

/** Opens the record of a run. @throws {EvaluationFailure} */
export type OpenTape = (
  setup: Setup,
  prompt: Prompt,
  options: EvaluateOptions,
  /** The id that was made for the evaluation; undefined: none was. */
  evaluationId: string | undefined,
) => Promise<Tape>;

/** Makes the value of the option `run`, which brings its code along. */
export function journalRun(id: string, open: OpenTape, read: () => Promise<RecordedBeginning>): JournalRun {
  const run = Object.defineProperties({ id }, { [opener]: { value: open }, [beginning]: { value: read } });
  return Object.freeze(run) as unknown as JournalRun;
}

/** Reads what a run began with. @throws {JournalError} for one that has not begun. */
export function recordedBeginning(run: JournalRun): Promise<RecordedBeginning> {
  return (run as unknown as { readonly [beginning]: () => Promise<RecordedBeginning> })[beginning]();
}

/** undefined: the options have no run, or none that can be read, which the evaluation refuses later. */
export function openerIn(options: EvaluateOptions | undefined): OpenTape | undefined {
  try {
    return openerOf(options?.run);
  } catch {
    return undefined;
  }
}

/** undefined: it is not a run that a journal made. */
export function openerOf(run: unknown): OpenTape | undefined {
  return typeof run === "object" && run !== null ? (run as { readonly [opener]?: OpenTape })[opener] : undefined;
}
