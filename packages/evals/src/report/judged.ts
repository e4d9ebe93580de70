// A judge's score as people would have given it, and how far the judge agrees with them (EVL-18).
import type { AnyDefinition } from "../define/define-eval.ts";
import { judgePartsOf } from "../judges/judge.ts";
import { answerKey, drawOrder, outputHash, type Label } from "../judges/labels.ts";
import type { AttemptRecord, ScoreReport } from "../results.ts";
import { agreement } from "../statistics/agreement.ts";
import { correctedDifference, correctedWithin, type JudgedRow } from "../statistics/corrected-rows.ts";
import type { Estimate, Level } from "../statistics/estimate.ts";
import { estimateOf } from "./numbers.ts";
import { failedOutside } from "../scores/outside.ts";
import { rowValues, scoreOf, type Outside, type View } from "./view.ts";
import { ownField } from "../own-field.ts";

/** Labels below which a judge is not corrected. */
export const fewestLabels = 30;

/** A score that is asked for. */
export interface Asked {
  readonly definition: AnyDefinition;
  readonly variant: string;
  readonly scorer: string;
  readonly range: readonly [number, number];
  readonly outside: Outside;
}

/** A scorer, and what it was given. */
type Labelled = Pick<Asked, "definition" | "scorer" | "range">;

/** The estimate of a score: of a judge with enough labels the corrected one. undefined: too few groups of rows. */
export function scoreEstimate(view: View, of: Asked, level: Level): Estimate | undefined {
  return corrected(view, of, level) ?? plainEstimate(view, of, level);
}

/** Like `scoreEstimate`, with how far labels agree with the judge. */
export function scoreReport(view: View, of: Asked, level: Level): ScoreReport | undefined {
  const uncorrected = plainEstimate(view, of, level);
  const pairs = labelsOf(of) === undefined ? [] : labelledPairs(view, of);
  if (uncorrected === undefined) return undefined;
  const score = { ...uncorrected, ...whyNotRandom(view, of) };
  if (pairs.length === 0) return score;
  const [worst, best] = of.range;
  // A score that is nearer to the best one than to the worst one passes.
  const passes = (score: number): boolean => (score - worst) / (best - worst) >= 0.5;
  const agreed = agreement(
    pairs.map(({ person, judge }) => ({ person: passes(person), judge: passes(judge) })),
    { confidence: level.confidence },
  );
  return { ...(corrected(view, of, level) ?? score), judged: { ...agreed, uncorrected } };
}

/**
 * How many labels that were drawn are of answers that are gone: none of the row's attempts gives that answer, and all of
 * them have an answer, or failed by themselves. What the surroundings failed may give it again.
 */
function goneLabels(view: View, of: Labelled): number {
  if (labelsOf(of) === undefined) return 0;
  const labels = Map.groupBy(filledLabels(of).filter(isDrawn), ({ rowId }) => rowId);
  let gone = 0;
  for (const [place, { id }] of view.rows.entries()) {
    const attempts = labels.has(id) ? view.attemptsAt(place) : undefined;
    if (attempts === undefined || attempts.some(failedOutside)) continue;
    const given = new Set(attempts.filter(({ status }) => status === "answered").map(outputHash));
    gone += labels.get(id)?.filter(({ output }) => !given.has(output)).length ?? 0;
  }
  return gone;
}

/**
 * How many answers of the variant were not there when labels were drawn, at least: those of more rows than there were, and
 * those that come before a drawn one in the order of the draw and were not drawn. A label that was left out leaves its
 * place empty, and was of one of them.
 */
function lateAnswers(view: View, of: Labelled & Pick<Asked, "variant">): number {
  const drawn = (labelsOf(of) ?? []).filter(isDrawn);
  const known = new Set(drawn.map(answerKey));
  const bySeed = Map.groupBy(filledLabels(of).filter(isDrawn), (label) => label.drawn.seed);
  const late = Array.from(bySeed, ([seed, labels]) => {
    const orders = labels.map((label) => drawOrder(seed, label)).toSorted();
    const last = orders.at(-1) ?? "";
    const undrawn = answersOf(view, of.variant).filter(
      (answer) => !known.has(answerKey(answer)) && drawOrder(seed, answer) < last,
    );
    const lastPlace = Math.max(...labels.map((label) => label.drawn.place));
    const places = drawn.flatMap(({ drawn: { seed: by, place } }) =>
      by === seed && place <= lastPlace ? [place] : [],
    );
    const empty = lastPlace + 1 - new Set(places).size;
    const rows = Math.max(...labels.map((label) => label.drawn.rows ?? Infinity));
    return Math.max(undrawn.length - empty, view.rows.length - rows);
  });
  return Math.max(0, ...late);
}

