import { fakeEnvironment } from "@proviso/runtime/testing";
import type { Observation } from "../../../src/statistics/index.ts";

/** Rows whose true mean is known. */
export interface World {
  readonly name: string;
  readonly truth: number;
  /** Paired differences, or scores of one variant. */
  rows(random: () => number): Observation[];
}

/** Random numbers that are the same on every machine. */
export function randomFrom(seed: number): () => number {
  return fakeEnvironment(seed).random!;
}

/**
 * Rows of a group; "uneven" is from 1 to 10, and of "falling" ones one in n has more than n, up to 200. `large` is the size of
 * the first groups, as many as `times`; the others have 5.
 */
export type GroupSize = number | "uneven" | "falling" | { readonly large: number; readonly times: number };

export interface PairedOptions {
  /** How many groups there are; the number of rows where `groupSize` is 1. */
  readonly groups: number;
  /** Rows of a group. Default 1. */
  readonly groupSize?: GroupSize;
  /** The shares that the baseline and the variant answer correctly. */
  readonly rates: readonly [baseline: number, variant: number];
  /** The share of answers for which both variants find the row equally hard. */
  readonly pairing: number;
  /** The share of answers that depend on the group alone. */
  readonly groupShare?: number;
  readonly repetitions?: number;
}

/** Differences of two variants that answer each row correctly or not. Each answer's rate is exact, whatever is shared. */
export function pairedWorld(options: PairedOptions): World {
  const { rates, pairing, groups, groupSize = 1, groupShare = 0.5, repetitions = 1 } = options;
  const times = repetitions === 1 ? "" : `, ${repetitions} repetitions`;
  const ofGroups = groupShare === 0.5 ? "" : `, ${groupShare} of the group`;
  const name = `${sized(groups, groupSize)}, ${rates.join(" and ")} correct, pairing ${pairing}${times}${ofGroups}`;
  const difference = (ofGroup: readonly [number, number], random: () => number): number => {
    const own = [random(), random()] as const;
    let sum = 0;
    for (let repetition = 0; repetition < repetitions; repetition++) {
      const ofRow = repetitions === 1 || random() < 0.5 ? own : ([random(), random()] as const);
      const hard = groupSize !== 1 && random() < groupShare ? ofGroup : ofRow;
      const [first, other] = hard;
      const second = random() < pairing ? first : other;
      sum += Number(second < rates[1]) - Number(first < rates[0]);
    }
    return sum / repetitions;
  };
  return {
    name,
    truth: rates[1] - rates[0],
    rows: (random) => grouped(groups, groupSize, random, difference),
  };
}

/** The differences of grades between 0 and 1, which lean to the upper end. */
export function gradedWorld(groups: number, groupSize: GroupSize): World {
  return {
    name: `${sized(groups, groupSize)}, grades`,
    truth: 1 / 1.2 - 1 / 1.25,
    rows: (random) =>
      grouped(groups, groupSize, random, ([first, other]) => {
        const isShared = groupSize !== 1 && random() < 0.5;
        const [a, b] = isShared ? [first, other] : [random(), random()];
        return (random() < 0.5 ? a : b) ** 0.2 - a ** 0.25;
      }),
  };
}

/** A few rows, 6 of 100, differ greatly; the others hardly. */
export function rareWorld(groups: number, groupSize: GroupSize): World {
  return {
    name: `${sized(groups, groupSize)}, 6 % of rows differ greatly`,
    truth: 0.06 * 0.9,
    rows: (random) => grouped(groups, groupSize, random, () => (random() < 0.06 ? 0.9 : (random() - 0.5) / 25)),
  };
}

/** Scores of one variant. */
export function scoreWorld(groups: number, groupSize: GroupSize, rate: number, groupShare = 0.5): World {
  return {
    name: `${sized(groups, groupSize)}, rate ${rate}${groupShare === 0.5 ? "" : `, ${groupShare} of the group`}`,
    truth: rate,
    rows: (random) =>
      grouped(groups, groupSize, random, ([ofGroup]) =>
        Number((groupSize !== 1 && random() < groupShare ? ofGroup : random()) < rate),
      ),
  };
}

/** The variant is better in half of the groups and worse in the others, in 3 of 10 rows each. */
export function leaningWorld(groups: number, groupSize: GroupSize): World {
  return {
    name: `${sized(groups, groupSize)}, each better or worse`,
    truth: 0,
    rows: (random) =>
      grouped(groups, groupSize, random, ([ofGroup]) => (random() < 0.3 ? Math.sign(ofGroup - 0.5) : 0)),
  };
}

/** Scores of one variant, each group's rows right at a rate of its own from 0.1 to 0.9. */
export function ratesWorld(groups: number, groupSize: GroupSize): World {
  return {
    name: `${sized(groups, groupSize)}, rates from 0.1 to 0.9`,
    truth: 0.5,
    rows: (random) => grouped(groups, groupSize, random, ([ofGroup]) => Number(random() < 0.1 + 0.8 * ofGroup)),
  };
}

function sized(groups: number, groupSize: GroupSize): string {
  if (groupSize === 1) return `${groups} rows`;
  if (typeof groupSize === "object") return `${groups} groups, ${groupSize.times} of ${groupSize.large}, others of 5`;
  const sizes = { uneven: "1 to 10", falling: "2 to 200, falling" };
  return `${groups} groups of ${typeof groupSize === "string" ? sizes[groupSize] : groupSize}`;
}

function grouped(
  groups: number,
  groupSize: GroupSize,
  random: () => number,
  valueOf: (ofGroup: readonly [number, number], random: () => number) => number,
): Observation[] {
  if (groupSize === 1) return Array.from({ length: groups }, () => ({ value: valueOf([0, 0], random) }));
  return Array.from({ length: groups }, (_, group) => {
    const ofGroup = [random(), random()] as const;
    const size = sizeOf(group, groupSize, random);
    return Array.from({ length: size }, () => ({ value: valueOf(ofGroup, random), cluster: `${group}` }));
  }).flat();
}

function sizeOf(group: number, groupSize: GroupSize, random: () => number): number {
  if (groupSize === "uneven") return 1 + Math.floor(random() * 10);
  if (groupSize === "falling") return Math.min(200, Math.ceil(1 / (1 - random())));
  if (typeof groupSize === "number") return groupSize;
  return group < groupSize.times ? groupSize.large : 5;
}
