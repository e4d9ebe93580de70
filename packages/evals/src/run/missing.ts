import type { AnyDefinition } from "../define/define-eval.ts";
import type { AttemptRecord } from "../results.ts";
import { outsideReasons } from "../scores/outside.ts";
import type { PlannedAttempt } from "./attempt.ts";
import type { ByKey } from "./by-key.ts";
import { scorersToRun } from "./rescoring.ts";

/** An attempt that is to be made, or whose answer is kept and has to be scored. */
export interface MissingAttempt {
  readonly planned: PlannedAttempt;
  readonly kept: AttemptRecord | undefined;
  /** The scorers of what is kept. */
  readonly scorers: readonly string[];
}

/** Returns what is still to be done; `again`: what failed is tried again. What is kept whole is passed to `counted`. */
export function missingAttempts(
  definition: AnyDefinition,
  planned: readonly PlannedAttempt[],
  { kept, again }: { readonly kept: ByKey<AttemptRecord>; readonly again: boolean },
  counted: (planned: PlannedAttempt, record: AttemptRecord) => void,
): readonly MissingAttempt[] {
  const missing: MissingAttempt[] = [];
  for (const each of planned) {
    const record = kept.size === 0 ? undefined : kept.get(each);
    if (record === undefined || !isOf(record, each) || (again && isOutside(record))) {
      missing.push({ planned: each, kept: undefined, scorers: none });
      continue;
    }
    const scorers = scorersToRun(definition, each.row.row, record, again);
    if (scorers.length > 0) missing.push({ planned: each, kept: record, scorers });
    else counted(each, record);
  }
  return missing;
}

const none: readonly never[] = [];

/** Whether a kept attempt is about what is planned now. */
function isOf({ rowHash, subjectHash }: AttemptRecord, planned: PlannedAttempt): boolean {
  return rowHash === planned.row.hash && subjectHash === planned.subjectHash;
}

/** Whether the surroundings made it fail (EVL-26). */
function isOutside({ failure }: AttemptRecord): boolean {
  return failure !== undefined && outsideReasons.includes(failure.reason);
}
