import { isThenable, messageOf } from "@proviso/core/internal";
import { scorerOf, type AnyDefinition, type ReadyScorer } from "../define/define-eval.ts";
import type { Attempt, FailedAttempt, ScorerLike } from "../definition.ts";
import { judgePartsOf, type Ask } from "../judges/judge.ts";
import type { AttemptRecord } from "../results.ts";

type Scores = AttemptRecord["scores"];

/**
 * Scores an attempt by each scorer that applies to its row, or by those of them that are wanted. What a scorer throws leaves
 * the attempt unscored by it.
 */
export async function scoresOf(
  definition: AnyDefinition,
  attempt: Attempt | FailedAttempt,
  { ask, within, wanted }: Scoring & { readonly wanted?: readonly string[] },
): Promise<Scores> {
  const scores: Record<string, Scores[string]> = {};
  for (const name of wanted ?? Object.keys(definition.scorers)) {
    const scorer = scorerOf(definition.scorers[name] as ScorerLike<object, unknown>);
    try {
      if (scorer.appliesTo?.(attempt.row as object) === false) continue;
      const given = scored(scorer, attempt, { ask, within });
      // Most scorers are functions that wait for nothing.
      scores[name] = scoreIn(scorer.range, isThenable(given) ? await given : given);
    } catch (error) {
      scores[name] = { unscored: messageOf(error) };
    }
  }
  return scores;
}

/** How judges are asked, and other scorers are waited for. */
interface Scoring {
  readonly ask: Ask;
  within<T>(scoring: PromiseLike<T>): Promise<T>;
}

function scored(scorer: ReadyScorer, attempt: Attempt | FailedAttempt, { ask, within }: Scoring): unknown {
  const settled = (given: unknown): unknown => (isThenable(given) ? within(given) : given);
  if ("failure" in attempt) {
    const failed = attempt as FailedAttempt<object>;
    return scorer.scoreFailure === undefined ? scorer.range[0] : settled(scorer.scoreFailure(failed));
  }
  const judge = judgePartsOf(scorer);
  return judge === undefined
    ? settled(scorer.score(attempt as Attempt<object>))
    : judge.score(attempt as Attempt<never, never>, ask);
}

/** Reads a score. @throws for what is no score, or outside of the range. */
function scoreIn(
  range: readonly [number, number],
  given: unknown,
): { readonly value: number; readonly reason?: string } {
  const [worst, best] = range;
  if (given === true) return { value: best };
  if (given === false) return { value: worst };
  const { value, reason } = typeof given === "number" ? { value: given, reason: undefined } : fieldsOf(given);
  const number = value === true ? best : value === false ? worst : value;
  if (typeof number !== "number" || !Number.isFinite(number))
    throw new Error(`It returned no score: ${String(number)}.`);
  if (number < Math.min(...range) || number > Math.max(...range)) {
    throw new Error(`It returned ${number}, which is not between ${worst} and ${best}.`);
  }
  return typeof reason === "string" ? { value: number, reason } : { value: number };
}

function fieldsOf(given: unknown): { readonly value: unknown; readonly reason: unknown } {
  const { value, reason } = (given ?? {}) as { readonly value?: unknown; readonly reason?: unknown };
  return { value, reason };
}
