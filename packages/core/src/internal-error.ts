import { PromptEvaluationError } from "./evaluation-errors.ts";

/**
 * Something threw where nothing should have: a value of yours that throws when it is read, a clock, a store, or a fault
 * of ours. What threw is the `cause`. The call that ran then was undone.
 */
export class InternalError extends PromptEvaluationError {
  readonly code = "internal";
  override readonly name = "InternalError";
}
