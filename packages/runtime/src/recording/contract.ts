// What the kernel knows of recording: types alone. The code comes with the value of the option `run`.
import type {
  Blobs,
  EvaluateOptions,
  EvaluationFailure,
  FrameworkEvent,
  ModelFailure,
  ModelRequest,
  ModelResponse,
  Prompt,
  PolicyDecision,
  PromptOverride,
  PromptResponse,
  ReportedUsage,
  RunFacts,
  Suspension,
  Tool,
  ToolCall,
  ToolContext,
  ToolMessage,
  ToolPolicy,
  Usage,
} from "@proviso/core";
import type { ModelDelta } from "@proviso/core/provider";
import type { World } from "../environment.ts";
import type { Failure, Unsent } from "../failures.ts";
import type { Limits } from "../limits.ts";
import type { Attempts } from "../attempts.ts";
import type { SessionCore } from "../session/session-core.ts";
import type { PendingEvent, Transaction, TransactionOptions } from "../transactions/transaction.ts";
import type { HistoryStep } from "./history-steps.ts";
import type { PolicyStep } from "./entries.ts";

/** What came of an evaluation. */
export type EvaluationOutcome = { readonly response: PromptResponse<unknown> } | { readonly error: EvaluationFailure };

/** Calls of a turn that the record answers. */
export interface KeptCalls {
  /** The answers in the order of the calls; undefined: the record has no end of that call, so it is run. */
  readonly answers: readonly (ToolMessage | undefined)[];
  /** The limit that ended the evaluation meanwhile. */
  readonly stop: Failure | undefined;
}

/** Tokens that were not reported. */
export type UsageEstimate = Pick<Usage, "inputTokens" | "outputTokens">;

type OnDelta = (delta: ModelDelta) => void;

/** A request, and how it is asked where the record has no answer to it. */
export interface RecordedRequest {
  readonly attempt: number;
  /** undefined: an agent's turn. */
  readonly request: ModelRequest | undefined;
  /** Milliseconds that the pace of the evaluation held it back: a replay has no pace. */
  readonly queuedMs?: number | undefined;
  readonly onDelta: OnDelta | undefined;
  /** The agent's turn that it is; left out: a model is asked. */
  readonly turn?: AgentTurn | undefined;
  ask(onDelta: OnDelta | undefined): Promise<ModelResponse | ModelFailure>;
}

/** A turn of an agent, which calls tools while it works. */
export interface AgentTurn {
  /** Runs a call of the agent, as the agent itself would have it run. */
  execute(call: ToolCall): Promise<unknown>;
  /** No call begins any more; resolves when those that have begun are over, which a failure of the turn ends. */
  idle(answer: { readonly failure?: ModelFailure["failure"] | undefined; readonly cause?: unknown }): Promise<void>;
  /** An estimate of the tokens that it has produced so far. */
  produced(): number;
  /** Whether it has failed while a call of it was under way, which was stopped for that. */
  hasFailed(): boolean;
  /** Whether one of its calls has ended it. */
  isStopped(): boolean;
  /** The record says what it had produced. */
  hasProduced(tokens: number): void;
}

/** The key of a call, which is made where it is read. */
export interface KeyOfCall {
  readonly value: string;
}

/** A handler that is about to begin. */
export interface HandlerParts<Invocation> {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly input: unknown;
  readonly calling: {
    readonly context: ToolContext;
    callKey(): KeyOfCall;
    beginReconcile(): void;
    beginCheck(policy: ToolPolicy): void;
    /** Whether its handler has begun evaluations inside the call. */
    hasEvaluated(): boolean;
  };
  execute(): Invocation | Promise<Invocation>;
  /** Does work that does not count as the tool's own time. */
  outside<T>(work: () => Promise<T>): Promise<T>;
  /** The result that a returned value makes. */
  checked(value: unknown): Invocation | Promise<Invocation>;
  /** The result of a call whose handler does not begin; its message is what the model reads. */
  refused(message: string): Invocation;
  /** Why it may not begin any more; undefined: it may. */
  whyTooLate(): Invocation | undefined;
  /** The result of a call that threw. */
  thrown(error: unknown): Invocation;
  /** The policies that watch the tool. */
  readonly policies: readonly ToolPolicy[];
}

/** A policy that is asked about a call. */
export interface PolicyQuestion {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly input: unknown;
  readonly policy: ToolPolicy;
  readonly step: PolicyStep;
}

