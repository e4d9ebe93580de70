import type { BudgetDimension, Usage } from "./limits/usage.ts";
import type { Message } from "./provider/message.ts";
import type { PromptResponse } from "./provider/adapter.ts";
import type { ToolInvoked } from "./state/events.ts";
import type { Visibility } from "./prompt/visibility.ts";
import type { InternalError } from "./internal-error.ts";
import type { DeadlockError, RestoreError } from "./transaction-errors.ts";

/** Where an evaluation was when it failed. */
export type EvaluationPhase = "render" | "request" | "tool" | "response";

/** Why a request was refused for the moment; the `kind` of a ThrottleError. All of them are asked again. */
export type ThrottleKind = "rate_limit" | "quota_exhausted" | "timeout" | "server_error" | "unknown";

/** Why a provider did not answer, where asking again would not help; the `reason` of a ProviderError. */
export type ProviderErrorReason =
  | "api_key"
  | "context_length"
  | "not_found"
  | "bad_request"
  | "content_filter"
  | "refusal"
  | "truncated"
  | "invalid_response"
  | "unknown";

/** Base of every error of ours. Branch on `code`, never on `message`. */
export abstract class ProvisoError extends Error {
  abstract readonly code: string;
}

/** A prompt, section, tool, slice, resource or adapter is defined or used wrongly. */
export class DefinitionError extends ProvisoError {
  readonly code = "definition";
  override readonly name = "DefinitionError";
}

/** An option that is declared and not built yet: refused rather than ignored. */
export class NotSupportedError extends ProvisoError {
  readonly code = "not_supported";
  override readonly name = "NotSupportedError";
  readonly feature: string;
  constructor(feature: string) {
    super(`${feature} is not supported yet.`);
    this.feature = feature;
  }
}

/** Why a filesystem refused or failed; the `reason` of a FilesystemError. */
export type FilesystemFault =
  | "not_found"
  | "invalid_path"
  | "not_a_file"
  | "not_a_directory"
  | "outside_root"
  | "special_file"
  | "read_only"
  | "too_large"
  | "busy"
  | "failed";

/** A filesystem refused or failed; a tool that lets it pass shows its message to the model. */
export class FilesystemError extends ProvisoError {
  readonly code = "filesystem";
  override readonly name = "FilesystemError";
  readonly reason: FilesystemFault;
  /** As it was given. */
  readonly path: string;
  constructor(
    message: string,
    details: { readonly reason: FilesystemFault; readonly path: string; readonly cause?: unknown },
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.reason = details.reason;
    this.path = details.path;
  }
}

/** A tool's context, or a resource of its, used after its call was over. */
export class RevokedError extends ProvisoError {
  readonly code = "revoked";
  override readonly name = "RevokedError";
}

/** What a failed evaluation has to tell beside its message. */
export interface EvaluationDetails {
  readonly phase: EvaluationPhase;
  readonly promptName: string;
  readonly providerPayload?: unknown;
  /** What was spent before it failed. */
  readonly usage: Usage;
  /** Answered calls only: can be given to the next evaluation as `messages`. */
  readonly messages: readonly Message[];
  readonly toolResults: readonly ToolInvoked[];
  readonly cause?: unknown;
}

/** Base of all that `evaluate` throws. */
export abstract class PromptEvaluationError extends ProvisoError {
  readonly phase: EvaluationPhase;
  readonly promptName: string;
  readonly providerPayload: unknown;
  readonly usage: Usage;
  readonly messages: readonly Message[];
  readonly toolResults: readonly ToolInvoked[];
  constructor(message: string, details: EvaluationDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.phase = details.phase;
    this.promptName = details.promptName;
    this.providerPayload = details.providerPayload;
    this.usage = details.usage;
    this.messages = details.messages;
    this.toolResults = details.toolResults;
  }
}

/** The prompt could not be rendered, or what it declares could not be opened. */
export class PromptRenderError extends PromptEvaluationError {
  readonly code = "render";
  override readonly name = "PromptRenderError";
}

/** The provider kept refusing, or asked for a longer wait than the limits allow. */
export class ThrottleError extends PromptEvaluationError {
  readonly code = "throttled";
  override readonly name = "ThrottleError";
  readonly kind: ThrottleKind;
  /** Milliseconds the provider asked for, if it did. */
  readonly retryAfterMs: number | undefined;
  /** Requests made, the first included. */
  readonly attempts: number;
  /** Always false: the retries are spent. */
  readonly retrySafe: boolean;
  constructor(
    message: string,
    details: EvaluationDetails & {
      readonly kind: ThrottleKind;
      readonly retryAfterMs: number | undefined;
      readonly attempts: number;
    },
  ) {
    super(message, details);
    this.kind = details.kind;
    this.retryAfterMs = details.retryAfterMs;
    this.attempts = details.attempts;
    this.retrySafe = false;
  }
}

