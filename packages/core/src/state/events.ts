import type { StoredFile } from "../content/file.ts";
import type { EvaluationFailure } from "../evaluation-errors.ts";
import type { EvaluationPhase } from "../failure-kinds.ts";
import type { Usage } from "../limits/usage.ts";
import type { PartialOutput } from "../provider/adapter.ts";
import type { ToolResult } from "../tool/result.ts";
import type { EventBase } from "./event-base.ts";
import type { PromptRendered } from "./prompt-rendered.ts";
import type { ProviderRequested, ProviderResponded, ProviderThrottled } from "./provider-events.ts";
import type { ProviderToolUsed, ReasoningDelta, TextDelta, TextReset } from "./answer-events.ts";

/** What has arrived of a structured output so far. */
export interface OutputDelta<Output = unknown> extends EventBase<"output.delta"> {
  /** The turn's number, from 1. */
  readonly turn: number;
  /** The output as far as it has been received. */
  readonly partial: PartialOutput<Output>;
}
/** The model asked for a call whose arguments fit. It may yet be denied, or not be approved. */
export interface ToolRequested extends EventBase<"tool.requested"> {
  /** The turn's number, from 1. */
  readonly turn: number;
  /** The id of the call: the model's, or a new one where that was missing or repeated. */
  readonly callId: string;
  /** The name of the tool. */
  readonly name: string;
  /** Exactly as the model sent it. */
  readonly arguments: string;
}
/** A call has made progress. It is emitted at once, whatever becomes of the call. */
export interface ToolProgress extends EventBase<"tool.progress"> {
  /** The turn's number, from 1. */
  readonly turn: number;
  /** The id of the call: the model's, or a new one where that was missing or repeated. */
  readonly callId: string;
  /** The name of the tool. */
  readonly name: string;
  /** How much is done, in whatever the tool counts. */
  readonly done: number;
  /** How much there is to do, where the tool knows it. */
  readonly total?: number | undefined;
  /** What the tool is doing. */
  readonly message?: string | undefined;
}
/** What is known of a call that is over, whether its handler was begun or not. */
interface CallEnded<Value> extends EventBase<"tool.invoked"> {
  /** The turn's number, from 1. */
  readonly turn: number;
  /** The id of the call: the model's, or a new one where that was missing or repeated. */
  readonly callId: string;
  /** The name of the tool. */
  readonly name: string;
  /** What the model reads of the call. */
  readonly result: ToolResult<Value>;
  /**
   * What the handler threw, or what vetoed the call, with its stack; undefined for every other result. It is not
   * enumerable, so no JSON, copy or saved session has it, and the model reads `result` alone.
   */
  readonly cause?: unknown;
  /** Milliseconds, with the waits for an approval and for locks. */
  readonly durationMs: number;
}
/** A call is over, well or not. Where `ran` is true, its `params` are the tool's input. */
export type ToolInvoked<Input = unknown, Value = unknown> =
  | (CallEnded<Value> & {
      /** The handler was begun: where the result is a failure, what it did was undone. */
      readonly ran: true;
      /** The validated arguments, as approved. */
      readonly params: Input;
    })
  | (CallEnded<Value> & {
      /** The handler was not begun. */
      readonly ran: false;
      /** The validated arguments, as approved; RejectedParams where they did not fit or the call could not begin. */
      readonly params: Input | RejectedParams;
    });
/** The params of a call whose arguments did not fit, or that could not begin: it has no locks, or a limit was met. */
export interface RejectedParams {
  /** The arguments as the model wrote them. */
  readonly rawArguments: string;
  /** Why they were rejected. */
  readonly error: string;
}

/**
 * The changes of a tool call could not be undone, or could not be made permanent. The session is unusable from then on;
 * the evaluation rejects with a RestoreError.
 */
export interface TransactionFailed extends EventBase<"transaction.failed"> {
  /** The turn's number, from 1. */
  readonly turn: number;
  /** Whether undoing or committing failed. */
  readonly operation: "rollback" | "commit";
  /** The calls whose changes it concerns. */
  readonly callIds: readonly string[];
  /** Why it failed, without secrets. */
  readonly message: string;
}

/** Sections were opened by the model, or opened and closed by a handler. */
export interface SectionsOpened extends EventBase<"sections.opened"> {
  /** `namespace/key` of the prompt. */
  readonly promptName: string;
  /** Dotted paths. */
  readonly keys: readonly string[];
  /** Dotted paths of those that a handler summarised again. */
  readonly closed?: readonly string[];
  /** Why the sections were opened: the reason that the model gave, or the handler that asked for it. */
  readonly reason: string;
}

/** A feedback provider's text was shown to the model, beside the result of the call `callId`. */
export interface FeedbackGiven extends EventBase<"feedback.given"> {
  /** `namespace/key` of the prompt. */
  readonly promptName: string;
  /** The call after which the feedback was given. */
  readonly callId: string;
  /** The name of the feedback provider. */
  readonly provider: string;
  /** What the model reads. */
  readonly text: string;
}

