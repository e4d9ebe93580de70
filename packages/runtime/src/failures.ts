import {
  isRecord,
  AbortedError,
  BudgetExceededError,
  DeadlineExceededError,
  DeadlockError,
  OutputParseError,
  ProcessError,
  PromptRenderError,
  ProviderError,
  ThrottleError,
  TurnLimitError,
  type BudgetDimension,
  type BudgetTracker,
  type Deadline,
  type EvaluationDetails,
  type EvaluationFailure,
  type EvaluationPhase,
  type ModelFailure,
  type ProviderErrorReason,
  type SchemaIssue,
  type ThrottleKind,
} from "@proviso/core";

/** Why an evaluation ends without an answer, as steps tell each other; only `evaluate` makes an error of it. */
export type Failure = {
  readonly phase: EvaluationPhase;
  readonly message: string;
  readonly cause?: unknown;
  readonly payload?: unknown;
} & (
  | { readonly stop: "render" | "turns" }
  | { readonly stop: "aborted" }
  | { readonly stop: "deadline"; readonly expiresAt: Date }
  | { readonly stop: "budget"; readonly dimension: BudgetDimension; readonly tracker: BudgetTracker | undefined }
  | { readonly stop: "provider"; readonly reason: ProviderErrorReason; readonly status?: number | undefined }
  | {
      readonly stop: "process";
      readonly exitCode: number | null;
      readonly signal: string | null;
      readonly stderr: string;
    }
  | {
      readonly stop: "throttled";
      readonly kind: ThrottleKind;
      readonly retryAfterMs: number | undefined;
      readonly attempts: number;
      readonly status: number | undefined;
    }
  | { readonly stop: "deadlock"; readonly waitedFor: string; readonly heldBy: string }
  | {
      readonly stop: "output";
      readonly rawText: string;
      readonly issues: readonly SchemaIssue[];
      /** How many more there are. */
      readonly unlisted: number;
    }
);

export function isFailure(value: unknown): value is Failure {
  return isRecord(value) && typeof value["stop"] === "string";
}

/** An answer that does not fit. */
export type OutputFailure = Extract<Failure, { readonly stop: "output" }>;

/** The deadline's or the caller's end, whichever the signal carries. */
export type LimitFailure = Extract<Failure, { readonly stop: "deadline" | "aborted" }>;

export function deadlineFailure(deadline: Deadline, phase: EvaluationPhase): LimitFailure {
  const { expiresAt } = deadline;
  return { stop: "deadline", phase, expiresAt, message: `The deadline (${expiresAt.toISOString()}) has passed.` };
}

export function abortedFailure(cause: unknown, phase: EvaluationPhase): LimitFailure {
  return { stop: "aborted", phase, cause, message: "The evaluation was aborted." };
}

export function budgetFailure(dimension: BudgetDimension, phase: EvaluationPhase, tracker: BudgetTracker): Failure {
  const message = `The budget is spent: ${dimension.replace("_", " ")}.`;
  return { stop: "budget", phase, dimension, tracker, message };
}

export function providerFailure(
  reason: ProviderErrorReason,
  message: string,
  more: { readonly payload?: unknown; readonly status?: number | undefined; readonly cause?: unknown } = {},
): Failure {
  return { stop: "provider", phase: "response", reason, message, ...more };
}

/** What a provider refused for good, or a command that ended badly. */
export function refusedRequest(failure: Extract<ModelFailure, { failure: "provider" | "process" }>): Failure {
  if (failure.failure === "process") {
    const { exitCode, signal, stderr, message, payload, cause } = failure;
    return { stop: "process", phase: "request", exitCode, signal, stderr, message, payload, cause };
  }
  const { reason, message, payload, status, cause } = failure;
  const isRefused = (status ?? 0) >= 400 || !ofAnswers.has(reason);
  return { ...providerFailure(reason, message, { payload, status, cause }), phase: isRefused ? "request" : "response" };
}

/** What is wrong with an answer that came, on whatever API. */
const ofAnswers: ReadonlySet<ProviderErrorReason> = new Set([
  "invalid_response",
  "refusal",
  "content_filter",
  "truncated",
]);

/** The error that `evaluate` rejects with. */
export function errorOf(
  failure: Failure,
  spent: Pick<EvaluationDetails, "promptName" | "usage" | "messages" | "toolResults">,
): EvaluationFailure {
  const { phase, message, cause, payload } = failure;
  const details: EvaluationDetails = { ...spent, phase, cause, providerPayload: payload };
  switch (failure.stop) {
    case "render":
      return new PromptRenderError(message, details);
    case "turns":
      return new TurnLimitError(message, details);
    case "aborted":
      return new AbortedError(message, details);
    case "deadline":
      return new DeadlineExceededError(message, { ...details, expiresAt: failure.expiresAt });
    case "budget":
      return new BudgetExceededError(message, { ...details, dimension: failure.dimension });
    case "provider":
      return new ProviderError(message, { ...details, reason: failure.reason, status: failure.status });
    case "process": {
      const { exitCode, signal, stderr } = failure;
      return new ProcessError(message, { ...details, exitCode, signal, stderr });
    }
    case "throttled": {
      const { kind, retryAfterMs, attempts, status } = failure;
      return new ThrottleError(message, { ...details, kind, retryAfterMs, attempts, status });
    }
    case "deadlock":
      return new DeadlockError(message, { ...details, waitedFor: failure.waitedFor, heldBy: failure.heldBy });
    case "output":
      return new OutputParseError(message, { ...details, rawText: failure.rawText, issues: failure.issues });
  }
}

const failures = new WeakMap<object, Failure>();

/** Why an evaluation failed, for the one around it. */
export function rememberFailure(error: EvaluationFailure, failure: Failure): void {
  failures.set(error, failure);
}

/** What is behind an error that an evaluation rejected with. */
export function failureBehind(error: unknown): Failure | undefined {
  return typeof error === "object" && error !== null ? failures.get(error) : undefined;
}

/** The message of whatever was thrown, even where it cannot be shown. */
export function messageOf(error: unknown): string {
  try {
    // A subclass may have made its message anything.
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "Something was thrown that has no message.";
  }
}
