import type { ErrorReason, Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import type { NamedRow } from "../data/rows.ts";
import { scorerOf, type AnyDefinition, type ReadyVariant } from "../define/define-eval.ts";
import type { EarlyLooks } from "../run/early-looks.ts";
import type { Records } from "../run/records.ts";
import { isUnscored } from "./unscored.ts";
import { levelOf, type Level } from "../statistics/estimate.ts";
import type {
  AttemptRecord,
  Counts,
  Difference,
  EvalReport,
  Fingerprint,
  Measure,
  ScoreReport,
  VariantReport,
} from "../results.ts";
import { firstVariant, type Baseline } from "./baseline.ts";
import { decided, decisionsOf, gateConfidence } from "./gates.ts";
import { scoreDifference } from "./differences.ts";
import { scoreReport } from "./judged.ts";
import { differenceOf, estimateOf } from "./numbers.ts";
import { pairDifferences, pairReports, type PairsByKey } from "./pairs.ts";
import { savedAsBaseline, type savedBaseline } from "./saved.ts";
import { uncomparedOf } from "./uncompared.ts";
import { unmeasuredTexts, whyUnmeasured } from "./unmeasured.ts";
import { rowValues, View, type Pick as PickNumber } from "./view.ts";

/** What a report is made of. */
export interface Reported {
  readonly definition: AnyDefinition;
  readonly variants: readonly ReadyVariant[];
  readonly rows: readonly NamedRow<object>[];
  readonly fingerprint: Fingerprint;
  readonly baseline: ReturnType<typeof savedBaseline>;
  readonly options: { readonly confidence?: number | undefined };
  readonly records: Records;
  readonly ended: EvalReport["ended"];
  readonly spent: Usage;
  readonly lost: Usage;
  readonly runId: string;
  readonly startedAt: string;
  readonly reused: number;
  readonly pairs: PairsByKey;
  /** undefined: the run had no looks. */
  readonly looks: EarlyLooks | undefined;
}

const measures: Readonly<Record<Measure, PickNumber>> = {
  // A part of a cost is no cost: a variant would look cheaper by what is not known of it.
  costUsd: ({ usage }) => (usage.unpricedTokens === undefined ? usage.costUsd : undefined),
  inputTokens: ({ usage }) => usage.inputTokens,
  outputTokens: ({ usage }) => usage.outputTokens,
  turns: ({ turns }) => turns,
  durationMs: ({ durationMs }) => durationMs,
};
const measureNames = Object.keys(measures) as readonly Measure[];

/** What the numbers of a report share. */
interface Making {
  readonly of: Reported;
  readonly view: View;
  readonly baseline: Baseline;
  readonly level: Level;
}

export function baselineOf({
  baseline,
  variants,
  fingerprint,
}: Pick<Reported, "baseline" | "variants" | "fingerprint">): Baseline {
  return baseline === undefined ? firstVariant(variants) : savedAsBaseline(baseline, fingerprint);
}

/** Makes the report of a run, as plain JSON. */
export function reportOf(of: Reported): EvalReport {
  const { definition, variants, rows, records, looks, ended } = of;
  const settled = ended?.why === "settled" ? looks?.settled() : undefined;
  const isCut = ended !== undefined && ended.why !== "settled";
  const repetitions = definition.repetitions ?? 1;
  const view = new View(settled === undefined ? rows : rows.slice(0, settled.rows), records);
  const baseline = baselineOf(of);
  const confidence = of.options.confidence ?? 0.95;
  const decisions = decisionsOf(definition, variants, baseline);
  const making: Making = { of, view, baseline, level: settled?.level ?? levelOf(confidence) };
  const gateLevel = settled?.gateLevel ?? looks?.lastLevel() ?? levelOf(gateConfidence(decisions, confidence));
  const gates = decided(decisions, view, { definition, baseline, level: gateLevel, isCut });
  const groups = new Set(rows.map(({ group }) => group));
  const attempts = records.all();
  const byVariant = Map.groupBy(attempts, ({ variant }) => variant);
  const reports = Object.fromEntries(
    variants.map((variant) => [variant.name, variantReport(making, variant, byVariant.get(variant.name) ?? [])]),
  );
  const isUnmeasured = unmeasuredTexts({ variants: reports, ended }).length > 0;
  const compared = variants.filter(({ name }) => baseline.isComparedWith(name));
  const differences = Object.fromEntries(compared.map(({ name }) => [name, differencesOf(making, name)]));
  return {
    name: definition.name,
    runId: of.runId,
    startedAt: of.startedAt,
    fingerprint: of.fingerprint,
    rows: rows.length,
    groups: definition.group === undefined ? undefined : groups.size,
    repetitions,
    baseline: baseline.shown,
    variants: reports,
    differences,
    ...uncomparedIn(making, differences),
    ranges: rangesOf(definition),
    gates,
    passes: gates.every(({ passes }) => passes) && ended?.why !== "systemic" && !isUnmeasured,
    family: decisions.length,
    ended,
    reused: of.reused,
    spent: of.spent,
    lost: of.lost,
    attempts,
  };
}

function rangesOf({ scorers }: AnyDefinition): NonNullable<EvalReport["ranges"]> {
  return Object.fromEntries(Object.entries(scorers).map(([scorer, given]) => [scorer, scorerOf(given).range] as const));
}

/** What the saved run should have been compared with, and could not. */
function uncomparedIn(
  { of, view, baseline }: Making,
  differences: EvalReport["differences"],
): Pick<EvalReport, "uncompared"> {
  const found = Object.entries(differences).flatMap(([variant, own]) => {
    const missing = Object.keys(of.definition.scorers).flatMap((scorer) => {
      const why = Object.hasOwn(own, scorer) ? undefined : uncomparedOf(view, { ...of, baseline }, { variant, scorer });
      return why === undefined ? [] : [[scorer, why] as const];
    });
    return missing.length === 0 ? [] : [[variant, Object.fromEntries(missing)] as const];
  });
  return found.length === 0 ? {} : { uncompared: Object.fromEntries(found) };
}

function variantReport(
  { of, view, level }: Making,
  { name, adapter }: ReadyVariant,
  own: readonly AttemptRecord[],
): VariantReport {
  const scores: Record<string, ScoreReport> = {};
  for (const [scorer, given] of Object.entries(of.definition.scorers)) {
    const { range } = scorerOf(given);
    const asked = { definition: of.definition, variant: name, scorer, range, outside: "scored" } as const;
    const estimate = scoreReport(view, asked, level);
    if (estimate !== undefined) scores[scorer] = estimate;
  }
  const measured = measureNames.map((measure) => [
    measure,
    estimateOf(rowValues(view, name, measures[measure]), level, undefined),
  ]);
  const models = new Set<string>();
  for (const { model } of own) if (model !== undefined) models.add(model);
  const unmeasured = whyUnmeasured(name, own);
  return {
    adapter: adapter.name,
    models: [...models].toSorted(),
    counts: countsOf(own, of.rows.length * (of.definition.repetitions ?? 1)),
    ...(unmeasured === undefined ? {} : { unmeasured }),
    scores,
    pairs: pairReports(of.definition, of.pairs, name),
    measures: Object.fromEntries(measured) as VariantReport["measures"],
    spent: {
      subject: sumOf(own.map(({ usage }) => usage)),
      judges: sumOf([...own.map(({ judgeUsage }) => judgeUsage), ...pairUsages(of, name)]),
    },
  };
}

function sumOf(usages: readonly Usage[]): Usage {
  return usages.reduce(addUsage, noUsage);
}

function pairUsages({ pairs }: Reported, variant: string): readonly Usage[] {
  return [...pairs.values()].flatMap((pair) => (pair.of === variant ? [pair.usage] : []));
}

function countsOf(own: readonly AttemptRecord[], planned: number): Counts {
  const failed: Partial<Record<ErrorReason, number>> = {};
  for (const { failure } of own) if (failure !== undefined) failed[failure.reason] = (failed[failure.reason] ?? 0) + 1;
  const answered = own.filter(({ status }) => status === "answered").length;
  return { planned, answered, failed, unscored: own.filter(isUnscored).length, notRun: planned - own.length };
}

function differencesOf({ of, view, baseline, level }: Making, variant: string): Readonly<Record<string, Difference>> {
  const differences: Record<string, Difference> = {};
  for (const scorer of Object.keys(of.definition.scorers)) {
    const difference = scoreDifference(view, { ...of, baseline }, { variant, scorer }, level);
    if (difference !== undefined) differences[scorer] = difference;
  }
  for (const measure of measureNames) {
    const other = baseline.measuresOf(view, variant, measures[measure]);
    if (other === undefined || measure in differences) continue;
    const side = { variant: rowValues(view, variant, measures[measure]), baseline: other };
    const difference = differenceOf({ scored: side, worst: side, best: side }, level, { lessIsBetter: true });
    if (difference !== undefined) differences[measure] = difference;
  }
  if ("variant" in baseline.shown) {
    const compared = { view, pairs: of.pairs, baseline: baseline.shown.variant, variant, level };
    Object.assign(differences, pairDifferences(of.definition, compared));
  }
  return differences;
}