/** The history was shortened, so that the next request fits the model's window. */
export interface HistoryCompacted extends EventBase<"history.compacted"> {
  /** The number of the turn whose request is sent next, from 1. */
  readonly turn: number;
  /** "threshold": the request would have passed `compactAt`; "refused": the provider refused it as too long. */
  readonly why: "threshold" | "refused";
  /** Tokens of the request as it was; an estimate. */
  readonly before: number;
  /** Tokens of the request as it is now; an estimate. */
  readonly after: number;
  /** The ids of the calls whose results have become stubs. */
  readonly elided: readonly string[];
  /** How many messages gave way to a summary, or to a note that counts them. An earlier summary is one of them. */
  readonly replaced: number;
  /** Whether what gave way was summarised. */
  readonly summarised: boolean;
  /** The messages as they were, without secrets, as JSON in the blob store; without one `openFile` reads it in this process. */
  readonly transcript: StoredFile;
}

/** An evaluation has answered: its last event. */
export interface PromptExecuted extends EventBase<"prompt.executed"> {
  /** `namespace/key` of the prompt. */
  readonly promptName: string;
  /** The parsed output; the text where the prompt has no output schema. */
  readonly output: unknown;
  /** The model's last answer; null where the prompt has an output schema. */
  readonly text: string | null;
  /** The sum of all requests, with those that were repeated. */
  readonly usage: Usage;
  /** Turns that were begun; the last one has the answer. */
  readonly turns: number;
  /** Milliseconds. */
  readonly durationMs: number;
}

/** An evaluation was rejected: its last event. */
export interface PromptFailed extends EventBase<"prompt.failed"> {
  /** `namespace/key` of the prompt. */
  readonly promptName: string;
  /** The `code` of the error that the evaluation rejects with. */
  readonly code: EvaluationFailure["code"];
  /** The part of the evaluation in which it failed. */
  readonly phase: EvaluationPhase;
  /** The message of the error, without secrets. */
  readonly message: string;
  /** What the evaluation spent until it failed. */
  readonly usage: Usage;
  /** Turns that were begun: the last one may have no answer. */
  readonly turns: number;
  /** Milliseconds. */
  readonly durationMs: number;
}
/** An evaluation begins again: what the attempt before did to session and resources is undone, its events stay. */
export interface EvaluationRestarted extends EventBase<"evaluation.restarted"> {
  /** The number of the attempt that begins, from 2. */
  readonly attempt: number;
  /** The `code` of the error that ended the attempt before. */
  readonly code: EvaluationFailure["code"];
  /** The name of the adapter that is asked first now. */
  readonly provider: string;
  /** The model that it asks. */
  readonly model: string;
}
/** A run goes on, after a crash, a limit, a failure that may pass or a decision: the first event of its attempt. What its record holds is not emitted again. */
export interface RunResumed extends EventBase<"run.resumed"> {
  /** The id of the run. */
  readonly runId: string;
  /** The number of the attempt that begins, from 2. */
  readonly attempt: number;
  /** How many steps, answers of the model and tool calls, its record holds. */
  readonly keptSteps: number;
  /** The calls that may have been done: they had begun, and their end was not kept. */
  readonly unknown: readonly { readonly callId: string; readonly name: string }[];
  /**
   * What requests without an answer cost in earlier attempts, all together: those that were cut off or refused, and that its
   * record does not go on from. `inside`: those of evaluations inside its calls. Left out: nothing.
   */
  readonly unanswered?: { readonly own: Usage; readonly inside: Usage } | undefined;
}
/** A run waits for a decision: the last event of its attempt. */
export interface RunSuspended extends EventBase<"run.suspended"> {
  /** The id of the run. */
  readonly runId: string;
  /** The call that is to be decided on. */
  readonly callId: string;
  /** The name of its tool. */
  readonly name: string;
  /** The question that is to be decided. */
  readonly question: string;
}
/** The events that the framework emits: every step of an evaluation. */
export type FrameworkEvent =
  | PromptRendered
  | ProviderRequested
  | ProviderThrottled
  | ProviderResponded
  | TextDelta
  | ReasoningDelta
  | ProviderToolUsed
  | TextReset
  | OutputDelta
  | ToolRequested
  | ToolProgress
  | ToolInvoked
  | TransactionFailed
  | SectionsOpened
  | FeedbackGiven
  | HistoryCompacted
  | EvaluationRestarted
  | RunResumed
  | RunSuspended
  | PromptExecuted
  | PromptFailed;

const types: Record<FrameworkEvent["type"], true> = {
  "prompt.rendered": true,
  "provider.requested": true,
  "provider.throttled": true,
  "provider.responded": true,
  "text.delta": true,
  "reasoning.delta": true,
  "provider.tool": true,
  "text.reset": true,
  "output.delta": true,
  "tool.requested": true,
  "tool.progress": true,
  "tool.invoked": true,
  "transaction.failed": true,
  "sections.opened": true,
  "feedback.given": true,
  "history.compacted": true,
  "evaluation.restarted": true,
  "run.resumed": true,
  "run.suspended": true,
  "prompt.executed": true,
  "prompt.failed": true,
};

/** The names of the framework's events. */
export const frameworkEventTypes = Object.keys(types);

/** The names that an application's own events may not have. */
export function isFrameworkEventType(type: string): type is FrameworkEvent["type"] {
  return Object.hasOwn(types, type);
}
