import { gradedWorld, leaningWorld, pairedWorld, ratesWorld, rareWorld, scoreWorld, type World } from "./world.ts";
import type { Judge } from "./measure.ts";

/** Paired answers that are right or wrong, without groups: 60 cells. */
export const pairedCells: readonly World[] = [10, 20, 50, 100, 300].flatMap((groups) =>
  [
    [0.5, 0.5],
    [0.5, 0.6],
    [0.8, 0.8],
    [0.8, 0.9],
    [0.95, 0.95],
    [0.95, 0.99],
  ].flatMap(([baseline, variant]) =>
    [0.2, 0.8].map((pairing) => pairedWorld({ groups, rates: [baseline!, variant!], pairing })),
  ),
);

const groupSizes = [1, 5, "uneven"] as const;
const groupCounts = [15, 40, 100, 300];

/** Groups, repetitions and grades: 36 cells. */
export const groupedCells: readonly World[] = groupCounts.flatMap((groups) =>
  groupSizes.flatMap((groupSize) => [
    pairedWorld({ groups, groupSize, rates: [0.75, 0.85], pairing: 0.5 }),
    pairedWorld({ groups, groupSize, rates: [0.75, 0.85], pairing: 0.5, repetitions: 3 }),
    gradedWorld(groups, groupSize),
  ]),
);

/** What differs is rare and great: 12 cells, apart because no interval can hold what has not been seen. */
export const rareCells: readonly World[] = groupCounts.flatMap((groups) =>
  groupSizes.map((groupSize) => rareWorld(groups, groupSize)),
);

/** Scores of one variant: 44 cells. */
export const scoreCells: readonly World[] = [0.5, 0.8, 0.95, 0.99].flatMap((rate) => [
  ...[10, 20, 50, 100, 300].map((groups) => scoreWorld(groups, 1, rate)),
  ...[15, 40, 100].map((groups) => scoreWorld(groups, 5, rate)),
  ...[15, 40, 100].map((groups) => scoreWorld(groups, "uneven", rate)),
]);

const oneLarge = [
  [30, 100],
  [40, 200],
  [40, 1_000],
  [100, 500],
] as const;

/** One group has many of the rows, in two of them most: 8 cells. */
export const largeGroupCells = {
  differences: oneLarge.map(([groups, large]) => leaningWorld(groups, { large, times: 1 })),
  scores: oneLarge.map(([groups, large]) => ratesWorld(groups, { large, times: 1 })),
};

const fallingRates = [
  [100, 0.5],
  [100, 0.9],
  [200, 0.8],
  [200, 0.95],
  [400, 0.95],
] as const;

/** The sizes of groups fall off, and their rows are alike in all or in a part of them: 16 cells. */
export const fallingCells = {
  differences: [100, 200, 400].flatMap((groups) =>
    [1, 0.5].map((groupShare) =>
      pairedWorld({ groups, groupSize: "falling", rates: [0.8, 0.85], pairing: 0.5, groupShare }),
    ),
  ),
  scores: fallingRates.flatMap(([groups, rate]) => [1, 0.5].map((share) => scoreWorld(groups, "falling", rate, share))),
};

/** Two to five groups have most of the rows: 6 cells, apart because so few groups may all lean to one side. */
export const someLargeCells = {
  differences: [2, 3, 5].map((times) => leaningWorld(40 + times, { large: 300, times })),
  scores: [2, 3, 5].map((times) => ratesWorld(40 + times, { large: 300, times })),
};

/** Scores of one variant in groups of 5: 4 cells. */
export const scoreFivesCells: readonly World[] = [0.5, 0.8, 0.95, 0.99].map((rate) => scoreWorld(100, 5, rate));

/** Nothing differs: what is proven is wrong. 9 cells, 3 of them with groups. */
export const equalCells: readonly World[] = [
  ...[100, 300, 1_000].flatMap((groups) =>
    [0.8, 0.95].map((rate) => pairedWorld({ groups, rates: [rate, rate], pairing: 0.5 })),
  ),
  ...[40, 100, 300].map((groups) => pairedWorld({ groups, groupSize: 5, rates: [0.8, 0.8], pairing: 0.5 })),
];

/** A difference is there. */
export const differentCells: readonly World[] = [
  pairedWorld({ groups: 100, rates: [0.7, 0.85], pairing: 0.5 }),
  pairedWorld({ groups: 300, rates: [0.8, 0.88], pairing: 0.5 }),
  pairedWorld({ groups: 1_000, rates: [0.8, 0.84], pairing: 0.5 }),
  pairedWorld({ groups: 300, rates: [0.7, 0.85], pairing: 0.5 }),
  pairedWorld({ groups: 100, groupSize: 5, rates: [0.7, 0.8], pairing: 0.5 }),
  pairedWorld({ groups: 300, groupSize: 5, rates: [0.8, 0.86], pairing: 0.5 }),
];

/** Worlds whose number of rows is chosen by `rowsNeeded`, and comes to 200 clusters or more. */
export const plannedCells: readonly ((groups: number) => World)[] = [
  (groups) => pairedWorld({ groups, rates: [0.7, 0.8], pairing: 0.2 }),
  (groups) => pairedWorld({ groups, rates: [0.8, 0.85], pairing: 0.5 }),
  (groups) => pairedWorld({ groups, rates: [0.9, 0.93], pairing: 0.5 }),
  (groups) => pairedWorld({ groups, rates: [0.7, 0.74], pairing: 0.5, repetitions: 3 }),
  (groups) => pairedWorld({ groups, groupSize: 5, rates: [0.7, 0.73], pairing: 0.5 }),
];

/** Great differences need few rows, and grades lean to one end: then the added clusters weigh more. */
export const plannedFewCells: readonly ((groups: number) => World)[] = [
  (groups) => pairedWorld({ groups, rates: [0.6, 0.8], pairing: 0.5 }),
  (groups) => pairedWorld({ groups, rates: [0.7, 0.78], pairing: 0.5, repetitions: 3 }),
  (groups) => pairedWorld({ groups, groupSize: 5, rates: [0.7, 0.78], pairing: 0.5 }),
  (groups) => gradedWorld(groups, 1),
];

export const judges: readonly (Judge & { readonly name: string })[] = [
  { name: "passes 97 % of the good, 40 % of the bad", passesGood: 0.97, passesBad: 0.4 },
  { name: "passes 90 % of the good, 10 % of the bad", passesGood: 0.9, passesBad: 0.1 },
  { name: "passes 80 % of the good, 30 % of the bad", passesGood: 0.8, passesBad: 0.3 },
  { name: "guesses", passesGood: 0.5, passesBad: 0.5 },
];
