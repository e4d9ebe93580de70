import type { EvaluationFailure, EvaluationPhase, ThrottleKind } from "../errors.ts";
import type { Usage } from "../limits/usage.ts";
import type { PromptDescriptor } from "../prompt/descriptor.ts";
import type { FinishReason } from "../provider/model.ts";
import type { PartialOutput } from "../provider/adapter.ts";
import type { ToolResult } from "../tool/result.ts";

export interface EventBase<Type extends string> {
  readonly type: Type;
  readonly sessionId: string;
  readonly evaluationId: string;
  /** Of a nested evaluation: the call it runs in. */
  readonly parent?: { readonly evaluationId: string; readonly callId: string };
  /** Gap-free within the session, from 0. */
  readonly seq: number;
  /** Epoch milliseconds, from the run's clock. */
  readonly at: number;
}

/** An evaluation begins: what the model will be shown. */
export interface PromptRendered extends EventBase<"prompt.rendered"> {
  readonly promptName: string;
  readonly adapter: string;
  readonly model: string;
  readonly text: string;
  readonly tools: readonly string[];
  readonly params: Readonly<Record<string, unknown>>;
  readonly descriptor: PromptDescriptor;
  readonly overrides:
    | { readonly tag: string; readonly applied: readonly string[]; readonly stale: readonly string[] }
    | undefined;
}

/** A request is about to be sent. */
export interface ProviderRequested extends EventBase<"provider.requested"> {
  /** From 1. */
  readonly turn: number;
  /** From 1. */
  readonly attempt: number;
}

/** A request was refused for the moment, or not answered in time. */
export interface ProviderThrottled extends EventBase<"provider.throttled"> {
  /** From 1. */
  readonly turn: number;
  /** The one that was refused, from 1. */
  readonly attempt: number;
  readonly kind: ThrottleKind;
  /** undefined: given up. */
  readonly delayMs: number | undefined;
  /** Milliseconds that the provider asked to wait, if it said so. */
  readonly retryAfterMs: number | undefined;
}

/** A request was answered. */
export interface ProviderResponded extends EventBase<"provider.responded"> {
  /** From 1. */
  readonly turn: number;
  /** Of this turn alone. */
  readonly usage: Usage;
  readonly finishReason: FinishReason;
  /** Milliseconds; repeated requests, and the waits between them, included. */
  readonly durationMs: number;
}

/** More of the answer's text, while it is streamed. */
export interface TextDelta extends EventBase<"text.delta"> {
  /** From 1. */
  readonly turn: number;
  readonly text: string;
}
/** A streamed attempt failed and is asked again: drop the deltas of this turn. */
export interface TextReset extends EventBase<"text.reset"> {
  /** From 1. */
  readonly turn: number;
}
/** What has arrived of a structured output so far. */
export interface OutputDelta<Output = unknown> extends EventBase<"output.delta"> {
  /** From 1. */
  readonly turn: number;
  readonly partial: PartialOutput<Output>;
}
/** The model asked for a call whose arguments fit. It may yet be denied, or not be approved. */
export interface ToolRequested extends EventBase<"tool.requested"> {
  /** From 1. */
  readonly turn: number;
  readonly callId: string;
  readonly name: string;
  /** Exactly as the model sent it. */
  readonly arguments: string;
}
/** A call is over, well or not. */
export interface ToolInvoked<Input = unknown, Value = unknown> extends EventBase<"tool.invoked"> {
  /** From 1. */
  readonly turn: number;
  readonly callId: string;
  readonly name: string;
  /** What the handler got. */
  readonly params: Input | RejectedParams;
  readonly result: ToolResult<Value>;
  /**
   * What the handler threw, or what vetoed the call, with its stack; undefined for every other result. It is not
   * enumerable, so no JSON, copy or saved session has it, and the model reads `result` alone.
   */
  readonly cause?: unknown;
  /** Milliseconds, with the waits for an approval and for locks. */
  readonly durationMs: number;
}
/** Of a call whose arguments did not validate. */
export interface RejectedParams {
  readonly rawArguments: string;
  readonly error: string;
}

/**
 * The changes of a tool call could not be undone, or could not be made permanent. The session is unusable from then on;
 * the evaluation rejects with a RestoreError.
 */
export interface TransactionFailed extends EventBase<"transaction.failed"> {
  /** From 1. */
  readonly turn: number;
  readonly operation: "rollback" | "commit";
  readonly callIds: readonly string[];
  readonly message: string;
}

/** Sections were opened by the model, or opened and closed by a handler. */
export interface SectionsOpened extends EventBase<"sections.opened"> {
  readonly promptName: string;
  /** Dotted paths. */
  readonly keys: readonly string[];
  /** Dotted paths of those that a handler summarised again. */
  readonly closed?: readonly string[];
  readonly reason: string;
}

/** A feedback provider's text was shown to the model, beside the result of the call `callId`. */
export interface FeedbackGiven extends EventBase<"feedback.given"> {
  readonly promptName: string;
  readonly callId: string;
  readonly provider: string;
  readonly text: string;
}

/** An evaluation has answered: its last event. */
export interface PromptExecuted extends EventBase<"prompt.executed"> {
  readonly promptName: string;
  readonly output: unknown;
  readonly text: string | null;
  /** The sum of all turns. */
  readonly usage: Usage;
  /** Answers of the model. */
  readonly turns: number;
  /** Milliseconds. */
  readonly durationMs: number;
}

/** An evaluation was rejected: its last event. */
export interface PromptFailed extends EventBase<"prompt.failed"> {
  readonly promptName: string;
  readonly code: EvaluationFailure["code"];
  readonly phase: EvaluationPhase;
  readonly message: string;
  readonly usage: Usage;
  /** Answers of the model. */
  readonly turns: number;
  /** Milliseconds. */
  readonly durationMs: number;
}
/** Every step of an evaluation, told by the framework. */
export type FrameworkEvent =
  | PromptRendered
  | ProviderRequested
  | ProviderThrottled
  | ProviderResponded
  | TextDelta
  | TextReset
  | OutputDelta
  | ToolRequested
  | ToolInvoked
  | TransactionFailed
  | SectionsOpened
  | FeedbackGiven
  | PromptExecuted
  | PromptFailed;

const types: Record<FrameworkEvent["type"], true> = {
  "prompt.rendered": true,
  "provider.requested": true,
  "provider.throttled": true,
  "provider.responded": true,
  "text.delta": true,
  "text.reset": true,
  "output.delta": true,
  "tool.requested": true,
  "tool.invoked": true,
  "transaction.failed": true,
  "sections.opened": true,
  "feedback.given": true,
  "prompt.executed": true,
  "prompt.failed": true,
};

/** The names that an application's own events may not have. */
export function isFrameworkEventType(type: string): type is FrameworkEvent["type"] {
  return Object.hasOwn(types, type);
}
