import type { AttemptRecord } from "../results.ts";

/** Whether a scorer failed on an answer. */
export function isUnscored({ status, scores }: AttemptRecord): boolean {
  if (status !== "answered") return false;
  for (const name of Object.keys(scores)) if ("unscored" in (scores[name] as object)) return true;
  return false;
}
