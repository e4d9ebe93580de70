// How an evaluation fails: its error, with what was spent and said until then, and its last event.
import { noUsage, RestoreError, type EvaluationDetails, type EvaluationFailure, type Prompt } from "@proviso/core";
import { elapsedMs } from "./elapsed.ts";
import { errorOf, internalFailure, rememberFailure, type Failure } from "./failures.ts";
import type { Run, Setup } from "./run.ts";
import { redactionOf } from "./secrets/structure.ts";

/** Why an evaluation could not begin; it has emitted nothing. */
export function notStarted({ world }: Setup, prompt: Prompt, why: Failure): EvaluationFailure {
  const spentNothing = { usage: noUsage, messages: [], toolResults: [] };
  try {
    const promptName = prompt?.template?.name ?? "(no prompt)";
    return errorFor(redactionOf(world.secrets).failure(why), { promptName, ...spentNothing });
  } catch (cause) {
    return errorFor(internalFailure(cause, "render"), { promptName: "(no prompt)", ...spentNothing });
  }
}

/** With the response or the failure that the evaluation would have come to. */
export function restoreError(
  run: Run,
  outcome: Pick<RestoreError, "response"> | Pick<RestoreError, "failure">,
): RestoreError {
  // Redacted when they were reported.
  const faults = [...run.faults];
  const [first] = faults;
  const message = `Session and resources may disagree: ${faults.map((fault) => fault.message).join("; ")}`;
  return new RestoreError(message, {
    ...run.redaction.details(spent(run)),
    phase: "tool",
    cause: first?.cause,
    faults,
    ...outcome,
  });
}

function errorFor(failure: Failure, details: Parameters<typeof errorOf>[1]): EvaluationFailure {
  const error = errorOf(failure, details);
  rememberFailure(error, failure);
  return error;
}

/** The error of an evaluation that failed, after its `prompt.failed`. */
export function failed(run: Run, failure: Failure): EvaluationFailure {
  const error = errorFor(run.redaction.failure(failure), run.redaction.details(spent(run)));
  return emitFailed(run, withFaults(run, error));
}

function withFaults(run: Run, error: EvaluationFailure): EvaluationFailure {
  return run.faults.length === 0 ? error : restoreError(run, { failure: error });
}

/** Ends the evaluation. */
export function emitFailed(run: Run, error: EvaluationFailure): EvaluationFailure {
  run.ended = true;
  run.log("error", { code: error.code, phase: error.phase, error: error.message }, "prompt.error");
  run.emit({
    type: "prompt.failed",
    promptName: run.promptName,
    code: error.code,
    phase: error.phase,
    message: error.message,
    usage: run.usage,
    turns: run.turn,
    durationMs: elapsedMs(run.world.clock, run.startedAt),
  });
  return error;
}

/** What an evaluation came to so far, whatever becomes of it. */
export function spent(run: Run): Pick<EvaluationDetails, "promptName" | "usage" | "messages" | "toolResults"> {
  const { promptName, usage, conversation, toolResults } = run;
  return { promptName, usage, messages: conversation.messages(), toolResults: Object.freeze([...toolResults]) };
}

/** The same for what was thrown; of an evaluation that cannot even emit it, its clock may throw for example, no event. */
export function unforeseen(run: Run, why: Failure): EvaluationFailure {
  let error: EvaluationFailure | undefined;
  try {
    error = errorFor(run.redaction.failure(why), run.redaction.details(spent(run)));
    return run.ended ? error : emitFailed(run, withFaults(run, error));
  } catch {
    return error ?? errorFor(why, spent(run));
  }
}
