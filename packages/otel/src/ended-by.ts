import { isEvaluationFailure } from "@proviso/core";

/** The code of what an evaluation rejected with; undefined: it did not reject. */
export function codeOf(error: unknown): string | undefined {
  if (error === undefined) return undefined;
  const code: unknown = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "error";
}

/** Whether the run waits for a decision: it has not failed. */
export function isSuspension(error: unknown): boolean {
  return isEvaluationFailure(error) && error.code === "run" && error.reason === "suspended";
}
