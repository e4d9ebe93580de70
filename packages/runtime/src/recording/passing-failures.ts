import type { EvaluationFailure } from "@proviso/core";

/** Whether a run that failed with this code goes on when it is evaluated again: a limit ended it, or what may pass. */
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

export function goesOn(code: EvaluationFailure["code"]): boolean {
  return mayPass[code];
}
