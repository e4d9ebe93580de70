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
import { describeValue, messageOf, noUsage } from "@proviso/core/internal";

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
  return new PromptRenderError(whyThrown(cause), { ...nothingSpent, phase: "render", promptName, cause });
}

/** Whatever was thrown where the adapter was made: it would be thrown again. */
export function unreachableModel(cause: unknown, promptName: string): EvaluationFailure {
  const details = { ...nothingSpent, phase: "request", promptName, reason: "not_found", cause } as const;
  return new ProviderError(whyThrown(cause), details);
}

/** Whatever an adapter rejects with; only one that is not of ours rejects with anything else than it should. */
export function adapterError(cause: unknown, promptName: string): EvaluationFailure {
  if (isEvaluationFailure(cause)) return cause;
  const details = { ...nothingSpent, phase: "request", promptName, reason: "unknown", cause } as const;
  return new ProviderError(whyThrown(cause), details);
}

/** @throws {Error} for what an adapter of other making returns in place of a response. */
export function checkedResponse<Output>(response: PromptResponse<Output>): PromptResponse<Output> {
  const { usage }: Partial<PromptResponse<Output>> = response ?? {};
  if (typeof usage === "object" && usage !== null && "output" in response) return response;
  throw new Error("The adapter returned no response.");
}

function whyThrown(cause: unknown): string {
  return cause instanceof Error ? messageOf(cause) : `It threw ${describeValue(cause)}.`;
}
