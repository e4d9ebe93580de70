import {
  InternalError,
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

const brand: unique symbol = Symbol("failure");

/**
 * Why an evaluation ends without an answer, as steps tell each other; only `evaluate` makes an error of it. Made by
 * `failure` alone, or as a copy of one: nobody else's object is taken for one, whatever its fields are.
 */
export type Failure = {
  readonly [brand]: true;
  readonly phase: EvaluationPhase;
  readonly message: string;
  readonly cause?: unknown;
  readonly payload?: unknown;
} & (
  | { readonly stop: "render" | "turns" | "internal" }
  | { readonly stop: "aborted" }
  | { readonly stop: "deadline"; readonly expiresAt: Date }
  | { readonly stop: "budget"; readonly dimension: BudgetDimension; readonly tracker: BudgetTracker }
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
  return typeof value === "object" && value !== null && Object.hasOwn(value, brand);
}

type Unbranded<F> = F extends unknown ? Omit<F, typeof brand> : never;

/** Marks it as ours. */
export function failure<F extends Unbranded<Failure>>(fields: F): F & { readonly [brand]: true } {
  return { ...fields, [brand]: true };
}

/** Whatever was thrown where nothing should throw. */
export function internalFailure(cause: unknown, phase: EvaluationPhase): Failure {
  return failure({
    stop: "internal",
    phase,
    cause,
    message: `Something threw where nothing should: ${messageOf(cause)}`,
  });
}

/** An answer that does not fit. */
export type OutputFailure = Extract<Failure, { readonly stop: "output" }>;

/** The deadline's or the caller's end, whichever the signal carries. */
export type LimitFailure = Extract<Failure, { readonly stop: "deadline" | "aborted" }>;

export function deadlineFailure(deadline: Deadline, phase: EvaluationPhase): LimitFailure {
  const { expiresAt } = deadline;
  return failure({
    stop: "deadline",
    phase,
    expiresAt,
    message: `The deadline (${expiresAt.toISOString()}) has passed.`,
  });
}

export function abortedFailure(cause: unknown, phase: EvaluationPhase): LimitFailure {
  return failure({ stop: "aborted", phase, cause, message: "The evaluation was aborted." });
}

export function budgetFailure(dimension: BudgetDimension, phase: EvaluationPhase, tracker: BudgetTracker): Failure {
  const message = `The budget is spent: ${dimension.replace("_", " ")}.`;
  return failure({ stop: "budget", phase, dimension, tracker, message });
}

export function providerFailure(
  reason: ProviderErrorReason,
  message: string,
  more: { readonly payload?: unknown; readonly status?: number | undefined; readonly cause?: unknown } = {},
): Failure {
  return failure({ stop: "provider", phase: "response", reason, message, ...more });
}

/** What a provider refused for good, or a command that ended badly. */
export function refusedRequest(refused: Extract<ModelFailure, { failure: "provider" | "process" }>): Failure {
  if (refused.failure === "process") {
    const { exitCode, signal, stderr, message, payload, cause } = refused;
    return failure({ stop: "process", phase: "request", exitCode, signal, stderr, message, payload, cause });
  }
  const { reason, message, payload, status, cause } = refused;
  return { ...providerFailure(reason, message, { payload, status, cause }), phase: "request" };
}

/** The error that `evaluate` rejects with. */
export function errorOf(
  why: Failure,
  spent: Pick<EvaluationDetails, "promptName" | "usage" | "messages" | "toolResults">,
): EvaluationFailure {
  const { phase, message, cause, payload } = why;
  const details: EvaluationDetails = { ...spent, phase, cause, providerPayload: payload };
  switch (why.stop) {
    case "render":
      return new PromptRenderError(message, details);
    case "turns":
      return new TurnLimitError(message, details);
    case "internal":
      return new InternalError(message, details);
    case "aborted":
      return new AbortedError(message, details);
    case "deadline":
      return new DeadlineExceededError(message, { ...details, expiresAt: why.expiresAt });
    case "budget":
      return new BudgetExceededError(message, { ...details, dimension: why.dimension });
    case "provider":
      return new ProviderError(message, { ...details, reason: why.reason, status: why.status });
    case "process": {
      const { exitCode, signal, stderr } = why;
      return new ProcessError(message, { ...details, exitCode, signal, stderr });
    }
    case "throttled": {
      const { kind, retryAfterMs, attempts } = why;
      return new ThrottleError(message, { ...details, kind, retryAfterMs, attempts });
    }
    case "deadlock":
      return new DeadlockError(message, { ...details, waitedFor: why.waitedFor, heldBy: why.heldBy });
    case "output":
      return new OutputParseError(message, { ...details, rawText: why.rawText, issues: why.issues });
  }
}

const failures = new WeakMap<object, Failure>();

/** Why an evaluation failed, for the one around it. */
export function rememberFailure(error: EvaluationFailure, why: Failure): void {
  failures.set(error, why);
}

/** What is behind an error that an evaluation rejected with. */
export function failureBehind(error: unknown): Failure | undefined {
  return typeof error === "object" && error !== null ? failures.get(error) : undefined;
}

/** UTF-16 units of a message that are kept. */
const longestMessage = 1024 * 1024;

/** The message of whatever was thrown, even where it cannot be shown; of a long one the beginning. */
export function messageOf(error: unknown): string {
  try {
    // A subclass may have made its message anything.
    const message = String(error instanceof Error ? error.message : error);
    return message.length <= longestMessage
      ? message
      : `${message.slice(0, longestMessage)}… (${message.length} characters)`;
  } catch {
    return "Something was thrown that has no message.";
  }
}
