import { agreement, type Agreement } from "../../../src/statistics/agreement.ts";
import { familyConfidence, isProven } from "../../../src/statistics/gates.ts";
import {
  correctedMean,
  differenceInterval,
  lookBoundaries,
  rowsNeeded,
  type Estimate,
  type Observation,
} from "../../../src/statistics/index.ts";
import { differenceWithin } from "../../../src/statistics/intervals.ts";
import { levelAtLook, plannedLooks } from "../../../src/statistics/looks.ts";
import { randomFrom, type World } from "./world.ts";

/** The share of runs for which something holds. */
function shareOf(runs: number, seed: number, holds: (random: () => number) => boolean): number {
  const random = randomFrom(seed);
  let count = 0;
  for (let run = 0; run < runs; run++) if (holds(random)) count++;
  return count / runs;
}

/** The share of a world's runs whose interval holds the truth. */
export function coverage(
  world: World,
  interval: (rows: Observation[]) => Estimate,
  runs: number,
  seed: number,
): number {
  return shareOf(runs, seed, (random) => holds(interval(world.rows(random)), world.truth));
}

export interface LookResult {
  /** The share of runs in which the difference, or one of several, was proven. */
  readonly proven: number;
  /** The share of rows that were run. */
  readonly rows: number;
  /** What is proven without looks, on the same rows. */
  readonly provenAtEnd: number;
}

/** Looks at the differences of several variants until all are proven or all rows have run (STA-5), as one family. */
export function withLooks(worlds: readonly World[], runs: number, seed: number): LookResult {
  const random = randomFrom(seed);
  const confidence = familyConfidence(0.95, worlds.length);
  const boundaries = new Map<string, readonly number[]>();
  let [proven, share, atEnd] = [0, 0, 0];
  for (let run = 0; run < runs; run++) {
    const data = worlds.map((world) => world.rows(random));
    const looks = plannedLooks(sizesOf(data[0]!));
    const fractions = looks.map(({ fraction }) => fraction);
    const key = fractions.join();
    const critical = boundaries.get(key) ?? lookBoundaries(fractions, confidence);
    boundaries.set(key, critical);
    const place = looks.findIndex((look, at) =>
      data.every((rows) => isProven(intervalAt(rows.slice(0, look.rows), critical[at]!, confidence))),
    );
    const end = place === -1 ? looks.length - 1 : place;
    const rows = looks[end]!.rows;
    if (data.some((all) => isProven(intervalAt(all.slice(0, rows), critical[end]!, confidence)))) proven++;
    if (data.some((all) => isProven(differenceInterval(all, { confidence, span: 1 })))) atEnd++;
    share += rows / data[0]!.length;
  }
  return { proven: proven / runs, rows: share / runs, provenAtEnd: atEnd / runs };
}

/** Groups of a pilot whose variance is nearly the true one. */
const pilotGroups = 100_000;

/** The share of runs that find the true difference with the rows that a large pilot asks for (STA-6). */
export function foundWithRowsNeeded(
  world: (groups: number) => World,
  runs: number,
  seed: number,
): { share: number; groups: number } {
  const pilot = world(pilotGroups);
  const rows = pilot.rows(randomFrom(seed));
  const perGroup = rows.length / pilotGroups;
  const groups = Math.round(rowsNeeded(rows, pilot.truth) / perGroup);
  const planned = world(groups);
  const share = shareOf(runs, seed + 1, (random) => isProven(differenceInterval(planned.rows(random), { span: 1 })));
  return { share, groups };
}

/** The rows that small pilots ask for, as shares of what a large one does: 1 pilot in 20 is below `low`, 1 above `high`. */
export function pilotSpread(
  world: (groups: number) => World,
  pilotRows: number,
  runs: number,
  seed: number,
): { low: number; high: number } {
  const random = randomFrom(seed);
  const { truth, rows } = world(pilotGroups);
  const large = rowsNeeded(rows(random), truth);
  const ratios = Array.from({ length: runs }, () => rowsNeeded(world(pilotRows).rows(random), truth) / large);
  ratios.sort((a, b) => a - b);
  return { low: ratios[Math.floor(runs * 0.05)]!, high: ratios[Math.floor(runs * 0.95)]! };
}

