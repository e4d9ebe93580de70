// How an evaluation fails: the error that evaluate rejects with, its event and its entry in the log.
import {
  RestoreError,
  type EvaluateOptions,
  type EvaluationDetails,
  type EvaluationFailure,
  type ListenerError,
  type Prompt,
  type UnusableError,
} from "@proviso/core";
import { noUsage, type RestoreFault } from "@proviso/core/internal";
import { rememberHistory, givenHistory, rememberGiven } from "./history.ts";
import { elapsedMs } from "./environment.ts";
import { errorOf, failure, internalFailure, rememberFailure, type Failure } from "./failures.ts";
import { logSafely } from "./logging.ts";
import type { Run, Setup } from "./run.ts";
import { redactionOf } from "./secrets/structure.ts";

/** Why an evaluation could not begin; it has emitted nothing, and hands on the history that it was given. */
export function notStarted(
  { world }: Setup,
  prompt: Prompt,
  options: EvaluateOptions,
  why: Failure,
): EvaluationFailure {
  const spentNothing = { usage: noUsage, messages: [], toolResults: [] };
  try {
    const promptName = prompt?.template?.name ?? "(no prompt)";
    const redaction = redactionOf(world.secrets);
    const given = givenHistory(options);
    const { messages = [] } = given ?? {};
    const error = errorFor(redaction.failure(why), redaction.details({ ...spentNothing, promptName, messages }));
    if (given !== undefined) rememberGiven(error, given);
    const { logger } = world;
    if (logger !== undefined) logSafely(logger, "error", () => redaction.log(errorFields(error)), "prompt.error");
    return error;
  } catch (cause) {
    return errorFor(internalFailure(cause, "render"), { promptName: "(no prompt)", ...spentNothing });
  }
}

/**
 * Returns the evaluation's own faults, redacted when they were reported, or the fault of another evaluation that made
 * the session unusable meanwhile.
 */
export function faultsOf({ faults, core, redaction }: Run): readonly RestoreFault[] {
  if (faults.length > 0) return [...faults];
  try {
    core.assertUsable();
    return [];
  } catch (cause) {
    const { operation, message } = cause as UnusableError;
    return [{ operation, callIds: [], message: redaction.value(message), cause: redaction.value(cause) }];
  }
}

/** Why no call can be run any more: the session could not be put back, or its changes not be committed. */
export function whyNoMoreCalls(run: Run): Failure | undefined {
  const faults = faultsOf(run);
  if (faults.length === 0) return undefined;
  return failure({ stop: "restore", phase: "tool", message: whyTheyDisagree(faults), cause: faults[0]?.cause, faults });
}

/** Makes the RestoreError, with the response or the failure that the evaluation would have come to. */
export function restoreError(
  run: Run,
  faults: readonly RestoreFault[],
  outcome: Pick<RestoreError, "response"> | Pick<RestoreError, "failure">,
): RestoreError {
  const [first] = faults;
  const details = run.redaction.details(spent(run));
  const error = new RestoreError(whyTheyDisagree(faults), {
    ...details,
    phase: "tool",
    cause: first?.cause,
    faults,
    ...outcome,
  });
  return withHiddenResponse(error);
}

/** Describes what failed, for the error and the model. */
export function whyTheyDisagree(faults: readonly RestoreFault[]): string {
  return `Session and resources may disagree: ${faults.map(({ message }) => message).join("; ")}`;
}

/** Hides the response: nothing paid for is lost, but printing the error does not print the answer. */
export function withHiddenResponse<E extends ListenerError | RestoreError>(error: E): E {
  return Object.defineProperty(error, "response", { enumerable: false });
}

/** The error that stands for a failure; nested evaluations find the failure behind it again. */
function errorFor(failure: Failure, details: Parameters<typeof errorOf>[1]): EvaluationFailure {
  const error = errorOf(failure, details);
  rememberFailure(error, failure);
  return error;
}

/** The failure as the error shows it: without secrets, and without the bytes of files. */
function shownFailure(run: Run, why: Failure): Failure {
  return run.redaction.failure(run.files === undefined ? why : run.files.failure(why));
}

/** Emits `prompt.failed` and returns the error: a RestoreError where a rollback or a commit failed as well. */
export function failedEvaluation(run: Run, why: Failure): EvaluationFailure {
  const error = errorFor(shownFailure(run, why), run.redaction.details(spent(run)));
  return emitFailed(run, withFaults(run, error));
}

function withFaults(run: Run, error: EvaluationFailure): EvaluationFailure {
  if (run.faults.length === 0 || error.code === "restore") return error;
  return restoreError(run, [...run.faults], { failure: error });
}

/** Makes the error for what was thrown unexpectedly, and emits it, if the evaluation has not emitted its end yet. */
export function unforeseenFailure(run: Run, why: Failure): EvaluationFailure {
  let error: EvaluationFailure | undefined;
  try {
    error = errorFor(shownFailure(run, why), run.redaction.details(spent(run)));
    return run.ended ? error : emitFailed(run, withFaults(run, error));
  } catch {
    return error ?? errorFor(why, spent(run));
  }
}

/** What a run cannot go on after counts more than what its evaluation came to; undefined: there is nothing of the kind. */
export function recordFault(run: Run): { readonly error: EvaluationFailure } | undefined {
  const error = run.tape?.error(run);
  if (error === undefined) return undefined;
  // A run that waits for a decision has not failed.
  if (error.code === "run" && error.reason === "suspended") run.log("info", errorFields(error), "prompt.suspended");
  else run.log("error", errorFields(error), "prompt.error");
  return { error };
}

/** Emits `prompt.failed`, logs it, and returns the error. */
export function emitFailed(run: Run, error: EvaluationFailure): EvaluationFailure {
  rememberHistory(error, run.prompt, run.history);
  run.log("error", errorFields(error), "prompt.error");
  run.publish({
    type: "prompt.failed",
    promptName: run.promptName,
    code: error.code,
    phase: error.phase,
    message: error.message,
    usage: run.usage,
    turns: run.turn,
    durationMs: durationOf(run),
  });
  return error;
}

/** 0 where the clock throws: an evaluation that fails for that reason still has its last event. */
function durationOf({ world, startedAt }: Run): number {
  try {
    return elapsedMs(world.clock, startedAt);
  } catch {
    return 0;
  }
}

/** What the log shows of an error. */
export function errorFields({ promptName, code, phase, message }: EvaluationFailure): object {
  return { promptName, code, phase, error: message };
}

/** What an evaluation came to so far, whatever becomes of it. */
export function spent(run: Run): Pick<EvaluationDetails, "promptName" | "usage" | "messages" | "toolResults"> {
  const { promptName, usage, history, toolResults } = run;
  return { promptName, usage, messages: history.messages(), toolResults: Object.freeze([...toolResults]) };
}