/** The provider refused the request for good, or its answer cannot be used. */
export class ProviderError extends PromptEvaluationError {
  readonly code = "provider";
  override readonly name = "ProviderError";
  readonly reason: ProviderErrorReason;
  /** HTTP status, where there was one. */
  readonly status: number | undefined;
  constructor(
    message: string,
    details: EvaluationDetails & { readonly reason: ProviderErrorReason; readonly status?: number | undefined },
  ) {
    super(message, details);
    this.reason = details.reason;
    this.status = details.status;
  }
}

/** The final answer is not what the output schema asks for. */
export class OutputParseError extends PromptEvaluationError {
  readonly code = "output";
  override readonly name = "OutputParseError";
  readonly rawText: string;
  /** The first 100; the message says how many there are. */
  readonly issues: readonly { readonly path: string; readonly message: string }[];
  constructor(
    message: string,
    details: EvaluationDetails & {
      readonly rawText: string;
      readonly issues: readonly { readonly path: string; readonly message: string }[];
    },
  ) {
    super(message, details);
    this.rawText = details.rawText;
    this.issues = details.issues;
  }
}

/** The deadline passed; `evaluate` settles at most 100 ms later. */
export class DeadlineExceededError extends PromptEvaluationError {
  readonly code = "deadline";
  override readonly name = "DeadlineExceededError";
  readonly expiresAt: Date;
  constructor(message: string, details: EvaluationDetails & { readonly expiresAt: Date }) {
    super(message, details);
    this.expiresAt = details.expiresAt;
  }
}

/** More was spent than the budget allows, or nothing was left for the next request. */
export class BudgetExceededError extends PromptEvaluationError {
  readonly code = "budget";
  override readonly name = "BudgetExceededError";
  readonly dimension: BudgetDimension;
  constructor(message: string, details: EvaluationDetails & { readonly dimension: BudgetDimension }) {
    super(message, details);
    this.dimension = details.dimension;
  }
}

/** More requests than `maxTurns`. */
export class TurnLimitError extends PromptEvaluationError {
  readonly code = "turns";
  override readonly name = "TurnLimitError";
}

/** The caller's signal fired; its reason is the cause. */
export class AbortedError extends PromptEvaluationError {
  readonly code = "aborted";
  override readonly name = "AbortedError";
}

/** A listener threw on `prompt.executed`: nothing paid for is lost. */
export class ListenerError extends PromptEvaluationError {
  readonly code = "listener";
  override readonly name = "ListenerError";
  readonly errors: readonly unknown[];
  readonly response: PromptResponse<unknown>;
  constructor(
    message: string,
    details: EvaluationDetails & { readonly errors: readonly unknown[]; readonly response: PromptResponse<unknown> },
  ) {
    super(message, details);
    this.errors = details.errors;
    this.response = details.response;
  }
}

/** A command-line model or agent ended badly. */
export class ProcessError extends PromptEvaluationError {
  readonly code = "process";
  override readonly name = "ProcessError";
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stderr: string;
  constructor(
    message: string,
    details: EvaluationDetails & {
      readonly exitCode: number | null;
      readonly signal: string | null;
      readonly stderr: string;
    },
  ) {
    super(message, details);
    this.exitCode = details.exitCode;
    this.signal = details.signal;
    this.stderr = details.stderr;
  }
}

/** A tool handler may throw it: its changes are undone, the sections open, the loop goes on. */
export class VisibilityExpansionRequired extends ProvisoError {
  readonly code = "visibility";
  override readonly name = "VisibilityExpansionRequired";
  readonly requested: Readonly<Record<string, Visibility>>;
  readonly reason: string;
  constructor(requested: Readonly<Record<string, Visibility>>, reason: string) {
    super(`Sections must be opened: ${Object.keys(requested).join(", ")}. ${reason}`);
    this.requested = requested;
    this.reason = reason;
  }
}

/** All that `evaluate` throws, to switch over `code`. */
export type EvaluationFailure =
  | PromptRenderError
  | ThrottleError
  | ProviderError
  | OutputParseError
  | DeadlineExceededError
  | BudgetExceededError
  | TurnLimitError
  | AbortedError
  | ListenerError
  | ProcessError
  | InternalError
  | RestoreError
  | DeadlockError;

/** Tells `evaluate`'s own errors from everything else. Never throws. */
export function isEvaluationFailure(error: unknown): error is EvaluationFailure {
  try {
    return error instanceof PromptEvaluationError;
  } catch {
    // A revoked proxy cannot even be asked for its class.
    return false;
  }
}
