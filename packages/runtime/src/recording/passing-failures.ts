import type { EvaluationFailure } from "@proviso/core";
import type { EntryOf } from "./entries.ts";
import type { RunSource } from "./run-source.ts";

/** Whether a run that failed with this code is evaluated again from where it was; the others are its outcome. */
const mayPass: Readonly<Record<EvaluationFailure["code"], boolean>> = {
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
  provider: false,
  restore: false,
  run: false,
};

export function mayGoOnAfter(code: EvaluationFailure["code"]): boolean {
  return mayPass[code];
}

/** What the entry of an end says of how the run goes on. */
export function openEndOf(
  error: EvaluationFailure,
  source: Pick<RunSource, "staysOpen">,
): Pick<EntryOf<"ended">, "goesOn" | "staysOpen"> {
  if (!mayGoOnAfter(error.code)) return {};
  return source.staysOpen?.(error) === true ? { goesOn: true, staysOpen: true } : { goesOn: true };
}