/** The part of a record that numbers events. */
export interface TapeNumbers {
  /** Returns the event with its number, and whether listeners receive it; undefined: nothing is emitted any more. */
  number(run: NumberingRun, filled: object): NumberedEvent | undefined;
}

/** What a record needs of an evaluation that emits. */
export interface NumberingRun {
  readonly core: SessionCore;
  readonly evaluationId: string;
  /** Whether it is inside a call. */
  readonly isInside: boolean;
}

/**
 * The record of a run, while an evaluation goes through it: first all is answered from what stands, then what happens is
 * appended. Evaluations inside calls share it and append alone. A difference is thrown, and counts more than what the
 * evaluation comes to.
 */
export interface Tape<Run> extends TapeNumbers {
  readonly runId: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** Whether nothing is run and nothing is opened: all comes from the record. */
  readonly isReplay: boolean;
  /** Whether handlers run again beside a replay: their time is then that of the record, whatever they take now. */
  readonly isRerun: boolean;
  /** How a replay runs handlers and policies again, in an evaluation beside it, where they have to come to the same. */
  runAgain(evaluate: (tape: Tape<Run>) => Promise<unknown>): void;
  /** Whether every request is answered from the record: none needs the bytes of its files, or a model that takes them. */
  readonly sendsNothing: boolean;
  /** Why the request that comes next was refused before it was sent, as the record has it; undefined: it was not. */
  refusal(): string | undefined;
  /** Returns the setup with the clock, the ids and the randomness of the record. */
  setup<S extends { readonly world: World }>(setup: S): S;
  /** Where the bytes of files are kept, where the evaluation has no Blobs; undefined: nowhere. */
  readonly blobs: Blobs | undefined;
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
  /**
   * An application's event that a call had dispatched counts now, or is about to be delivered. Returns whether listeners
   * receive it: not where they did in an earlier attempt.
   */
  dispatched(run: Run, pending: PendingEvent): boolean;
  /** Application's events that a call had dispatched are undone with it. */
  undone(run: Run, events: readonly PendingEvent[]): void;
  /** Whether the recorded evaluation might have begun again with another model. */
  readonly hasAttempts: boolean;
  /** Returns the attempts as the record has them, and these beyond it. */
  attempts(given: Attempts): Attempts;
  /** An attempt after which the evaluation may begin again is about to begin. */
  beginAttempt(run: Run): void;
  /**
   * Ends the attempt of an evaluation that may begin again, where calls are about to begin that may change what outlives the
   * process. undefined: they do not.
   */
  endingAttempt(run: Run, resources: TransactionOptions["resources"]): Promise<void> | undefined;
  answer(run: Run, request: RecordedRequest): Promise<ModelResponse | ModelFailure>;
  /** An agent calls a tool, within its turn. `produced`: an estimate of its tokens so far. */
  called(run: Run, call: ToolCall, produced: number): void;
  /** Returns the options: those of the record where it is replayed, and no limits where it has ended. */
  options(given: EvaluateOptions): EvaluateOptions;
  /**
   * Whether a limit of the loop itself ends the evaluation here: its turns, or its repairs. Where the record goes on, none
   * did. `code`: that of the error that it would be; undefined: it would be none. `isMet`: what the options say.
   */
  endsLoop(run: Run, code: EvaluationFailure["code"] | undefined, isMet: () => boolean): boolean;
  /** Why an answer is not whole, where a budget's limit is the reason. `text`: that of the answer, if there is one. */
  cut(run: Run, ask: () => Failure | undefined, text?: string): Failure | undefined;
  /**
   * Asked before the evaluation does this to its history. true: the record goes on without it, and may differ from what there
   * is now, so that the history stays as it is; the record is marked as adopted for that.
   */
  keepsHistory(run: Run, step: HistoryStep): boolean;
  /** Whether a refused request goes out once more as it is, since the record has it again with a shortened history. */
  repeats(run: Run): boolean;
  /** Whether a refused request goes out once more without its limit. `lift`: takes the limit away where there is one. */
  lifts(run: Run, lift: () => boolean): boolean;
  /** Whether the next request is answered from the record, so that it waits for no pace. */
  isKept(): boolean;
  /**
   * What a request costs that has no answer: `spend` counts it, where the record does not say it. What it cost is counted in
   * the usage of the evaluation.
   */
  unanswered(run: Run, spend: () => Usage): Usage;
  /** Keeps what its pace refused a request with. Without one: returns the refusal that the record has here; undefined: none. */
  unsent(run: Run, refused?: Unsent): Unsent | undefined;
  /** What an older record says that the tries had cost of a request that a limit ended; undefined: it has nothing of them. */
  tries(): Usage | undefined;
  /**
   * The tokens of a request and its answer where the provider does not say them: estimated from texts of which the record may
   * show less.
   */
  estimate(run: Run, reported: ReportedUsage | undefined, estimate: UsageEstimate): UsageEstimate;
  /** What a request cost in US dollars, where its provider does not say it. */
  cost(run: Run, compute: () => number | undefined): number | undefined;
  /** Milliseconds before a refused request is made again, by the policy of then; undefined: it is given up. */
  delay(run: Run, compute: () => number | undefined): number | undefined;
  /** Waits, unless the record says that the wait is over. */
  waited(run: Run, wait: () => Promise<unknown>): Promise<unknown>;
  /** An answer is announced: where an attempt ended with that, what comes next has the time of the attempt that went on. */
  announced(run: Run): void;
  checked(run: Run, check: () => Promise<string | undefined>): Promise<string | undefined>;
  /** undefined: the record has none of these calls, so all are run. */
  calls(run: Run, calls: readonly ToolCall[]): Promise<KeptCalls | undefined> | undefined;
  /**
   * Runs a handler when it is kept that it begins. A call that an earlier attempt may have done is run again only
   * where its tool allows that; else its `reconcile` is asked.
   */
  handler<Invocation>(run: Run, parts: HandlerParts<Invocation>): Invocation | Promise<Invocation>;
  /** The idempotency key that a call had; undefined: it is made. */
  keyOf(run: Run, call: ToolCall): string | undefined;
  /** The message of a call with the feedback that it had, where its tool runs again; undefined: the providers are asked. */
  feedback(run: Run, call: ToolCall, message: ToolMessage): ToolMessage | undefined;
  /** What was decided on this question in another attempt; undefined: the policy is asked. */
  decided(run: Run, question: PolicyQuestion): PolicyDecision | undefined;
  /**
   * The run waits for this decision: it is suspended when the call is undone. Returns where it cannot wait: what is around
   * the call may not be run again.
   * @throws where it is suspended.
   */
  suspend(run: Run, question: PolicyQuestion, later: Suspension): void;
  /** @throws the fault that the evaluation ends with. */
  assertNoFault(): void;
  /** Something is not there. @throws {TapeFault} "state" where steps of the record rest on it: the run goes on when it is. */
  lost(why: unknown): void;
  /** The fault that the evaluation ends with, whatever it comes to; undefined: there is none. */
  error(run: Run): EvaluationFailure | undefined;
  /** Several calls of a turn are about to run at the same time: a limit that comes meanwhile is recorded by `stops`. */
  callsOverlap(run: Run): void;
  /**
   * Records the limit that came while calls ran: behind the calls that had ended by themselves, and before those that it
   * stopped. `stop`: why the call that is recorded next was stopped; undefined: all calls are recorded.
   */
  stops(run: Run, stop?: Failure): void;
  /** Records a call that has ended, also where another one, beside it, has suspended the run. */
  keeping<T>(run: Run, ended: EndedCall, record: () => T | Promise<T>): T | Promise<T>;
  /** A call has succeeded: it counts, or will when its transaction has ended. */
  succeeded(run: Run, call: ToolCall, transaction: Transaction): void;
  /** A transaction of the run's calls is about to end. undefined: nothing of it is outside the record. */
  committing(run: Run, transaction: Transaction): Promise<void> | undefined;
  /** The transaction has ended. */
  committed(run: Run, transaction: Transaction): Promise<void> | undefined;
  facts(): RunFacts;
  /** An evaluation inside a call is over: resolves when the handler may go on; undefined: at once. */
  over(run: Run): Promise<void> | undefined;
  /** Ends the record, and returns what the evaluation came to. */
  end(run: Run, outcome: EvaluationOutcome): Promise<EvaluationOutcome>;
  /** The evaluation could not begin: returns what it rejects with. */
  notBegun(error: EvaluationFailure): Promise<EvaluationFailure>;
}

/** A call that is over. */
export interface EndedCall {
  readonly call: ToolCall;
  /** The limit that stopped it; undefined: it ended by itself. */
  readonly stop?: Failure | undefined;
  /** What it failed with. */
  readonly cause?: unknown;
}

/** A numbered event. */
export interface NumberedEvent {
  readonly event: FrameworkEvent;
  /** Whether listeners receive it: not where they did in an earlier attempt. */
  readonly isEmitted: boolean;
}
