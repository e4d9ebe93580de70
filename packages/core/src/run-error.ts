import { PromptEvaluationError, type EvaluationDetails } from "./evaluation-errors.ts";
import type { PromptResponse } from "./provider/adapter.ts";

/** What a suspended run waits for. */
export interface Pending {
  /** The token decides, once: it cannot be guessed (128 bits), and no event and no log has it. */
  readonly token: string;
  /** The id of the call that is to be decided on. */
  readonly callId: string;
  /** The name of its tool. */
  readonly tool: string;
  /** The input of the call. */
  readonly input: unknown;
  /** The question that is to be decided. */
  readonly question: string;
  /** What the policy gave beside the question; undefined: nothing. */
  readonly details?: unknown;
  /** "decision": a policy asks; "effect": it is not known whether the call was done. */
  readonly about: "decision" | "effect";
  /** When it counts as denied; undefined: never. */
  readonly expiresAt?: Date;
}

/** The first place where what happens is not what was recorded. */
export interface Divergence {
  /** Answers of the model and tool calls are steps, counted from 1; 0 is before the first. */
  readonly step: number;
  /** The evaluation in which it was met. */
  readonly evaluationId: string;
  /** What differs. "missing": the record ends before the evaluation does; "extra": the record goes on. */
  readonly what: "prompt" | "request" | "call" | "event" | "outcome" | "missing" | "extra";
  /** The place in the request, event or call: `messages[4].text`. */
  readonly path: string;
  /** The recorded value. */
  readonly recorded: unknown;
  /** The present value. */
  readonly now: unknown;
}

/** Why an evaluation with a run did not go on; the `reason` of a RunError. */
export type RunFault = "suspended" | "diverged" | "busy" | "fenced" | "state" | "redacted" | "agent" | "journal";

/** What `evaluate` rejects with where it was given a run that cannot begin, go on or be kept; `reason` says why. */
export class RunError extends PromptEvaluationError {
  readonly code = "run";
  override readonly name = "RunError";
  /**
   * suspended: it waits for `pending` · diverged: what happens now is not what was recorded, see `divergence` · busy: a
   * living process works on the run · fenced: another one has taken it over · state: what a kept call changed cannot be
   * brought back · redacted: it would go on with text that was hidden · agent: a turn of an agent was lost, and what its
   * calls did may stand; the message names them · journal: it cannot be kept, see `cause`.
   */
  readonly reason: RunFault;
  /** The id of the run. */
  readonly runId: string;
  /** What is waited for; undefined unless it is suspended. */
  readonly pending: Pending | undefined;
  /** The first difference; undefined unless it diverged. */
  readonly divergence: Divergence | undefined;
  /** The answer that came before the journal failed: nothing paid for is lost. undefined: there was none. */
  readonly response: PromptResponse<unknown> | undefined;
  constructor(
    message: string,
    details: EvaluationDetails & {
      readonly reason: RunFault;
      readonly runId: string;
      readonly pending?: Pending | undefined;
      readonly divergence?: Divergence | undefined;
      readonly response?: PromptResponse<unknown> | undefined;
    },
  ) {
    super(message, details);
    this.reason = details.reason;
    this.runId = details.runId;
    this.pending = details.pending;
    this.divergence = details.divergence;
    this.response = details.response;
  }
}
