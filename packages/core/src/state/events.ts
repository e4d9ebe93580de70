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
export interface ProviderRequested extends EventBase<"provider.requested"> {
  /** From 1. */
  readonly turn: number;
  /** From 1. */
  readonly attempt: number;
}
export interface ProviderThrottled extends EventBase<"provider.throttled"> {
  readonly turn: number;
  readonly attempt: number;
  readonly kind: ThrottleKind;
  /** undefined: given up. */
  readonly delayMs: number | undefined;
  readonly retryAfterMs: number | undefined;
}
export interface ProviderResponded extends EventBase<"provider.responded"> {
  readonly turn: number;
  /** Of this turn alone. */
  readonly usage: Usage;
  readonly finishReason: FinishReason;
  readonly durationMs: number;
}
export interface TextDelta extends EventBase<"text.delta"> {
  readonly turn: number;
  readonly text: string;
}
/** A streamed attempt failed and is asked again: drop the deltas of this turn. */
export interface TextReset extends EventBase<"text.reset"> {
  readonly turn: number;
}
/** What has arrived of a structured output so far. */
export interface OutputDelta<Output = unknown> extends EventBase<"output.delta"> {
  readonly turn: number;
  readonly partial: PartialOutput<Output>;
}
/** A handler is about to run. */
export interface ToolRequested extends EventBase<"tool.requested"> {
  readonly turn: number;
  readonly callId: string;
  readonly name: string;
  /** Exactly as the model sent it. */
  readonly arguments: string;
}
/** A call is over, well or not. */
export interface ToolInvoked<Input = unknown, Value = unknown> extends EventBase<"tool.invoked"> {
  readonly turn: number;
  readonly callId: string;
  readonly name: string;
  readonly params: Input | RejectedParams;
  readonly result: ToolResult<Value>;
  readonly durationMs: number;
}
/** Of a call whose arguments did not validate. */
export interface RejectedParams {
  readonly rawArguments: string;
  readonly error: string;
}
export interface SectionsOpened extends EventBase<"sections.opened"> {
  readonly promptName: string;
  /** Dotted paths. */
  readonly keys: readonly string[];
  /** Dotted paths of those that a handler summarised again. */
  readonly closed?: readonly string[];
  readonly reason: string;
}
export interface FeedbackGiven extends EventBase<"feedback.given"> {
  readonly promptName: string;
  readonly callId: string;
  readonly provider: string;
  readonly text: string;
}
export interface PromptExecuted extends EventBase<"prompt.executed"> {
  readonly promptName: string;
  readonly output: unknown;
  readonly text: string | null;
  /** The sum of all turns. */
  readonly usage: Usage;
  readonly turns: number;
  readonly durationMs: number;
}
export interface PromptFailed extends EventBase<"prompt.failed"> {
  readonly promptName: string;
  readonly code: EvaluationFailure["code"];
  readonly phase: EvaluationPhase;
  readonly message: string;
  readonly usage: Usage;
  readonly turns: number;
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
  "sections.opened": true,
  "feedback.given": true,
  "prompt.executed": true,
  "prompt.failed": true,
};

/** The names that an application's own events may not have. */
export function isFrameworkEventType(type: string): type is FrameworkEvent["type"] {
  return Object.hasOwn(types, type);
}
