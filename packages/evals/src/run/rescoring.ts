// Scores what is kept by scorers that changed: nothing is asked again (EVL-25).
import { scorerOf, type AnyDefinition } from "../define/define-eval.ts";
import type { Attempt, FailedAttempt, ScorerLike } from "../definition.ts";
import type { AttemptRecord } from "../results.ts";
import type { Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import { JudgesOfAttempt } from "../judges/asking.ts";
import type { AttemptWorld, PlannedAttempt } from "./attempt.ts";
import { scoresOf } from "./scoring.ts";
import { redactionOf } from "./secrets.ts";

/** The scorers that apply to the row and whose score is not kept; of an attempt that is tried again, the failed ones too. */
export function scorersToRun(
  definition: AnyDefinition,
  row: object,
  { scores }: AttemptRecord,
  again: boolean,
): readonly string[] {
  const missing: string[] = [];
  for (const name of Object.keys(definition.scorers)) {
    const score = scores[name];
    const isKept = score !== undefined && !(again && "unscored" in score);
    if (!isKept && appliesTo(definition.scorers[name] as ScorerLike<object, unknown>, row)) missing.push(name);
  }
  return missing;
}

/** What a scorer throws here it throws when it scores, where that is the reason of a missing score. */
function appliesTo(given: ScorerLike<object, unknown>, row: object): boolean {
  try {
    return scorerOf(given).appliesTo?.(row) !== false;
  } catch {
    return true;
  }
}

/** A record with new scores; or a scorer needs what is not kept; or the end of the run cut a judge short. */
export type Rescored = { readonly usage: Usage } & (
  | { readonly record: AttemptRecord }
  | { readonly isShort: true }
  | { readonly notRun: "budget" | "aborted" }
);

/** Scores a kept attempt by the scorers whose scores are missing. */
export async function rescored(
  definition: AnyDefinition,
  {
    planned,
    kept,
    scorers,
  }: { readonly planned: PlannedAttempt; readonly kept: AttemptRecord; readonly scorers: readonly string[] },
  world: AttemptWorld,
): Promise<Rescored> {
  const { failure, scores } = kept;
  // The failure itself is not kept: only its reason and its message are.
  if (failure !== undefined && scorers.some((name) => scorerOf(definition.scorers[name] as never).scoreFailure)) {
    return { isShort: true, usage: noUsage };
  }
  const attempt = new KeptAttempt(planned, kept);
  // A failure counts as the worst value, and no scorer is asked.
  const of = failure === undefined ? attempt : ({ row: planned.row.row, failure } as unknown as FailedAttempt);
  const judges = new JudgesOfAttempt(world);
  const made = redactionOf(definition)(await scoresOf(definition, of, { ask: judges.ask, wanted: scorers }));
  if (judges.cut !== undefined) return { notRun: judges.cut, usage: judges.usage };
  // What was spent before a scorer read too much is spent.
  if (attempt.isShort) return { isShort: true, usage: judges.usage };
  const judgeUsage = addUsage(kept.judgeUsage, judges.usage);
  return { record: { ...kept, scores: { ...scores, ...made }, judgeUsage }, usage: judges.usage };
}

/** An attempt as far as it is kept. Reading the rest throws. */
export class KeptAttempt implements Attempt {
  readonly variant: string;
  readonly row: unknown;
  readonly rowId: string;
  readonly repetition: number;
  readonly output: unknown;
  readonly usage: Attempt["usage"];
  readonly turns: number;
  readonly durationMs: number;
  #isShort = false;

  constructor({ row }: Pick<PlannedAttempt, "row">, kept: AttemptRecord) {
    this.variant = kept.variant;
    this.row = row.row;
    this.rowId = kept.rowId;
    this.repetition = kept.repetition;
    this.output = kept.output;
    this.usage = kept.usage;
    this.turns = kept.turns;
    this.durationMs = kept.durationMs;
  }

  /** Whether a scorer read what is not kept. */
  get isShort(): boolean {
    return this.#isShort;
  }

  get events(): never {
    return this.#missing("events");
  }

  get session(): never {
    return this.#missing("session");
  }

  get resources(): never {
    return this.#missing("resources");
  }

  #missing(what: string): never {
    this.#isShort = true;
    throw new Error(`The ${what} of an attempt are not kept: it is made again.`);
  }
}
