// Variants of which a run found out nothing.
import type { AttemptRecord, EvalReport } from "../results.ts";
import { failedOutside } from "../scores/outside.ts";

/** Why nothing was measured of a variant: the surroundings failed each attempt that was made; undefined: something was. */
export function whyUnmeasured(variant: string, own: readonly AttemptRecord[]): string | undefined {
  const [first] = own;
  if (first?.failure === undefined || !own.every(failedOutside)) return undefined;
  const { reason, message } = first.failure;
  const all = own.length === 1 ? "its attempt" : `all ${own.length} attempts`;
  const found = `the surroundings failed ${all}, the first with ${reason}: ${message}`;
  return `Nothing was measured of "${variant}": ${found}`;
}

/** Why nothing was measured of some variants of a run, a sentence each. A systemic failure, which ended it, says that itself. */
export function unmeasuredTexts({ variants, ended }: Pick<EvalReport, "variants" | "ended">): readonly string[] {
  if (ended?.why === "systemic") return [];
  return Object.values(variants).flatMap(({ unmeasured }) => (unmeasured === undefined ? [] : [unmeasured]));
}
