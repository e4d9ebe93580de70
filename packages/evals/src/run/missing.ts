import type { AnyDefinition } from "../define/define-eval.ts";
import type { AttemptRecord } from "../results.ts";
import { failedOutside } from "../scores/outside.ts";
import type { PlannedAttempt } from "./attempt.ts";
import type { KeptRecords } from "./kept-records.ts";
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
  { kept, again }: { readonly kept: KeptRecords; readonly again: boolean },
  counted: (planned: PlannedAttempt, record: AttemptRecord) => void,
): readonly MissingAttempt[] {
  // What is tried again is what the surroundings failed (EVL-26).
  const missing: MissingAttempt[] = [];
  for (const each of planned) {
    const { rowId, variant, repetition, subjectHash } = each;
    const record = kept.isEmpty
      ? undefined
      : kept.get({ rowId, variant, repetition, subjectHash, rowHash: each.row.hash });
    if (record === undefined || (again && failedOutside(record))) {
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
