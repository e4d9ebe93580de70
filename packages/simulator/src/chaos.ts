import { checkFault, faultApplies, faultNames, type FaultName } from "./faults.ts";
import type { SimulatedRequest } from "./types.ts";

/** Random faults, the same ones for the same seed and the same order of requests. */
export interface Chaos {
  readonly seed: number;
  /** Part of the requests that get one, from 0 to 1. */
  readonly rate: number;
  /** Left out: all of them. */
  readonly faults?: readonly FaultName[] | undefined;
}

/** @throws {TypeError} for a rate outside 0 to 1, or a fault that is none. */
export function chaosOf({
  seed,
  rate,
  faults = faultNames,
}: Chaos): (request: SimulatedRequest) => FaultName | undefined {
  if (!(rate >= 0 && rate <= 1)) throw new TypeError(`The rate of chaos must be from 0 to 1, not ${rate}.`);
  const names = faults.map(checkFault);
  return ({ index, api, body }) => {
    const random = numbers(seed, index);
    if (random() >= rate) return undefined;
    const fitting = names.filter((name) => faultApplies(name, api, body["stream"] === true));
    return fitting[Math.floor(random() * fitting.length)];
  };
}

/** By request, so that what else happens does not matter. Source: Tommy Ettinger's mulberry32, public domain. */
function numbers(seed: number, index: number): () => number {
  let state = (seed ^ Math.imul(index + 1, 0x9e3779b1)) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
