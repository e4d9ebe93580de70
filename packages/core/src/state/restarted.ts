import type { EvaluationFailure } from "../evaluation-errors.ts";
import type { EventBase } from "./event-base.ts";

/**
 * An evaluation begins again with another adapter of a chain. What the attempt before did to session and resources is
 * undone; its events stay, and its streamed text is taken back.
 */
export interface EvaluationRestarted extends EventBase<"evaluation.restarted"> {
  /** The number of the attempt that begins, from 2. */
  readonly attempt: number;
  /** The `code` of the error that the attempt before would have ended the evaluation with. */
  readonly code: EvaluationFailure["code"];
  /** The name of the adapter that is asked first now. */
  readonly provider: string;
  /** The model that it asks. */
  readonly model: string;
}
