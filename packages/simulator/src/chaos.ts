import { createHash } from "node:crypto";
import { conversationKey, recentCounts } from "./conversation.ts";
import { checkFault, faultNames, type FaultName } from "./faults.ts";
import type { SimulatedRequest } from "./types.ts";

/** Random faults from a seed. */
export interface Chaos {
  /** A whole number. */
  readonly seed: number;
  /** Part of the requests that get one, from 0 to 1. */
  readonly rate: number;
  /** The faults to choose from. Left out: all but those that leave the client waiting for ever (`hang…`, `…stalls`). */
  readonly faults?: readonly FaultName[] | undefined;
  /**
   * What the choice of a fault depends on. "request" (default): the request's number, so the same order of requests
   * gives the same faults. "conversation": the conversation so far and how often it was sent, so the order of
   * conversations does not matter.
   */
  readonly by?: "request" | "conversation" | undefined;
}

type Chance = (request: SimulatedRequest, fits: (name: FaultName) => boolean) => FaultName | undefined;

const endless = /^hang|stalls$/;

/** @throws {TypeError} for a seed, a rate or a `by` that cannot be, or a fault that is none. */
export function chaosOf({ seed, rate, faults, by = "request" }: Chaos): Chance {
  if (!Number.isInteger(seed)) throw new TypeError(`The seed of chaos must be a whole number, not ${String(seed)}.`);
  if (!(rate >= 0 && rate <= 1)) throw new TypeError(`The rate of chaos must be from 0 to 1, not ${rate}.`);
  if (by !== "request" && by !== "conversation")
    throw new TypeError(`Chaos goes by "request" or "conversation", not ${JSON.stringify(by)}.`);
  const names = faults?.map(checkFault) ?? faultNames.filter((name) => !endless.test(name));
  if (names.length === 0) throw new TypeError("The faults of chaos are an empty list: leave them out for all.");
  const placeOf = by === "request" ? ({ index }: SimulatedRequest): string => String(index) : conversationPlaces();
  return (request, fits) => {
    const [first, second] = drawn(seed, placeOf(request));
    if (first >= rate) return undefined;
    const fitting = names.filter(fits);
    return fitting[Math.floor(second * fitting.length)];
  };
}

function conversationPlaces(): (request: SimulatedRequest) => string {
  const sent = recentCounts();
  return (request) => {
    const key = conversationKey(request);
    const before = sent.get(key);
    sent.set(key, before + 1);
    return `${key}#${before}`;
  };
}

/** Two numbers from 0 to 1 for a place, whatever else happens. */
function drawn(seed: number, place: string): readonly [number, number] {
  const digest = createHash("sha256").update(`${seed}/${place}`).digest();
  return [digest.readUInt32LE(0) / 2 ** 32, digest.readUInt32LE(4) / 2 ** 32];
}
