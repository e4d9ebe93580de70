import { PromptEvaluationError, type EvaluationDetails } from "./evaluation-errors.ts";
import type { BudgetDimension } from "./limits/usage.ts";

/**
 * The limit of the budget at which an evaluation ended, in numbers: tokens, or US dollars where the dimension is
 * "cost".
 */
export interface BudgetState {
  /** The limit that was reached. */
  readonly dimension: BudgetDimension;
  /** The limit that the budget was made with. */
  readonly limit: number;
  /** What all evaluations that share the budget have spent, the request under way included. */
  readonly spent: number;
  /** What other requests that are under way may still spend. */
  readonly reserved: number;
  /** What the request needed at least; undefined where no request was to be made, or its price is not known. */
  readonly wanted: number | undefined;
}

/**
 * More was spent than the budget allows, too little was left for the next request, or the answer was cut short where the
 * budget ended.
 */
export class BudgetExceededError extends PromptEvaluationError implements BudgetState {
  readonly code = "budget";
  override readonly name = "BudgetExceededError";
  /** The limit that was reached. */
  readonly dimension: BudgetDimension;
  /** The limit that the budget was made with: tokens, or US dollars for "cost". */
  readonly limit: number;
  /** What all evaluations that share the budget have spent, the request under way included. */
  readonly spent: number;
  /** What other requests that are under way may still spend. */
  readonly reserved: number;
  /** What the request needed at least; undefined where no request was to be made, or its price is not known. */
  readonly wanted: number | undefined;
  /**
   * The answer up to where the budget cut it short; undefined where it did not. Of an evaluation inside a call, the answer
   * is in the `cause`.
   */
  readonly text: string | undefined;
  constructor(message: string, details: EvaluationDetails & BudgetState & { readonly text?: string | undefined }) {
    super(message, details);
    this.dimension = details.dimension;
    this.limit = details.limit;
    this.spent = details.spent;
    this.reserved = details.reserved;
    this.wanted = details.wanted;
    this.text = details.text;
  }
}
