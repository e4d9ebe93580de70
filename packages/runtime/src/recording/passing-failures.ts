import type { EvaluationFailure } from "@proviso/core";
import { ofAnswers } from "../failures.ts";
import type { EntryOf } from "./entries.ts";
import type { RunSource } from "./run-source.ts";

/** Whether a run that failed with this code is evaluated again from where it was; the others are its outcome. */
const mayPass: Readonly<Record<Exclude<EvaluationFailure["code"], "provider">, boolean>> = {
  deadline: true,
  budget: true,
  turns: true,
  aborted: true,
  throttled: true,
  process: true,
  render: true,
  listener: true,
  internal: true,
  deadlock: false,
  option: false,
  output: false,
  restore: false,
  run: false,
};

/** Whether no answer came that could be given again: another key, model or deployment may have one. */
export function mayGoOnAfter(error: EvaluationFailure): boolean {
  return error.code === "provider" ? !ofAnswers.has(error.reason) : mayPass[error.code];
}

/** What the entry of an end says of how the run goes on. */
export function openEndOf(
  error: EvaluationFailure,
  source: Pick<RunSource, "staysOpen">,
): Pick<EntryOf<"ended">, "goesOn" | "staysOpen"> {
  if (!mayGoOnAfter(error)) return {};
  return source.staysOpen?.(error) === true ? { goesOn: true, staysOpen: true } : { goesOn: true };
}
