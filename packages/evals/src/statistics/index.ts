export { correctedMean } from "./corrected-mean.ts";
export type { Estimate, Observation } from "./estimate.ts";
export { differenceInterval, meanInterval } from "./intervals.ts";
export { lookBoundaries } from "./looks.ts";
export { rowsNeeded } from "./rows-needed.ts";
