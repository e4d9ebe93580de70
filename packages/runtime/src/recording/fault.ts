import {
  RunError,
  type Divergence,
  type EvaluationFailure,
  type JournalError,
  type Pending,
  type RunFault,
} from "@proviso/core";
import { spent } from "../failing.ts";
import { errorOf, type Failure } from "../failures.ts";
import type { Run } from "../run.ts";
import { shownValue } from "./compare.ts";

/** Why an evaluation with a run cannot go on: thrown through its loop, and made into a RunError at its end. */
export class TapeFault extends Error {
  override readonly name = "TapeFault";
  readonly reason: RunFault;
  readonly divergence: Divergence | undefined;
  /** The failure that the evaluation ends with in place of a RunError. */
  readonly failure: Failure | undefined;
  /** What is waited for has a token, which no log shows. */
  readonly #pending: Pending | undefined;
  constructor(
    reason: RunFault,
    message: string,
    more: {
      readonly divergence?: Divergence;
      readonly pending?: Pending;
      readonly cause?: JournalError | undefined;
      readonly failure?: Failure;
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.reason = reason;
    this.divergence = more.divergence;
    this.failure = more.failure;
    this.#pending = more.pending;
  }

  get pending(): Pending | undefined {
    return this.#pending;
  }
}

/** What a run is that is evaluated: it has ended and is answered again, it goes on, or it is replayed. */
type Way = "ended" | "open" | "replay";

/** The fault of a run in which something else happens than what was recorded; `earlier`: the messages before its question. */
export function divergedFault(runId: string, divergence: Divergence, way: Way, earlier: number): TapeFault {
  const { step, path, recorded, now, what } = divergence;
  const where = path === "" ? `the ${what}` : path;
  const difference =
    what === "missing"
      ? `its record ends there, and the evaluation goes on with ${shownValue(now)}`
      : isMessage.test(path)
        ? `${path} of the request is another one`
        : `${where} was ${shownValue(recorded)} and is ${shownValue(now)}`;
  const message = `The run "${runId}" diverges at step ${step}: ${difference}.`;
  const isEarlier =
    path.endsWith(": earlierMessages") ||
    (step === 0 && earlier > 0 && (isMessage.test(path) || path.startsWith("history.compacted")));
  const hint = way !== "replay" && isEarlier ? ` ${otherHistory(runId, way)}` : "";
  return new TapeFault("diverged", message + hint, { divergence });
}

/** A request's messages are compared by their hashes, which say nothing to a reader. */
const isMessage = /^messages\[\d+\]$/;

/** A conversation may have gone on while its run waited. */
function otherHistory(runId: string, way: Way): string {
  const given = "Other messages stand before its question: give those of then;";
  if (way === "open") return `${given} or go on with these, by journal.run(id, { onChange: "adopt" }).`;
  return `${given} or, since the run has ended, read its answer by ${callToReplay(runId)}.`;
}

/** How the answer of a run that has ended is read, without the messages that it began with. */
export function callToReplay(runId: string): string {
  return `adapter.evaluate(prompt, { run: journal.replay(${JSON.stringify(runId)}) })`;
}

/** Makes the error of a fault, with what the evaluation came to so far. */
export function runError(run: Run, runId: string, fault: TapeFault): EvaluationFailure {
  const { reason, message, divergence, pending, cause } = fault;
  const phase = reason === "suspended" ? "tool" : "request";
  const { toolResults, ...rest } = spent(run);
  // What ended after the fault was not emitted, and counts as not done.
  const emitted = toolResults.filter(({ sessionId }) => sessionId !== "");
  const details = run.redaction.details({ ...rest, toolResults: Object.freeze(emitted), phase, cause });
  if (fault.failure !== undefined) return errorOf(run.redaction.failure(fault.failure), details);
  // A handler does not decide on what its own call waits for.
  if (run.isInside) return new RunError(run.redaction.value(message), { ...details, reason, runId, divergence });
  const error = new RunError(run.redaction.value(message), { ...details, reason, runId, divergence, pending });
  // Printing the error does not print the token.
  return pending === undefined ? error : Object.defineProperty(error, "pending", { enumerable: false });
}
