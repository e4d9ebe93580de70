// Pairs of answers: each variant's with the baseline's, of the same row and repetition.
import type { Usage } from "@proviso/core";
import { contentHash, messageOf, noUsage } from "@proviso/core/internal";
import type { NamedRow } from "../data/rows.ts";
import type { AnyDefinition, ReadyVariant } from "../define/define-eval.ts";
import type { PairScorer, Preference } from "../definition.ts";
import { JudgesOfAttempt } from "../judges/asking.ts";
import { pairJudgeOf } from "../judges/pairwise.ts";
import type { AttemptRecord } from "../results.ts";
import type { AttemptWorld, NotRun } from "./attempt.ts";
import type { KeptRecords } from "./kept-records.ts";
import type { Records } from "./records.ts";
import { KeptAttempt } from "./rescoring.ts";
import { redactionOf } from "./secrets.ts";

/** A pair that a scorer is asked about. */
export interface PlannedPair {
  readonly scorer: string;
  /** The name of the variant that is compared with the baseline. */
  readonly of: string;
  readonly row: NamedRow<object>;
  readonly baseline: AttemptRecord;
  readonly variant: AttemptRecord;
  /** The key of the pair's own record, and what it was asked about. */
  readonly key: { readonly rowId: string; readonly variant: string; readonly repetition: number };
  readonly subjectHash: string;
}

/** What came of a pair: it is kept as the output of a record of its own. */
export type PairOutcome = Preference | { readonly unscored: string };

/** A pair that was asked, or is kept. */
export interface AskedPair {
  readonly scorer: string;
  readonly of: string;
  readonly rowId: string;
  readonly repetition: number;
  readonly outcome: PairOutcome;
  readonly usage: Usage;
}

interface PairsOf {
  readonly definition: AnyDefinition;
  readonly variants: readonly ReadyVariant[];
  readonly rows: readonly NamedRow<object>[];
  readonly records: Records;
}

/** Plans every pair of two answers; an answer that failed loses unasked. */
function plannedPairs({ definition, variants, rows, records }: PairsOf): readonly PlannedPair[] {
  const [first, ...others] = variants;
  const scorers = Object.entries(definition.pairScorers ?? {});
  if (first === undefined || scorers.length === 0) return [];
  const repetitions = Array.from({ length: definition.repetitions ?? 1 }, (_, at) => at + 1);
  const answered = (row: number, variant: string, repetition: number): AttemptRecord | undefined => {
    const record = records.at(row, variant, repetition);
    return record?.status === "answered" ? record : undefined;
  };
  return rows.flatMap((row, place) =>
    others.flatMap(({ name: of }) =>
      repetitions.flatMap((repetition) => {
        const baseline = answered(place, first.name, repetition);
        const variant = answered(place, of, repetition);
        if (baseline === undefined || variant === undefined) return [];
        return scorers.map(([scorer, { version = "1" }]): PlannedPair => {
          const key = { rowId: row.id, variant: JSON.stringify(["pair", scorer, of]), repetition };
          const subjectHash = contentHash([version, first.name, row.hash, baseline.output, variant.output]);
          return { scorer, of, row, baseline, variant, key, subjectHash };
        });
      }),
    ),
  );
}

/** Returns the pairs that are still to be asked; `again`: what failed is tried again. What is kept is passed to `counted`. */
export function missingPairs(
  { kept, again, ...of }: PairsOf & { readonly kept: KeptRecords; readonly again: boolean },
  counted: (pair: AskedPair, record: AttemptRecord) => void,
): readonly PlannedPair[] {
  return plannedPairs(of).filter((pair) => {
    const record = kept.get({ ...pair.key, rowHash: pair.row.hash, subjectHash: pair.subjectHash });
    if (record === undefined) return true;
    const outcome = record.output as PairOutcome;
    if (again && "unscored" in outcome) return true;
    counted(askedPair(pair, outcome, record.judgeUsage), record);
    return false;
  });
}

function askedPair({ scorer, of, key }: PlannedPair, outcome: PairOutcome, usage: Usage): AskedPair {
  return { scorer, of, rowId: key.rowId, repetition: key.repetition, outcome, usage };
}

/** Asks about a pair. "not run": the run's own end or budget cut the judge short. Never rejects. */
export async function askPair(
  definition: AnyDefinition,
  planned: PlannedPair,
  world: AttemptWorld,
): Promise<{ readonly asked: AskedPair; readonly record: AttemptRecord } | NotRun> {
  const startedAt = world.clock.now();
  const judges = new JudgesOfAttempt(world, definition);
  const scorer = definition.pairScorers?.[planned.scorer] as PairScorer<object, unknown>;
  const pair = {
    row: planned.row.row,
    baseline: new KeptAttempt(planned, planned.baseline),
    variant: new KeptAttempt(planned, planned.variant),
  };
  let outcome: PairOutcome;
  try {
    const judge = pairJudgeOf(scorer);
    const typed = pair as Parameters<typeof scorer.prefer>[0];
    outcome = preferenceIn(
      await (judge === undefined ? judges.within(scorer.prefer(typed)) : judge.prefer(typed as never, judges.ask)),
    );
  } catch (error) {
    outcome = { unscored: messageOf(error) };
  }
  if (judges.cut !== undefined) return { notRun: judges.cut, usage: judges.usage };
  outcome = redactionOf(definition)(outcome);
  const record: AttemptRecord = {
    ...planned.key,
    rowHash: planned.row.hash,
    subjectHash: planned.subjectHash,
    status: "answered",
    output: outcome,
    scores: {},
    usage: noUsage,
    judgeUsage: judges.usage,
    model: undefined,
    turns: 0,
    durationMs: Math.max(0, world.clock.now() - startedAt),
  };
  return { asked: askedPair(planned, outcome, judges.usage), record };
}

/** Reads a preference. @throws for anything that is not a preference. */
function preferenceIn(given: unknown): Preference {
  const { winner, isConsistent, reason } = (given ?? {}) as Partial<Preference>;
  if (winner !== "variant" && winner !== "baseline" && winner !== "neither") {
    throw new Error(`It returned no preference: the winner is ${String(winner)}.`);
  }
  if (typeof isConsistent !== "boolean") throw new Error("It returned no preference: isConsistent is no boolean.");
  return { winner, isConsistent, ...(typeof reason === "string" ? { reason } : {}) };
}
