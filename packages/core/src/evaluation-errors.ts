import { acrossCopies } from "./across-copies.ts";
import type { BudgetExceededError } from "./budget-error.ts";
import { ProvisoError } from "./errors.ts";
import type { EvaluationPhase, ProviderErrorReason, ThrottleKind } from "./failure-kinds.ts";
import type { InternalError } from "./internal-error.ts";
import type { Usage } from "./limits/usage.ts";
import type { ListenerError } from "./listener-error.ts";
import type { ProcessError } from "./process-error.ts";
import type { RunError } from "./run-error.ts";
import type { Message } from "./provider/message.ts";
import type { ToolInvoked } from "./state/events.ts";
import type { DeadlockError, RestoreError } from "./transaction-errors.ts";
import { isObjectOrFunction } from "./values.ts";

/** The fields of an EvaluationFailure beside its message. */
export interface EvaluationDetails {
  /** The part of the evaluation in which it failed. */
  readonly phase: EvaluationPhase;
  /** `namespace/key` of the prompt. */
  readonly promptName: string;
  /** What the provider answered, as it was received. */
  readonly providerPayload?: unknown;
  /** What the requests of the evaluation spent before it failed, without the evaluations inside its tools. */
  readonly usage: Usage;
  /** Answered calls only: can be given to the next evaluation as `messages`. */
  readonly messages: readonly Message[];
  /** The calls with a `tool.invoked`, in their order. A call that a limit ended before it began has a message alone. */
  readonly toolResults: readonly ToolInvoked[];
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/** Base of all that `evaluate` throws. */
export abstract class PromptEvaluationError extends ProvisoError {
  /** The part of the evaluation in which it failed. */
  readonly phase: EvaluationPhase;
  /** `namespace/key` of the prompt. */
  readonly promptName: string;
  /** What the provider answered, as it was received; undefined where it answered nothing. */
  readonly providerPayload: unknown;
  /**
   * What the requests of the evaluation spent until it failed. What its tools evaluated is not in it; a tracker given as
   * `budget` has the whole: `countSpending()` only counts.
   */
  readonly usage: Usage;
  /** The history until the failure; `continueFrom` takes the error and goes on from there. */
  readonly messages: readonly Message[];
  /** The calls with a `tool.invoked`, in their order. A call that a limit ended before it began has a message alone. */
  readonly toolResults: readonly ToolInvoked[];
  constructor(message: string, details: EvaluationDetails) {
    super(message, details);
    this.phase = details.phase;
    this.promptName = details.promptName;
    this.providerPayload = details.providerPayload;
    this.usage = details.usage;
    this.messages = details.messages;
    this.toolResults = details.toolResults;
    failures().add(this);
  }
}

let made: WeakSet<object> | undefined;

/** The failures that any copy of this package has made. */
function failures(): WeakSet<object> {
  return (made ??= acrossCopies("core: evaluation failures, 1", () => new WeakSet<object>()));
}

/**
 * What `evaluate` was called with cannot be: a wrong or unknown option, or a prompt that is not bound. The caller's code
 * has to change; the cause is a DefinitionError.
 */
export class OptionError extends PromptEvaluationError {
  readonly code = "option";
  override readonly name = "OptionError";
  /** The option's name; undefined where it is the prompt, or the options as a whole. */
  readonly option: string | undefined;
  constructor(message: string, details: EvaluationDetails & { readonly option?: string | undefined }) {
    super(message, details);
    this.option = details.option;
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
  /** What kept the provider from answering. */
  readonly kind: ThrottleKind;
  /** Milliseconds the provider asked for, if it did. */
  readonly retryAfterMs: number | undefined;
  /** Requests made, the first included. */
  readonly attempts: number;
  /** HTTP status of the last refusal, where there was one. */
  readonly status: number | undefined;
  constructor(
    message: string,
    details: EvaluationDetails & {
      readonly kind: ThrottleKind;
      readonly retryAfterMs: number | undefined;
      readonly attempts: number;
      readonly status?: number | undefined;
    },
  ) {
    super(message, details);
    this.kind = details.kind;
    this.retryAfterMs = details.retryAfterMs;
    this.attempts = details.attempts;
    this.status = details.status;
  }
}

/** The provider refused the request for good, or its answer cannot be used. */
export class ProviderError extends PromptEvaluationError {
  readonly code = "provider";
  override readonly name = "ProviderError";
  /** Why the provider refused or could not be understood. */
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
  /** The model's last answer, as it was received. */
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
  /** The moment of the deadline that was met. */
  readonly expiresAt: Date;
  constructor(message: string, details: EvaluationDetails & { readonly expiresAt: Date }) {
    super(message, details);
    this.expiresAt = details.expiresAt;
  }
}

/** No answer within `maxTurns` turns. The repeated requests of one turn count once. */
export class TurnLimitError extends PromptEvaluationError {
  readonly code = "turns";
  override readonly name = "TurnLimitError";
}

/** The caller's signal fired; its reason is the cause. */
export class AbortedError extends PromptEvaluationError {
  readonly code = "aborted";
  override readonly name = "AbortedError";
}

/** Every error that `evaluate` throws. Switch over `code`. */
export type EvaluationFailure =
  | OptionError
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
  | DeadlockError
  | RunError;

/** Returns whether an error is one that `evaluate` throws, of this copy of the package or of another one. Never throws. */
export function isEvaluationFailure(error: unknown): error is EvaluationFailure {
  try {
    return error instanceof PromptEvaluationError || (isObjectOrFunction(error) && failures().has(error));
  } catch {
    // A revoked proxy cannot even be asked for its class.
    return false;
  }
}
