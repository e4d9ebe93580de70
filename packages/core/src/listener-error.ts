import { PromptEvaluationError, type EvaluationDetails } from "./evaluation-errors.ts";
import type { PromptResponse } from "./provider/adapter.ts";

/** A listener threw on `prompt.executed`: nothing paid for is lost. */
export class ListenerError extends PromptEvaluationError {
  readonly code = "listener";
  override readonly name = "ListenerError";
  /** What the listeners threw, in the order of the events. */
  readonly errors: readonly unknown[];
  /** The response of the evaluation, which succeeded. */
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