/** The different answers of a variant. */
function answersOf(view: View, variant: string): readonly Pick<Label, "rowId" | "output">[] {
  const answers = new Map<string, Pick<Label, "rowId" | "output">>();
  for (const record of view.attemptsOf(variant).flatMap((attempts) => attempts ?? [])) {
    if (record.status !== "answered") continue;
    const answer = { rowId: record.rowId, output: outputHash(record) };
    answers.set(answerKey(answer), answer);
  }
  return [...answers.values()];
}

/** What shows that the labels which were drawn are of no random part of the variant's answers; undefined: nothing does. */
function whyNotRandom(
  view: View,
  of: Labelled & Pick<Asked, "variant">,
): Pick<ScoreReport, "goneLabels" | "lateAnswers"> | undefined {
  const gone = goneLabels(view, of);
  if (gone > 0) return { goneLabels: gone };
  const late = lateAnswers(view, of);
  return late > 0 ? { lateAnswers: late } : undefined;
}

/** Whether the labels that were drawn may be of a random part of the variant's answers; else they correct nothing. */
export function areLabelsRandom(view: View, of: Labelled & Pick<Asked, "variant">): boolean {
  return whyNotRandom(view, of) === undefined;
}

function plainEstimate(view: View, { variant, scorer, range, outside }: Asked, level: Level): Estimate | undefined {
  return estimateOf(rowValues(view, variant, scoreOf(scorer, range, outside)), level, range);
}

/** undefined: it is no judge, or has no labels. */
function labelsOf({ definition, scorer }: Pick<Asked, "definition" | "scorer">): readonly Label[] | undefined {
  const labels = judgePartsOf(definition.scorers[scorer] as object)?.labels;
  return labels === undefined || labels.length === 0 ? undefined : labels;
}

/** The labels that have a value: one that was drawn and not yet filled in has none. */
function filledLabels(of: Labelled): readonly (Label & { value: number })[] {
  const [worst, best] = of.range;
  return (labelsOf(of) ?? []).flatMap((label) => {
    const value = label.value === true ? best : label.value === false ? worst : label.value;
    return typeof value === "number" && Number.isFinite(value) ? [{ ...label, value }] : [];
  });
}

function isDrawn<Of extends Label>(label: Of): label is Of & { readonly drawn: NonNullable<Label["drawn"]> } {
  // A file of labels may say null where there is none.
  return (label.drawn ?? undefined) !== undefined;
}

/** The verdicts of people, by the answer that they are about. */
function verdictsOf(labels: readonly (Label & { value: number })[]): ReadonlyMap<string, readonly number[]> {
  const verdicts = new Map<string, number[]>();
  for (const label of labels) {
    const key = answerKey(label);
    verdicts.set(key, [...(verdicts.get(key) ?? []), label.value]);
  }
  return verdicts;
}

function scored(record: AttemptRecord, scorer: string): number | undefined {
  const score = ownField(record.scores, scorer);
  return score === undefined || "unscored" in score ? undefined : score.value;
}

/** Each label beside the judge's verdict on the same answer, which counts once however often it was given. */
function labelledPairs(view: View, of: Asked): readonly { readonly person: number; readonly judge: number }[] {
  const verdicts = verdictsOf(filledLabels(of));
  const pairs = new Map<string, readonly { readonly person: number; readonly judge: number }[]>();
  const attempts = view.attemptsOf(of.variant);
  for (const [place, { id }] of view.rows.entries()) {
    for (const record of attempts[place] ?? []) {
      const judge = scored(record, of.scorer);
      if (record.status !== "answered" || judge === undefined) continue;
      const key = answerKey({ rowId: id, output: outputHash(record) });
      const people = verdicts.get(key);
      if (people !== undefined)
        pairs.set(
          key,
          people.map((person) => ({ person, judge })),
        );
    }
  }
  return [...pairs.values()].flat();
}

