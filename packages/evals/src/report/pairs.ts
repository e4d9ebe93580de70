// The difference that pairs of answers make: 1 where the variant's is better, -1 where the baseline's is, else 0.
import type { AnyDefinition } from "../define/define-eval.ts";
import type { AttemptRecord, Difference, PairReport } from "../results.ts";
import type { AskedPair } from "../run/pairs.ts";
import { failedOutside } from "../scores/outside.ts";
import type { Level } from "../statistics/estimate.ts";
import { differenceOf } from "./numbers.ts";
import type { Outside, RowValue, RowValues, View } from "./view.ts";

/** The asked pairs of a run, by what they are about. */
export type PairsByKey = ReadonlyMap<string, AskedPair>;

export function pairsByKey(pairs: readonly AskedPair[]): PairsByKey {
  return new Map(pairs.map((pair) => [pairKey(pair.scorer, pair.of, pair), pair]));
}

function pairKey(
  scorer: string,
  variant: string,
  { rowId, repetition }: Pick<AskedPair, "rowId" | "repetition">,
): string {
  return JSON.stringify([rowId, repetition, scorer, variant]);
}

interface Compared {
  readonly view: View;
  readonly pairs: PairsByKey;
  readonly baseline: string;
  readonly variant: string;
  readonly level: Level;
}

/** Returns the difference by each pair scorer that has enough rows for one. */
export function pairDifferences(
  { pairScorers = {} }: AnyDefinition,
  compared: Compared,
): Readonly<Record<string, Difference>> {
  const differences: Record<string, Difference> = {};
  for (const scorer of Object.keys(pairScorers)) {
    const side = (outside: Outside) => sidesOf(compared, scorer, outside);
    const sides = { scored: side("scored"), worst: side("worst"), best: side("best") };
    // A preference is at most one apart from none, as a score from 0 to 1 is from another.
    const difference = differenceOf(sides, compared.level, { range: [0, 1], lessIsBetter: false });
    if (difference === undefined) continue;
    const { asked, unscored, inconsistent } = pairReport(compared.pairs, scorer, compared.variant);
    const preferences = asked - unscored;
    differences[scorer] = { ...difference, inconsistent: preferences === 0 ? 0 : inconsistent / preferences };
  }
  return differences;
}

/** Returns what became of a variant's pairs, by pair scorer; nothing of the baseline's own. */
export function pairReports(
  { pairScorers = {} }: AnyDefinition,
  pairs: PairsByKey,
  variant: string,
): Readonly<Record<string, PairReport>> {
  const reports = Object.keys(pairScorers).map((scorer) => [scorer, pairReport(pairs, scorer, variant)] as const);
  return Object.fromEntries(reports.filter(([, { asked }]) => asked > 0));
}

function pairReport(pairs: PairsByKey, scorer: string, variant: string): PairReport {
  const asked = [...pairs.values()].filter((pair) => pair.scorer === scorer && pair.of === variant);
  const reasons = asked.flatMap(({ outcome }) => ("unscored" in outcome ? [outcome.unscored] : []));
  const odd = asked.filter(({ outcome }) => "isConsistent" in outcome && !outcome.isConsistent).length;
  const [why] = reasons;
  const counts = { asked: asked.length, inconsistent: odd, unscored: reasons.length };
  return why === undefined ? counts : { ...counts, why };
}

function sidesOf({ view, pairs, baseline, variant }: Compared, scorer: string, outside: Outside) {
  const values: RowValue[] = [];
  const zeros: RowValue[] = [];
  const unscored = new Set<string>();
  const [allOthers, allOwn] = [view.attemptsOf(baseline), view.attemptsOf(variant)];
  for (const [place, { id, hash, group }] of view.rows.entries()) {
    const [others, own] = [allOthers[place], allOwn[place]];
    if (others === undefined || own === undefined) continue;
    const numbers = own.map((record, at) => {
      const other = others[at] as AttemptRecord;
      return unasked(other, record, outside) ?? numberOf(pairs.get(pairKey(scorer, variant, record)));
    });
    if (numbers.includes("unscored")) unscored.add(id);
    const known = numbers.filter((number): number is number => typeof number === "number");
    if (known.length < numbers.length) continue;
    const value = known.reduce((sum, number) => sum + number, 0) / known.length;
    values.push({ id, value, hash, cluster: group });
    zeros.push({ id, value: 0, hash, cluster: group });
  }
  const of = (all: readonly RowValue[]): RowValues => ({ values: all, unscored });
  return { variant: of(values), baseline: of(zeros) };
}

/** An answer that failed loses unasked; undefined: neither failed. */
function unasked(baseline: AttemptRecord, variant: AttemptRecord, outside: Outside): number | undefined {
  if (baseline.failure === undefined && variant.failure === undefined) return undefined;
  if (outside !== "scored" && (failedOutside(baseline) || failedOutside(variant))) return outside === "worst" ? -1 : 1;
  if (baseline.failure !== undefined && variant.failure !== undefined) return 0;
  return variant.failure === undefined ? 1 : -1;
}

/** undefined: the run ended before the pair was asked about. */
function numberOf(pair: AskedPair | undefined): number | "unscored" | undefined {
  if (pair === undefined) return undefined;
  if ("unscored" in pair.outcome) return "unscored";
  return { variant: 1, baseline: -1, neither: 0 }[pair.outcome.winner];
}
