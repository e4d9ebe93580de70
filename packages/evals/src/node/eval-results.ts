// What an eval came to, as the viewer's matrix shows it.
import type { AttemptView, EvalSummary, EvalView, Interval } from "@proviso/core";
import { noUsage } from "@proviso/core/internal";
import { estimateOf } from "../report/numbers.ts";
import { isBeyond, type savedRunOf } from "../report/saved.ts";
import type { AttemptRecord, EvalReport } from "../results.ts";
import { levelOf, type Estimate } from "../statistics/estimate.ts";
import { ownField } from "../own-field.ts";

/** One run of an eval that can be shown. */
export interface ShownEval {
  readonly view: EvalView;
  attempts(): Iterable<AttemptView>;
}

/** What a report shows, beside its attempts. */
export function viewOf(report: Omit<EvalReport, "attempts">): EvalView {
  const { name, runId, startedAt, ended, rows, repetitions, baseline, variants, differences, ranges, gates } = report;
  const scores = Object.entries(variants).map(([variant, { scores: own }]) => [variant, intervalsOf(own)] as const);
  const less = Object.entries(differences).map(([variant, own]) => [variant, intervalsOf(own)] as const);
  return {
    name,
    runId,
    startedAt,
    status: ended === undefined || ended.why === "settled" ? "done" : "stopped",
    rows,
    variants: Object.keys(variants),
    repetitions,
    baseline,
    ...(ranges === undefined ? {} : { ranges }),
    scores: Object.fromEntries(scores),
    differences: Object.fromEntries(less),
    gates: gates.map(({ scorer, variant, gate, bound, verdict }) => ({ scorer, variant, gate, bound, verdict })),
  };
}

function intervalsOf(estimates: Readonly<Record<string, Estimate>>): Readonly<Record<string, Interval>> {
  const shown = Object.entries(estimates).map(([of, { value, low, high, confidence }]) => {
    return [of, { value, low, high, confidence }] as const;
  });
  return Object.fromEntries(shown);
}

/** An attempt without its answer, which is not shown. */
export function attemptView(record: AttemptRecord): AttemptView {
  const { rowId, variant, repetition, status, scores, usage, durationMs, runIds = [] } = record;
  return { rowId, variant, repetition, status, scores, usage, durationMs, runIds };
}

/**
 * A saved run has mean scores by row: what was spent, and how often a row was tried, is not in it. One of an earlier version
 * has no ranges, and so no intervals.
 */
export function shownSaved(saved: ReturnType<typeof savedRunOf>): ShownEval {
  const { name, runId, startedAt, rows, ranges = {} } = saved;
  const variants = Object.keys(saved.fingerprint.variants);
  const level = levelOf();
  const scoresOf = (variant: string): Readonly<Record<string, Interval>> => {
    const estimates = new Map<string, Estimate>();
    for (const [scorer, range] of Object.entries(ranges)) {
      const scored = rows.filter(
        ({ variant: of, scores }) => of === variant && typeof ownField(scores, scorer) === "number",
      );
      if (scored.some(({ scores }) => isBeyond(scores[scorer], range))) continue;
      const values = scored.map(({ id, hash, scores, group: cluster }) => {
        return { id, hash, value: scores[scorer] as number, cluster };
      });
      const estimate = estimateOf({ values, unscored: new Set() }, level, range);
      if (estimate !== undefined) estimates.set(scorer, estimate);
    }
    return intervalsOf(Object.fromEntries(estimates));
  };
  const summary: EvalSummary = {
    name,
    runId,
    startedAt,
    status: "done",
    rows: new Set(rows.map(({ id }) => id)).size,
    variants,
  };
  return {
    view: {
      ...summary,
      repetitions: 1,
      baseline: { saved: runId },
      ranges,
      scores: Object.fromEntries(variants.map((variant) => [variant, scoresOf(variant)])),
      differences: {},
      gates: [],
    },
    attempts: () =>
      rows.map(({ id: rowId, variant, scores, outside = 0 }): AttemptView => {
        const shown = Object.entries(scores).map(
          ([scorer, value]) => [scorer, value === null ? { unscored: "not scored" } : { value }] as const,
        );
        const status = outside === 1 ? "failed" : "answered";
        const attempt = { rowId, variant, repetition: 1, status, scores: Object.fromEntries(shown) } as const;
        return { ...attempt, usage: noUsage, durationMs: 0, runIds: [] };
      }),
  };
}