export interface Judge {
  /** The share of what people pass that the judge passes. */
  readonly passesGood: number;
  readonly passesBad: number;
}

export interface JudgeResult {
  readonly uncorrected: number;
  readonly corrected: number;
  /** The mean width of the corrected interval, as a share of what the labels alone give. */
  readonly width: number;
}

/** How often the interval of a judge's mean, corrected or not, holds what people would have said of 7 in 10 good answers. */
export function judgeCoverage(judge: Judge, labels: number, runs: number, seed: number): JudgeResult {
  const random = randomFrom(seed);
  let [uncorrected, corrected, width, widthAlone] = [0, 0, 0, 0];
  for (let run = 0; run < runs; run++) {
    const pairs = judgedPairs(judge, 1_000, 0.7, random).map(({ person, judge: verdict }) => ({
      person: Number(person),
      judge: Number(verdict),
    }));
    const judged = pairs.map((pair) => pair.judge);
    const estimate = correctedMean(judged, pairs.slice(0, labels));
    const alone = correctedMean(
      judged,
      pairs.slice(0, labels).map(({ person }) => ({ person, judge: 0 })),
    );
    if (
      holds(
        correctedMean(
          judged,
          judged.map((score) => ({ judge: score, person: score })),
        ),
        0.7,
      )
    )
      uncorrected++;
    if (holds(estimate, 0.7)) corrected++;
    width += estimate.high - estimate.low;
    widthAlone += alone.high - alone.low;
  }
  return { uncorrected: uncorrected / runs, corrected: corrected / runs, width: width / widthAlone };
}

/** How often the intervals of an agreement hold what they estimate. */
export function agreementCoverage(
  judge: Judge,
  good: number,
  labels: number,
  runs: number,
  seed: number,
): Record<"kappa" | "ac1" | "observed" | "sensitivity" | "specificity", number> {
  const random = randomFrom(seed);
  const truth = trueAgreement(judge, good);
  const counts = { kappa: 0, ac1: 0, observed: 0, sensitivity: 0, specificity: 0 };
  const names = Object.keys(counts) as (keyof typeof counts)[];
  for (let run = 0; run < runs; run++) {
    const found: Agreement = agreement(judgedPairs(judge, labels, good, random));
    for (const name of names) if (holds(found[name], truth[name])) counts[name]++;
  }
  for (const name of names) counts[name] /= runs;
  return counts;
}

function trueAgreement(
  { passesGood, passesBad }: Judge,
  good: number,
): Record<string, number> & {
  kappa: number;
  ac1: number;
  observed: number;
  sensitivity: number;
  specificity: number;
} {
  const observed = good * passesGood + (1 - good) * (1 - passesBad);
  const passes = good * passesGood + (1 - good) * passesBad;
  const chance = good * passes + (1 - good) * (1 - passes);
  const middle = (good + passes) / 2;
  const chanceOfAc1 = 2 * middle * (1 - middle);
  return {
    observed,
    kappa: (observed - chance) / (1 - chance),
    ac1: (observed - chanceOfAc1) / (1 - chanceOfAc1),
    sensitivity: passesGood,
    specificity: 1 - passesBad,
  };
}

function judgedPairs(
  { passesGood, passesBad }: Judge,
  count: number,
  good: number,
  random: () => number,
): { person: boolean; judge: boolean }[] {
  return Array.from({ length: count }, () => {
    const person = random() < good;
    return { person, judge: random() < (person ? passesGood : passesBad) };
  });
}

function holds({ low, high }: Estimate, truth: number): boolean {
  // Ends that are equal to the truth but for rounding hold it.
  return low <= truth + 1e-12 && high >= truth - 1e-12;
}

function intervalAt(rows: Observation[], boundary: number, confidence: number): Estimate {
  return differenceWithin(rows, levelAtLook(boundary, confidence), 1);
}

/** The sizes of clusters that stand together. */
function sizesOf(rows: readonly Observation[]): number[] {
  const sizes: number[] = [];
  rows.forEach(({ cluster }, place) => {
    if (cluster !== undefined && place > 0 && rows[place - 1]!.cluster === cluster) sizes.push(sizes.pop()! + 1);
    else sizes.push(1);
  });
  return sizes;
}
