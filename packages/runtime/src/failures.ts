import {
  InternalError,
  AbortedError,
  BudgetExceededError,
  DeadlineExceededError,
  DeadlockError,
  DefinitionError,
  OptionError,
  OutputParseError,
  ProcessError,
  PromptRenderError,
  ProviderError,
  RestoreError,
  ThrottleError,
  TurnLimitError,
  type Budget,
  type BudgetDimension,
  type BudgetState,
  type BudgetTracker,
  type Deadline,
  type EvaluationDetails,
  type EvaluationFailure,
  type ModelFailure,
  type ProviderErrorReason,
  type SchemaIssue,
  type ThrottleKind,
} from "@proviso/core";
import { type BudgetAmounts, type EvaluationPhase, type RestoreFault, messageOf, isA } from "@proviso/core/internal";

const brand: unique symbol = Symbol("failure");

/**
 * Why an evaluation ends without an answer, as the steps return it; only `evaluate` makes an error of it. Made by
 * `failure` alone, or as a copy of one: no other object is taken for one, whatever its fields are.
 */
export type Failure = {
  readonly [brand]: true;
  readonly phase: EvaluationPhase;
  readonly message: string;
  readonly cause?: unknown;
  readonly payload?: unknown;
} & (
  | { readonly stop: "render" | "turns" | "internal" }
  | { readonly stop: "option"; readonly option: string | undefined }
  | { readonly stop: "aborted" }
  | { readonly stop: "deadline"; readonly expiresAt: Date }
  | (BudgetState & {
      readonly stop: "budget";
      /** undefined: an error that a handler made. */
      readonly tracker: BudgetTracker | undefined;
      /** The text of an answer that the budget cut short. */
      readonly text?: string | undefined;
    })
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
  /** Session and resources may disagree, so no call can be run any more. */
  | { readonly stop: "restore"; readonly faults: readonly RestoreFault[] }
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
  const message = `Something threw where nothing should: ${messageOf(cause)}`;
  return failure({ stop: "internal", phase, cause, message });
}

/** An answer that does not fit. */
export type OutputFailure = Extract<Failure, { readonly stop: "output" }>;

/** The deadline's or the caller's end, whichever the signal carries. */
export type LimitFailure = Extract<Failure, { readonly stop: "deadline" | "aborted" }>;

/** Learns that a limit has ended a wait, and may say more of it. */
export type OnStop = (failure: LimitFailure) => LimitFailure | void;

/** A mistake in what `evaluate` was called with, on its way to the failure that it is. */
class OptionFault {
  readonly option: string | undefined;
  readonly cause: DefinitionError;
  constructor(option: string | undefined, cause: DefinitionError) {
    this.option = option;
    this.cause = cause;
  }
}

/** What is a DefinitionError in there is the caller's mistake in this option. @throws {OptionFault} */
export function readOption<T>(option: string | undefined, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw optionFault(option, error);
  }
}

export function optionFault(option: string | undefined, error: unknown): unknown {
  return error instanceof DefinitionError ? new OptionFault(option, error) : error;
}

/** Ends a service's message with a full stop where it has no end. */
export function sentence(message: string): string {
  const text = message.trimEnd();
  return ".!?".includes(text.at(-1) ?? ".") ? text : `${text}.`;
}

/** What was thrown before the first request. */
export function beginFailure(thrown: unknown): Failure {
  if (isA(thrown, OptionFault)) {
    const { option, cause } = thrown;
    return failure({ stop: "option", phase: "render", option, cause, message: messageOf(cause) });
  }
  return failure({ stop: "render", phase: "render", cause: thrown, message: messageOf(thrown) });
}

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

export function turnsFailure(maxTurns: number): Failure {
  return failure({ stop: "turns", phase: "request", message: `No answer within ${maxTurns} turns.` });
}

/** What a budget is limited by, and how much of that was wanted. */
interface BudgetReason extends Pick<BudgetState, "dimension"> {
  readonly tracker: BudgetTracker;
  readonly wanted?: number | undefined;
  /** What the request itself has spent and holds reserved, since it is not over. Left out: nothing. */
  readonly ownSpent?: BudgetAmounts | undefined;
  readonly text?: string | undefined;
}

/** `what`: the sentence that begins with "The budget". */
export function budgetFailure(
  what: string,
  phase: EvaluationPhase,
  { dimension, tracker, wanted, ownSpent, text }: BudgetReason,
): Extract<Failure, { readonly stop: "budget" }> {
  const [limitName, amount, unit] = limitsOf[dimension];
  const limit = tracker.budget[limitName] ?? Infinity;
  const spent = (tracker.consumed[amount] ?? 0) + (ownSpent?.[amount] ?? 0);
  const reserved = Math.max(0, limit - spent - tracker.remaining()[amount]);
  const state = { dimension, limit, spent, reserved, wanted };
  const numbers = [`limit ${limit}`, `spent ${spent}`, `reserved ${reserved}`];
  if (wanted !== undefined) numbers.push(`wanted ${wanted}`);
  const message = `The budget ${what}: ${unit}: ${numbers.join(", ")}.`;
  return failure({ stop: "budget", phase, tracker, text, message, ...state });
}

const limitsOf = {
  total_tokens: ["maxTotalTokens", "totalTokens", "total tokens"],
  input_tokens: ["maxInputTokens", "inputTokens", "input tokens"],
  output_tokens: ["maxOutputTokens", "outputTokens", "output tokens"],
  cost: ["maxCostUsd", "costUsd", "US dollars"],
} as const satisfies Record<BudgetDimension, readonly [keyof Budget, keyof BudgetAmounts, string]>;

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
  const isRefused = (status ?? 0) >= 400 || !ofAnswers.has(reason);
  return { ...providerFailure(reason, message, { payload, status, cause }), phase: isRefused ? "request" : "response" };
}

/** What is wrong with an answer that came, on whatever API; for any other reason there is none. */
export const ofAnswers: ReadonlySet<ProviderErrorReason> = new Set([
  "invalid_response",
  "refusal",
  "content_filter",
  "truncated",
]);

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
    case "option":
      return new OptionError(message, { ...details, option: why.option });
    case "turns":
      return new TurnLimitError(message, details);
    case "internal":
      return new InternalError(message, details);
    case "aborted":
      return new AbortedError(message, details);
    case "deadline":
      return new DeadlineExceededError(message, { ...details, expiresAt: why.expiresAt });
    case "budget":
      return budgetError(why, details);
    case "provider":
      return new ProviderError(message, { ...details, reason: why.reason, status: why.status });
    case "process": {
      const { exitCode, signal, stderr } = why;
      return new ProcessError(message, { ...details, exitCode, signal, stderr });
    }
    case "throttled": {
      const { kind, retryAfterMs, attempts, status } = why;
      return new ThrottleError(message, { ...details, kind, retryAfterMs, attempts, status });
    }
    case "restore":
      return new RestoreError(message, { ...details, faults: why.faults });
    case "deadlock":
      return new DeadlockError(message, { ...details, waitedFor: why.waitedFor, heldBy: why.heldBy });
    case "output":
      return new OutputParseError(message, { ...details, rawText: why.rawText, issues: why.issues });
  }
}

function budgetError(
  { message, dimension, limit, spent, reserved, wanted, text }: Extract<Failure, { readonly stop: "budget" }>,
  details: EvaluationDetails,
): BudgetExceededError {
  return new BudgetExceededError(message, { ...details, dimension, limit, spent, reserved, wanted, text });
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

/** A request that its pace did not let go. */
export type Unsent = Extract<ModelFailure, { failure: "throttle" }> & { readonly isUnsent: true };
