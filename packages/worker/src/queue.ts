import { ProvisoError, type Pending, type PolicyDecision, type PromptResponse, type ToolReturn } from "@proviso/core";
import type { RunJob, RunKind } from "./kinds.ts";
import type { RunProgress } from "./progress.ts";

/** How many runs of a queue are in which state. Waiting: they may begin, or are delayed. */
export type RunCounts = Readonly<
  Record<"waiting" | "running" | "suspended" | "executed" | "failed" | "cancelled", number>
>;

/** Where runs are handed in, looked after and fetched. */
export interface RunQueue extends AsyncDisposable {
  /**
   * Hands a run in. "known": there is such a run; one that has not ended and that the queue has lost is handed in again.
   * @throws {DefinitionError} for params that the prompt refuses, that are no plain JSON, or a job that cannot be.
   */
  add<Params, Output>(kind: RunKind<Params, Output>, params: Params, job: RunJob): Promise<"added" | "known">;
  /**
   * Waits until the run has ended, and gives its answer from the journal.
   * @throws {EvaluationFailure} that it ended with, {QueueError} "unknown" for one that was never added, or that Redis has
   * lost and no worker has: add it again; "failed" for one that ended before its evaluation began; the reason of the signal.
   */
  result<Params, Output>(
    kind: RunKind<Params, Output>,
    id: string,
    options?: { /** Ends the wait. */ readonly signal?: AbortSignal | undefined },
  ): Promise<PromptResponse<Output>>;
  /** Returns what the workers report from now on: at most two a second for each run, and the last one always. */
  progress(options?: {
    /** Ends the iteration. */ readonly signal?: AbortSignal | undefined;
  }): AsyncIterable<RunProgress>;
  /**
   * Decides what a run waits for, as `journal.resolve`, and lets it go on. Where it rejects after the decision was kept, give
   * the same again, or add the run: the decision stays, and the run goes on.
   * @throws {JournalError} "token", also for one that was used for another decision. {QueueError} "unknown" where the queue has lost the run: the decision is kept, add it again.
   */
  resolve(token: string, decision: PolicyDecision | { readonly result: ToolReturn<unknown> }): Promise<void>;
  /**
   * Ends a run for good, as `journal.cancel`, also one that waits in the queue; its worker stops. false: it had ended.
   * Where it rejects, call it again: what is missing is done then.
   */
  cancel(id: string, reason?: string): Promise<boolean>;
  /** Returns how many runs are in which state. */
  counts(): Promise<RunCounts>;
}

/** What a worker takes. */
export interface WorkerOptions {
  /** Runs at once in this worker. Default 16. */
  readonly concurrency?: number | undefined;
  /** Runs at once in all workers of the queue. Default: no limit. */
  readonly globalConcurrency?: number | undefined;
  /** Runs that all workers of the queue begin in a span of time. Default: no limit. */
  readonly rate?: { readonly runs: number; readonly perMs: number } | undefined;
  /** Milliseconds after which a silent worker has lost its runs. Default 30,000. */
  readonly leaseMs?: number | undefined;
  /**
   * How often a run is taken up again after a failure that may pass, or after its worker was lost before the run had gained a
   * step. The waits are 1 s, doubled to 60 s, or what a Retry-After says. Default 10.
   */
  readonly maxAttempts?: number | undefined;
  /**
   * Gets the token of each run that waits for a decision, before the run is put aside: to send it to a person. What it
   * throws is passed over, and the run is asked again after a minute. Left out: no one gets it.
   */
  readonly onSuspended?: ((suspended: SuspendedRun) => void | Promise<void>) | undefined;
}

/** A run that waits for a decision. */
export interface SuspendedRun {
  /** The id of the run. */
  readonly id: string;
  /** What it waits for; who has its token can decide. */
  readonly pending: Pending;
}

/** What a queue could not do. */
export class QueueError extends ProvisoError {
  readonly code = "queue";
  override readonly name = "QueueError";
  /** unreachable: there is no server at the address · unknown: the queue has no such run · failed: the run could not begin. */
  readonly reason: "unreachable" | "unknown" | "failed";
  /** The id of the run; undefined where it is about none. */
  readonly run: string | undefined;
  constructor(
    message: string,
    details: { readonly reason: QueueError["reason"]; readonly run?: string | undefined; readonly cause?: unknown },
  ) {
    super(message, details);
    this.reason = details.reason;
    this.run = details.run;
  }
}