/** undefined: fewer than 30 of the variant's answers have a label that was drawn, or the labels are no random part. */
function corrected(view: View, of: Asked, level: Level): Estimate | undefined {
  if (labelsOf(of) === undefined || !areLabelsRandom(view, of)) return undefined;
  const rows = judgedRows(view, of).filter((row) => row !== undefined);
  return isEnough(rows) ? correctedWithin(rows, level, of.range) : undefined;
}

/**
 * The difference of a variant and the baseline as people would have judged it. undefined: one of both has fewer than 30
 * answers with a label that was drawn, or the labels are no random part of its answers.
 */
export function correctedSides(
  view: View,
  of: { readonly variant: Asked; readonly baseline: Asked },
  level: Level,
): Estimate | undefined {
  if (labelsOf(of.variant) === undefined) return undefined;
  if (!areLabelsRandom(view, of.variant) || !areLabelsRandom(view, of.baseline)) return undefined;
  const [own, others] = [judgedRows(view, of.variant), judgedRows(view, of.baseline)];
  const variant: CountedRow[] = [];
  const baseline: CountedRow[] = [];
  for (const [place, row] of own.entries()) {
    const other = others[place];
    if (row === undefined || other === undefined) continue;
    variant.push(row);
    baseline.push(other);
  }
  if (!isEnough(variant) || !isEnough(baseline)) return undefined;
  const [worst, best] = of.variant.range;
  return correctedDifference(variant, baseline, level, Math.abs(best - worst));
}

/** A judged row, and how many of its different answers have a label that was drawn. */
interface CountedRow extends JudgedRow {
  readonly labels: number;
}

/** undefined: an attempt of the row is missing or not scored. */
function judgedRows(view: View, of: Asked): readonly (CountedRow | undefined)[] {
  const verdicts = verdictsOf(filledLabels(of).filter(isDrawn));
  const attempts = view.attemptsOf(of.variant);
  return view.rows.map(({ id, group }, place) => {
    const row = judgedRow(attempts[place] ?? [], of, { id, verdicts });
    return row && { ...row, cluster: group };
  });
}

/** Whether so many labels were drawn that they correct something, in two clusters at least. */
function isEnough(rows: readonly CountedRow[]): boolean {
  const labels = rows.reduce((sum, row) => sum + row.labels, 0);
  const clusters = new Set(rows.map(({ cluster, label }, place) => (label === undefined ? -1 : (cluster ?? place))));
  clusters.delete(-1);
  return labels >= fewestLabels && clusters.size >= 2;
}

function judgedRow(
  attempts: readonly AttemptRecord[],
  of: Asked,
  { id, verdicts }: { readonly id: string; readonly verdicts: ReadonlyMap<string, readonly number[]> },
): CountedRow | undefined {
  const pick = scoreOf(of.scorer, of.range, of.outside);
  const numbers = attempts.map(pick);
  // A row with an attempt that is not scored is left out, as everywhere.
  if (numbers.length === 0 || numbers.some((number) => typeof number !== "number")) return undefined;
  const answers = attempts.flatMap((record, place) => {
    if (record.status !== "answered") return [];
    const key = answerKey({ rowId: id, output: outputHash(record) });
    const people = verdicts.get(key);
    return [{ key, judge: numbers[place] as number, person: people === undefined ? undefined : meanOf(people) }];
  });
  const failed = attempts.reduce(
    (sum, { status }, place) => sum + (status === "failed" ? (numbers[place] as number) : 0),
    0,
  );
  const labelled = answers.flatMap(({ key, judge, person }) => (person === undefined ? [] : [{ key, judge, person }]));
  const label =
    labelled.length === 0
      ? undefined
      : {
          judge: meanOf(labelled.map(({ judge }) => judge)),
          person: meanOf(labelled.map(({ person }) => person)),
          share: labelled.length / attempts.length,
        };
  return {
    judge: answers.length === 0 ? 0 : meanOf(answers.map(({ judge }) => judge)),
    answered: answers.length / attempts.length,
    failed: failed / attempts.length,
    label,
    labels: new Set(labelled.map(({ key }) => key)).size,
  };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
