import { DefinitionError } from "@proviso/core";
import { levelOf, type Level } from "./estimate.ts";
import { normalCritical, normalTail } from "./quantiles.ts";

/**
 * The two-sided critical values of a standard normal statistic at each look, so that all looks together are wrong no more
 * often than one look would be. The error is spent as Lan and DeMets (Biometrika 70, 1983) spend it in the way of O'Brien
 * and Fleming: very little early. It is integrated as Armitage, McPherson and Rowe do (JRSS A 132, 1969).
 *
 * @param fractions The share of all rows that each look has, each above the one before it by a billionth or more, up to 1.
 * @returns a value for each look; infinite where the error to spend is too small for a number.
 * @throws {DefinitionError} for fractions that do not increase by that within (0, 1], or a confidence that is not between 0 and 1.
 */
export function lookBoundaries(fractions: readonly number[], confidence: number): readonly number[] {
  const { error } = levelOf(confidence);
  const boundaries: number[] = [];
  let spent = 0;
  let before = 0;
  let grid: Grid | undefined;
  for (const fraction of fractions) {
    if (!(fraction - before >= closest && fraction <= 1)) {
      const needed = "shares that increase within (0, 1], by a billionth or more";
      throw new DefinitionError(`Looks need ${needed}, not ${fractions.join(", ")}.`);
    }
    const target = spending(fraction, error);
    const step = Math.sqrt(fraction - before);
    const edge =
      grid === undefined ? step * normalCritical((target - spent) / 2) : edgeThatSpends(target - spent, grid, step);
    boundaries.push(edge / Math.sqrt(fraction));
    grid = gridWithin(Math.min(edge, widest * Math.sqrt(fraction)), grid, step);
    spent = target;
    before = fraction;
  }
  return boundaries;
}

/** The level of an interval at a look whose critical value this is. */
export function levelAtLook(boundary: number, confidence: number): Level {
  return { confidence, error: 2 * normalTail(boundary) };
}

/** A moment at which the gates are looked at. */
export interface Look {
  /** How many clusters of the order are done, from its beginning. */
  readonly clusters: number;
  readonly rows: number;
  /** The share of all rows. */
  readonly fraction: number;
}

/**
 * The looks of a run that may end early (STA-5): after each tenth of the rows, in whole clusters, and not before 20 of them.
 * The last one has all rows.
 *
 * @param sizes The number of rows of each cluster, in the order of the run.
 */
export function plannedLooks(sizes: readonly number[]): readonly Look[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const looks: Look[] = [];
  let rows = 0;
  let tenth = 1;
  sizes.forEach((size, place) => {
    rows += size;
    const clusters = place + 1;
    if (rows * 10 < tenth * total) return;
    tenth = Math.floor((rows * 10) / total) + 1;
    const isLast = clusters === sizes.length;
    if (isLast || clusters >= fewestClusters) looks.push({ clusters, rows, fraction: rows / total });
  });
  return looks;
}

const fewestClusters = 20;

/** The smallest distance of two shares between which the density can be integrated. */
const closest = 1e-9;

/** Standard deviations beyond which nothing is left to integrate. */
const widest = 10;

/** Points of one standard deviation of what a look adds. */
const pointsOfStep = 12;

/** The density of paths that have not crossed a boundary yet, at points of equal distance, with the weights of Simpson's rule. */
interface Grid {
  readonly points: readonly number[];
  /** Density × weight. */
  readonly masses: readonly number[];
}

/** Both sides together. */
function spending(fraction: number, error: number): number {
  return 4 * normalTail(normalCritical(error / 4) / Math.sqrt(fraction));
}

/** The edge that as much of the paths lies outside of at the next look; it falls as the share grows, so halving finds it. */
function edgeThatSpends(share: number, { points, masses }: Grid, step: number): number {
  const outside = (edge: number): number =>
    2 * points.reduce((sum, point, place) => sum + masses[place]! * normalTail((edge - point) / step), 0);
  let low = 0;
  let high = 1;
  while (outside(high) > share && high < 64) high *= 2;
  if (outside(high) > share || share <= 0) return Number.POSITIVE_INFINITY;
  while (high - low > 1e-9) {
    const middle = (low + high) / 2;
    if (outside(middle) > share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

function gridWithin(edge: number, previous: Grid | undefined, step: number): Grid {
  const halves = Math.max(20, Math.ceil((edge * pointsOfStep) / step));
  const distance = edge / halves;
  const points = Array.from({ length: 2 * halves + 1 }, (_, place) => (place - halves) * distance);
  const density = (point: number): number => {
    if (previous === undefined) return gauss(point / step) / step;
    return (
      previous.points.reduce((sum, from, place) => sum + previous.masses[place]! * gauss((point - from) / step), 0) /
      step
    );
  };
  const weight = (place: number): number =>
    place === 0 || place === 2 * halves ? distance / 3 : ((place % 2 === 1 ? 4 : 2) * distance) / 3;
  return { points, masses: points.map((point, place) => density(point) * weight(place)) };
}

function gauss(x: number): number {
  return Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
}
