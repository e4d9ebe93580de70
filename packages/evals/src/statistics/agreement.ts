import { levelOf, type Estimate, type Level } from "./estimate.ts";
import { meanWithin } from "./intervals.ts";
import { studentCritical } from "./quantiles.ts";

/** How far a judge and people agree on passing and failing; each number with its interval. */
export interface Agreement {
  /** The number of pairs. */
  readonly n: number;
  /** The share of pairs that agree. */
  readonly observed: Estimate;
  /** Cohen's kappa (Educational and Psychological Measurement 20, 1960), with the jackknife's interval. */
  readonly kappa: Estimate;
  /** Gwet's AC1 (British Journal of Mathematical and Statistical Psychology 61, 2008), which nearly equal answers do not mislead. */
  readonly ac1: Estimate;
  /** The share of a person's passes that the judge passed. */
  readonly sensitivity: Estimate;
  /** The share of a person's fails that the judge failed. */
  readonly specificity: Estimate;
}

/**
 * How far a judge and people agree. A number that the pairs do not have is NaN, with the whole range as its interval: kappa
 * where both gave one verdict alone, sensitivity without a pass of a person, specificity without a fail. The interval is the
 * whole range, too, with fewer than 2 pairs, and for kappa where people or the judge gave one verdict alone: it is 0 then,
 * whatever the other did.
 *
 * @param options `confidence` is 0.95 unless set.
 * @throws {DefinitionError} for a confidence that is not between 0 and 1.
 */
export function agreement(
  pairs: readonly { readonly person: boolean; readonly judge: boolean }[],
  options: { readonly confidence?: number } = {},
): Agreement {
  const level = levelOf(options.confidence);
  const share = (from: readonly (typeof pairs)[number][]): Estimate =>
    shareOf(from.filter(({ person, judge }) => person === judge).length, from.length, level);
  const count = (person: boolean, judge: boolean): number =>
    pairs.filter((pair) => pair.person === person && pair.judge === judge).length;
  const table: Table = [count(true, true), count(true, false), count(false, true), count(false, false)];
  const observed = share(pairs);
  return {
    n: pairs.length,
    observed,
    kappa: hasOneVerdict(table)
      ? whole(chanceByMargins(table) < 1 ? 0 : Number.NaN, [-1, 1], pairs.length, level)
      : jackknifed(table, chanceByMargins, observed, level),
    ac1: jackknifed(table, chanceByPrevalence, observed, level),
    sensitivity: share(pairs.filter(({ person }) => person)),
    specificity: share(pairs.filter(({ person }) => !person)),
  };
}

/** Pairs by verdict: both pass; the person alone; the judge alone; neither. */
type Table = readonly [both: number, person: number, judge: number, neither: number];

/** Whether people, or the judge, only passed or only failed. */
function hasOneVerdict([both, person, judge, neither]: Table): boolean {
  return [both + person, judge + neither, both + judge, person + neither].includes(0);
}

function shareOf(agreeing: number, count: number, level: Level): Estimate {
  if (count < 2) {
    return { ...whole(agreeing / count, [0, 1], count, level), method: "adjusted-t" };
  }
  const rows = Array.from({ length: count }, (_, place) => ({ value: place < agreeing ? 1 : 0 }));
  return meanWithin(rows, level, [0, 1]);
}

/** The share that would agree by chance if each kept to its share of passes: Cohen. */
function chanceByMargins([both, person, judge, neither]: Table): number {
  const count = both + person + judge + neither;
  const [people, judges] = [(both + person) / count, (both + judge) / count];
  return people * judges + (1 - people) * (1 - judges);
}

/** The share that would agree by chance as Gwet counts it, by the mean share of passes. */
function chanceByPrevalence([both, person, judge, neither]: Table): number {
  const passes = (2 * both + person + judge) / (2 * (both + person + judge + neither));
  return 2 * passes * (1 - passes);
}

function beyondChance(table: Table, chance: (table: Table) => number): number {
  const [both, person, judge, neither] = table;
  const expected = chance(table);
  return ((both + neither) / (both + person + judge + neither) - expected) / (1 - expected);
}

/** The coefficient with the interval of what it becomes without each pair in turn (Quenouille, Tukey). */
function jackknifed(table: Table, chance: (table: Table) => number, observed: Estimate, level: Level): Estimate {
  const { rows } = observed;
  const value = beyondChance(table, chance);
  const without = table.flatMap((pairs, place) => {
    if (pairs === 0) return [];
    const rest = table.map((others, at) => (at === place ? others - 1 : others)) as unknown as Table;
    return [{ pairs, value: beyondChance(rest, chance) }];
  });
  if (rows < 2 || without.some((one) => !Number.isFinite(one.value)) || !Number.isFinite(value)) {
    return whole(value, [-1, 1], rows, level);
  }
  const mean = without.reduce((sum, one) => sum + one.pairs * one.value, 0) / rows;
  const squares = without.reduce((sum, one) => sum + one.pairs * (one.value - mean) ** 2, 0);
  const half = studentCritical(level.error, rows - 1) * Math.sqrt(((rows - 1) / rows) * squares);
  // Where all pairs agree the jackknife has no width. The low end is then that of the observed share, at the same chance.
  const expected = chance(table);
  const low = observed.value === 1 ? (observed.low - expected) / (1 - expected) : value - half;
  return {
    value,
    low: Math.max(-1, low),
    high: Math.min(1, value + half),
    confidence: level.confidence,
    method: "jackknife",
    rows,
    clusters: rows,
  };
}

function whole(value: number, [low, high]: readonly [number, number], rows: number, level: Level): Estimate {
  return { value, low, high, confidence: level.confidence, method: "jackknife", rows, clusters: rows };
}
