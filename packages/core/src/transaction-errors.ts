import { PromptEvaluationError, type EvaluationDetails, type EvaluationFailure } from "./evaluation-errors.ts";
import { ProvisoError } from "./errors.ts";
import type { PromptResponse } from "./provider/adapter.ts";

/**
 * A session or a resource that cannot be used any more: a rollback or a commit of its changes failed, so that session and
 * resources may disagree. The cause is what failed. Make the session anew, and open the resource anew.
 */
export class UnusableError extends ProvisoError {
  readonly code = "unusable";
  override readonly name = "UnusableError";
  /** Whether a session or a resource cannot be used any more. */
  readonly what: "session" | "resource";
  /** The session's id, or the name of the resource's key. */
  readonly id: string;
  /** What failed: the changes of a call could not be undone ("rollback") or made permanent ("commit"). */
  readonly operation: "rollback" | "commit";
  constructor(
    message: string,
    details: {
      readonly what: "session" | "resource";
      readonly id: string;
      readonly operation: "rollback" | "commit";
      readonly cause?: unknown;
    },
  ) {
    super(message, details);
    this.what = details.what;
    this.id = details.id;
    this.operation = details.operation;
  }
}

/** A rollback or a commit that failed, as a RestoreError lists it. */
export interface RestoreFault {
  readonly operation: "rollback" | "commit";
  /** The calls whose changes are concerned. */
  readonly callIds: readonly string[];
  readonly message: string;
  readonly cause: unknown;
}

/**
 * The changes of a tool call could not be undone, or could not be made permanent: session and resources may disagree.
 * The session is unusable from then on. `response` or `failure` holds what the evaluation would have come to; both are
 * undefined where the model went on calling tools, which ended it. `messages` show the call as failed; `toolResults`
 * keep how its handler ended.
 */
export class RestoreError extends PromptEvaluationError {
  readonly code = "restore";
  override readonly name = "RestoreError";
  /** The faults in the order in which they happened; at least one. */
  readonly faults: readonly RestoreFault[];
  /** The answer, where the evaluation had one; not printed with the error. */
  readonly response: PromptResponse<unknown> | undefined;
  /** Why the evaluation failed besides, where it did. */
  readonly failure: EvaluationFailure | undefined;
  constructor(
    message: string,
    details: EvaluationDetails & {
      readonly faults: readonly RestoreFault[];
      readonly response?: PromptResponse<unknown> | undefined;
      readonly failure?: EvaluationFailure | undefined;
    },
  ) {
    super(message, details);
    this.faults = details.faults;
    this.response = details.response;
    this.failure = details.failure;
  }
}

/**
 * A wait for a lock that could never end: two transactions wait for each other, or an evaluation waits for the very call
 * it was begun in. Inside a tool, evaluate with `context.evaluate`.
 */
export class DeadlockError extends PromptEvaluationError {
  readonly code = "deadlock";
  override readonly name = "DeadlockError";
  /** What was waited for: the session ("session") or the name of a resource's key. */
  readonly waitedFor: string;
  /** A description of the call or transaction that holds it. */
  readonly heldBy: string;
  constructor(message: string, details: EvaluationDetails & { readonly waitedFor: string; readonly heldBy: string }) {
    super(message, details);
    this.waitedFor = details.waitedFor;
    this.heldBy = details.heldBy;
  }
}
