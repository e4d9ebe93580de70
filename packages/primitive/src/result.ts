import {
  DefinitionError,
  errorReason,
  isEvaluationFailure,
  PromptRenderError,
  ProviderError,
  type ErrorReason,
  type EvaluationFailure,
  type PromptResponse,
  type Usage,
} from "@proviso/core";
import { countUsage, describeValue, isA, messageOf, noUsage } from "@proviso/core/internal";

/** A run that came to its data. */
export interface PrimitiveSuccess<Output> {
  readonly success: true;
  /** Fits the output schema. */
  readonly data: Output;
  /** The answer behind it; undefined where a recovery policy gave the data. */
  readonly response: PromptResponse<Output> | undefined;
  /** The usage of all evaluations of this run. */
  readonly usage: Usage;
  /** Evaluations of this run: 1, and one for each retry of a recovery policy. */
  readonly attempts: number;
}

/** A run without data. */
export interface PrimitiveFailure {
  readonly success: false;
  /** The class of `error`. */
  readonly errorType: EvaluationFailure["name"];
  /** A label to branch on. */
  readonly reason: ErrorReason;
  /** Everything that can be retried was: its message says what to do. */
  readonly error: EvaluationFailure;
  /** The usage of all evaluations of this run. */
  readonly usage: Usage;
  /** How many evaluations were made. */
  readonly attempts: number;
  /** A recovery policy that was itself at fault; `error` is the one that it was asked about. */
  readonly recoveryError: DefinitionError | undefined;
}

/** What `run` answers with: switch over `success`. */
export type PrimitiveResult<Output> = PrimitiveSuccess<Output> | PrimitiveFailure;

export function failureOf(
  error: EvaluationFailure,
  more: Pick<PrimitiveFailure, "usage" | "attempts" | "recoveryError">,
): PrimitiveFailure {
  const reason = errorReason(error) ?? "unknown_error";
  return Object.freeze({ success: false, errorType: error.name, reason, error, ...more });
}

const nothingSpent = { usage: noUsage, messages: [], toolResults: [] } as const;

/** Whatever was thrown while a payload was made into a prompt. */
export function localError(cause: unknown, promptName: string): EvaluationFailure {
  if (isEvaluationFailure(cause)) return cause;
  return new PromptRenderError(thrownText(cause), { ...nothingSpent, phase: "render", promptName, cause });
}

/** Whatever was thrown where the adapter was made: it would be thrown again. */
export function unreachableModel(cause: unknown, promptName: string): EvaluationFailure {
  const details = { ...nothingSpent, phase: "request", promptName, reason: "not_found", cause } as const;
  return new ProviderError(thrownText(cause), details);
}

/** Whatever an adapter rejects with; only one that is not of ours rejects with anything else than it should. */
export function adapterError(cause: unknown, promptName: string): EvaluationFailure {
  if (isEvaluationFailure(cause)) return cause;
  const details = { ...nothingSpent, phase: "request", promptName, reason: "unknown", cause } as const;
  return new ProviderError(thrownText(cause), details);
}

/** What an evaluation came to, read once from the response: an adapter of other making may give any. */
export interface Answer<Output> {
  readonly response: PromptResponse<Output>;
  readonly data: Output;
  readonly usage: Usage;
}

/** @throws {Error} for what an adapter of other making returns in place of a response; what its getters throw. */
export function answerOf<Output>(response: PromptResponse<Output>): Answer<Output> {
  const { usage }: Partial<PromptResponse<Output>> = response ?? {};
  if (typeof usage !== "object" || usage === null || !("output" in response)) {
    throw new Error("The adapter returned no response.");
  }
  return { response, data: response.output, usage: countUsage(usage, noUsage) };
}

/** What was thrown, as a sentence; never throws, whatever it is. */
export function thrownText(cause: unknown): string {
  return isA(cause, Error) ? messageOf(cause) : `It threw ${describeValue(cause)}.`;
}
